"""ALBERT (Lan et al., 2019, arXiv 1909.11942) for TensorFlow and Keras 3."""

__version__ = "0.1.0"
