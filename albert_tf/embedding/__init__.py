"""Training of vectors of texts."""
