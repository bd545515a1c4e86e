"""Measuring a trained model on records."""
