"""LAMB, AdamW and the learning-rate schedule, as the official code has them."""
