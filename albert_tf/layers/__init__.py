"""The layers of ALBERT, in pure Keras 3."""
