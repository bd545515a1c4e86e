"""The names of optimizers and schedules, for flags; importing them loads nothing."""

OPTIMIZER_NAMES = ("lamb", "adamw", "muon")
SCHEDULES = POLYNOMIAL, STABLE_DECAY = ("polynomial", "stable_decay")
