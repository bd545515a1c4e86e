"""The engine by Keras's backend: steps on TensorFlow, under tf.distribute, or on JAX, over all of its devices."""

import keras

if keras.backend.backend() == "jax":
    from albert_tf.training.jax_steps import JaxSteps as EngineSteps
else:
    from albert_tf.training.tensorflow_steps import TensorFlowSteps as EngineSteps

__all__ = ["EngineSteps"]
