"""Exports that take text or ids: SavedModels, written, checked and loaded; what every export has beside its model."""
