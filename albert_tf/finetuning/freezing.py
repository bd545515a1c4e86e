"""Parts of a model that fine-tuning leaves as they are."""

import math
import re
from collections.abc import Sequence

from absl import logging

from albert_tf.models.named_weights import named_weights

# Of each word of --freeze, the weights it means. The projection of the embeddings belongs to them.
_WEIGHTS = {
    "embeddings": re.compile("albert/(embeddings|encoder/embedding_hidden_mapping_in)/"),
    "encoder": re.compile("albert/encoder/block_"),
}
FREEZABLE = tuple(_WEIGHTS)


def is_lora_target(name: str) -> bool:
    """Tells whether a weight of this name gets a low-rank update: the kernels of the encoder's blocks."""
    return bool(_WEIGHTS["encoder"].match(name)) and name.endswith("kernel")


def freeze(model, words: Sequence[str]) -> None:
    """Makes weights keep the values they start with; they have no gradients and no moments.

    Args:
        model: of models.finetuning, not yet trained.
        words: of FREEZABLE.
    """
    weights = named_weights(model)
    frozen = [one for name, one in weights.items() if any(_WEIGHTS[word].match(name) for word in words)]
    for variable in frozen:
        variable.trainable = False
    if frozen:
        count = sum(math.prod(variable.shape) for variable in frozen)
        logging.info("%s of %s parameters are frozen: %s", f"{count:,}", f"{model.count_params():,}", ", ".join(words))
