"""The precisions of a model and Keras's names for them; importing it loads nothing."""

# Weights, losses, softmax and LayerNorm are float32 in all of them.
DTYPE_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
# With weights in bfloat16 too, for serving.
FROZEN_POLICY = "bfloat16"
