"""Documents to pairs of segments, masked."""
