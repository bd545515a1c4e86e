"""The record files and the manifest beside them, without TensorFlow."""
