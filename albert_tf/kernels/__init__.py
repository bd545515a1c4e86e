"""Everything that exists for speed or differs by Keras backend."""
