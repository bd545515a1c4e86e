"""An exported encoder: from texts or ids to the vectors of their pieces, and to one vector for each text.

Shapes: B batch, S sequence, H hidden. B and S are free at every call.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from keras import ops

from albert_tf.exports.layer_outputs import stacked_layers
from albert_tf.exports.text_module import (
    SEQUENCE,
    SERVING_DEFAULT,
    TOKENIZATION_INFO,
    TextModule,
    ids_spec,
    texts_spec,
    traced,
)
from albert_tf.heads.pooling import Pooling
from albert_tf.tokenization.base import Tokenizer

TOKENS, TOKENS_FROM_TEXT = "tokens", "tokens_from_text"
EMBED, EMBED_FROM_TEXT, EMBEDDING = "embed", "embed_from_text", "embedding"
LAYERS = "layers"


class EncoderModule(TextModule):
    """An encoder: weights, vocabulary, and a function for each signature.

    Args:
        model: whose `albert` is the encoder.
        tokenizer: the vocabulary, read from a file that still exists when the module is saved.
        max_seq_length: where texts are cut; ids may be as long as max_position_embeddings.
        pooling: how a text becomes one vector.
        has_pooler: False leaves the pooled output out, of a pooler that was never trained.

    Raises:
        InputError: max_seq_length leaves no room for a pair of texts.
    """

    # What stands on an encoder is not saved with it.
    weights_of = "albert/"

    def __init__(
        self, model: Any, tokenizer: Tokenizer, max_seq_length: int, pooling: Pooling, has_pooler: bool = True
    ):
        super().__init__(model, tokenizer, max_seq_length)
        self._pooling = pooling
        encoder = model.albert
        # As functions, because an attribute that is a Keras model would be saved with all that Keras adds to it.
        # Nothing is computed for padding.
        self._albert = lambda inputs, **read: encoder(inputs, training=False, skip_padding=True, **read)
        self._all_layers = lambda inputs, names: stacked_layers(encoder(inputs, output_attentions=True), names)
        self._outputs = ["sequence_output", *(["pooled_output"] if encoder.pooler is not None and has_pooler else [])]

    def signatures(self, layer_outputs: tuple[str, ...] = ()) -> dict[str, Callable]:
        """The functions by the names they are served under.

        Args:
            layer_outputs: those of exports.settings.LAYER_OUTPUTS that `layers` gives; none: there is no such function.
        """
        of_layers = {LAYERS: self._layers(layer_outputs)} if layer_outputs else {}
        return {
            SERVING_DEFAULT: self.tokens_from_text,
            TOKENS: self.tokens,
            TOKENS_FROM_TEXT: self.tokens_from_text,
            EMBED: self.embed,
            EMBED_FROM_TEXT: self.embed_from_text,
            TOKENIZATION_INFO: self.tokenization_info,
            **of_layers,
        }

    @traced(*SEQUENCE)
    def tokens(self, input_ids, input_mask, segment_ids):
        """Encodes ids.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].

        Returns:
            "sequence_output" float32 [B, S, H], zero in the padding; "pooled_output" float32 [B, H], if it has a
            pooler.
        """
        return self._encode(input_ids, input_mask, segment_ids, input_mask)[0]

    @traced(*SEQUENCE)
    def embed(self, input_ids, input_mask, segment_ids):
        """One vector for each sequence of ids.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].

        Returns:
            "embedding" float32 [B, H].
        """
        outputs = self.tokens(input_ids, input_mask, segment_ids)
        return {EMBEDDING: self._pooling.pool({**outputs, "input_mask": input_mask}, ops)}

    @traced(texts_spec("text"))
    def tokens_from_text(self, text):
        """Encodes texts, padded to the longest of them. "[MASK]" is ordinary text here.

        Args:
            text: string [B], UTF-8.

        Returns:
            what `tokens` returns, and its inputs.
        """
        packed = self._pack(self.tokenizer.encode(text))
        return {**packed, **self.tokens(**packed)}

    @traced(texts_spec("text"))
    def embed_from_text(self, text):
        """One vector for each text. "[MASK]" is ordinary text here.

        Args:
            text: string [B], UTF-8.

        Returns:
            "embedding" float32 [B, H].
        """
        return self.embed(**self._pack(self.tokenizer.encode(text)))

    def _layers(self, names: tuple[str, ...]) -> Callable:
        @traced(*SEQUENCE)
        def layers(input_ids, input_mask, segment_ids):
            """float32 "hidden_states" [B, L + 1, S, H] and "attentions" [B, A, N, S, S] of L layers, A applications."""
            input_ids, segment_ids = self._checked(input_ids, segment_ids)
            inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
            return {name: tf.cast(value, tf.float32) for name, value in self._all_layers(inputs, names).items()}

        return layers

    def _encode(self, input_ids, input_mask, segment_ids, wanted):
        """(what `tokens` returns, the sequence output with what is in the padding where it is `wanted`)."""
        outputs = dict(zip(self._outputs, self._encoded(input_ids, input_mask, segment_ids, wanted), strict=True))
        sequence = outputs["sequence_output"]
        of_tokens = sequence * tf.cast(input_mask[:, :, tf.newaxis], tf.float32)
        return {**outputs, "sequence_output": of_tokens}, sequence

    @traced(*SEQUENCE, ids_spec("wanted"))
    def _encoded(self, input_ids, input_mask, segment_ids, wanted):
        """float32 values of `_outputs`: one graph for all signatures that need the whole sequence."""
        input_ids, segment_ids = self._checked(input_ids, segment_ids)
        inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
        outputs = self._albert(inputs, wanted=wanted)
        return [tf.cast(outputs[name], tf.float32) for name in self._outputs]
