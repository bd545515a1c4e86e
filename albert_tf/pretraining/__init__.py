"""Pre-training: settings, records, steps, run and evaluation."""
