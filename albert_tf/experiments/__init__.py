"""A table of the paper in miniature: rows of settings, each pre-trained, evaluated and fine-tuned; one table of all."""
