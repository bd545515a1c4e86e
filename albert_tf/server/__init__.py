"""A server of exported models: TensorFlow Serving's REST interface, requests run together, health, metrics, a page."""
