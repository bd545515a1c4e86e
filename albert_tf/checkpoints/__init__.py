"""The checkpoints that a run keeps on disk, checked to the last bit."""
