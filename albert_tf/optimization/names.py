"""The names of optimizers and schedules, for flags; importing them loads nothing."""

OPTIMIZER_NAMES = ("lamb", "adamw", "muon")
SCHEDULES = ("polynomial", "stable_decay")
