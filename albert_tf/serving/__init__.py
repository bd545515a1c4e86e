"""Models asked: exports of every format, and checkpoints as they are."""
