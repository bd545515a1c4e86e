"""Whole models: the encoder, and the encoder with its pre-training heads."""
