"""Models in formats that run without TensorFlow: ONNX and LiteRT."""
