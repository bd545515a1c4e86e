"""The optimizers' names, for flags; importing them loads nothing."""

OPTIMIZER_NAMES = ("lamb", "adamw", "muon")
