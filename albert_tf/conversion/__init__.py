"""Weights from and to other projects' formats."""
