"""Distillation of vectors: a small model learns to give the vectors of texts that a larger one gives."""
