"""Base of every exported module: weights by their names, the vocabulary, texts to padded ids.

Shapes: B batch, S sequence; both are free at every call.
"""

import os
import shutil
import tempfile
import weakref

import tensorflow as tf

from albert_tf.models.named_weights import named_weights
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.in_graph import graph_of, pack_ragged
from albert_tf.tokenization.packing import room_for_text
from albert_tf.tokenization.vocabulary_file import is_tokenizer_json, model_name

SERVING_DEFAULT, TOKENIZATION_INFO = "serving_default", "tokenization_info"


def ids_spec(name: str) -> tf.TensorSpec:
    """Specification of an input int32 [B, S]."""
    return tf.TensorSpec([None, None], tf.int32, name=name)


def texts_spec(name: str) -> tf.TensorSpec:
    """Specification of an input string [B]."""
    return tf.TensorSpec([None], tf.string, name=name)


def traced(*specs: tf.TensorSpec):
    """A method as a function of these tensors."""
    # Nothing in the graph branches on a tensor's value, so there is nothing for autograph to rewrite.
    return tf.function(input_signature=specs, autograph=False)


SEQUENCE = (ids_spec("input_ids"), ids_spec("input_mask"), ids_spec("segment_ids"))


class TextModule(tf.Module):
    """Weights and vocabulary.

    The weights are tracked as plain variables by the names that checkpoints use, so that whoever loads the
    SavedModel needs neither Keras nor this package.

    Args:
        model: of models.pretraining or models.finetuning.
        tokenizer: the vocabulary, read from a file that still exists when the module is saved.
        max_seq_length: where texts are cut; ids may be as long as max_position_embeddings.

    Raises:
        InputError: max_seq_length leaves no room for a pair of texts.

    Attributes:
        weights_of: first part of the names of the weights that are tracked.
    """

    weights_of = ""

    def __init__(self, model, tokenizer: Tokenizer, max_seq_length: int):
        super().__init__(name="albert")
        room_for_text(max_seq_length, pair=True)
        weights = named_weights(model).items()
        self.weights = {name: variable.value for name, variable in weights if name.startswith(self.weights_of)}
        self.tokenizer = graph_of(tokenizer)
        self.vocabulary = tf.saved_model.Asset(self._vocabulary_path(tokenizer))
        self.max_seq_length = max_seq_length
        self._config = model.config
        self._do_lower_case = tokenizer.cleaning.do_lower_case

    def _vocabulary_path(self, tokenizer: Tokenizer) -> str:
        """The file that goes along; a model made of a tokenizer.json gets one for as long as this module lives."""
        if not is_tokenizer_json(tokenizer.model_file):
            return tokenizer.model_file
        folder = tempfile.mkdtemp(prefix="albert_tf-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, model_name(tokenizer.model_file))
        with open(path, "wb") as file:
            file.write(tokenizer.model_bytes)
        return path

    @traced()
    def tokenization_info(self):
        """Tells where the vocabulary is and how it is to be used.

        Returns:
            "vocab_file" string [], where the sentencepiece model lies now; "do_lower_case" bool [].
        """
        return {"vocab_file": self.vocabulary.asset_path, "do_lower_case": tf.constant(self._do_lower_case)}

    def _checked(self, input_ids, segment_ids):
        """Both, once they are known to be of a length and of ids that the model has."""
        length, longest = tf.shape(input_ids)[1], self._config.max_position_embeddings
        # A lookup beyond a table's end would be an obscure error, or on some devices none at all.
        too_long = tf.debugging.assert_less_equal(
            length, longest, message=f"Sequences are at most {longest} pieces long."
        )
        with tf.control_dependencies([too_long]):
            return (
                in_range("input_ids", input_ids, self._config.vocab_size),
                in_range("segment_ids", segment_ids, self._config.type_vocab_size),
            )

    def _pack(self, first_ids, second_ids=None):
        tokenizer = self.tokenizer
        packed = pack_ragged(
            first_ids, second_ids, self.max_seq_length, tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id
        )
        # A batch of no texts has no longest one; the model wants a first position all the same.
        missing = tf.maximum(0, 1 - tf.shape(packed["input_ids"])[1])
        return {name: tf.pad(ids, [[0, 0], [0, missing]]) for name, ids in packed.items()}


def in_range(name: str, values: tf.Tensor, end) -> tf.Tensor:
    """The values, once they are known to lie in [0, end): what is computed of them waits for the check."""
    checks = [
        tf.debugging.assert_non_negative(values, message=f"{name} must not be negative."),
        tf.debugging.assert_less(values, end, message=f"{name} must be less than {'S' if tf.is_tensor(end) else end}."),
    ]
    with tf.control_dependencies(checks):
        return tf.identity(values)
