"""The training engine: strategies, steps, loop, checkpoints, reports."""
