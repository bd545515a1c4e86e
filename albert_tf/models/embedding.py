"""One vector for each text of a batch, by an encoder that is at hand as a Keras model.

Shapes: B batch, S sequence, H hidden.
"""

from typing import Any

from keras import ops

from albert_tf.heads.pooling import USUAL_POOLING
from albert_tf.models.albert import AlbertModel
from albert_tf.models.inputs import INPUT_MASK, read_inputs, to_arrays
from albert_tf.runtime.errors import InputError

# In the precision of the model, which rounds sums over pieces.
_OUTPUTS = ("sequence_output", "pooled_output")


def embed(model: Any, inputs: Any, pooling: str | None = None, normalize: bool | None = None) -> Any:
    """The vectors of a batch, float32 [B, H]; serving.embedder.Embedder makes them of texts.

    Args:
        model: AlbertModel, AlbertForPretraining or one of models.finetuning, whose encoder is asked.
        inputs: as AlbertModel takes them: int [B, S], or a dict of them.
        pooling: "mean" of the last hidden states of a text's pieces, "cls", that of [CLS], or "pooled", the pooler's
            output; None: as the model says that albert_tf.load found, else "mean".
        normalize: whether vectors have length 1; None: as that model says, else true.

    Raises:
        InputError: no such model, inputs or pooling, or no pooler.
    """
    encoder = model if isinstance(model, AlbertModel) else getattr(model, "albert", None)
    if not isinstance(encoder, AlbertModel):
        raise InputError(
            f"`model` must be a model of a checkpoint; Embedder asks exports. Received {type(model).__name__}."
        )
    chosen = (getattr(model, "pooling", None) or USUAL_POOLING).with_choices(pooling, normalize)
    read = read_inputs(to_arrays(inputs), encoder.config)
    outputs = encoder(read)
    named = {name: ops.cast(outputs[name], "float32") for name in _OUTPUTS if name in outputs}
    return chosen.pool({**named, INPUT_MASK: ops.cast(read[INPUT_MASK], "int32")}, ops)
