"""The names of optimizers and schedules, and the defaults that are flags too; importing them loads nothing."""

OPTIMIZER_NAMES = ("lamb", "adamw", "muon")
# AdamWeightDecayOptimizer and LAMBOptimizer as the official optimization.py makes them.
BETA_2, WEIGHT_DECAY_RATE, EPSILON = 0.999, 0.01, 1e-6
SCHEDULES = POLYNOMIAL, STABLE_DECAY = ("polynomial", "stable_decay")
