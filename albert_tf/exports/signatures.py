"""The signatures of an exported ALBERT: those of the official hub modules, and the same from text.

Shapes: B batch, S sequence, P masked positions, K pieces asked for, V vocabulary, H hidden. B, S and P are free at
every call. docs/serving.md has the table of inputs and outputs.
"""

from collections.abc import Callable

import tensorflow as tf

from albert_tf.exports.encoder_module import EncoderModule
from albert_tf.exports.text_module import SEQUENCE as _SEQUENCE
from albert_tf.exports.text_module import ids_spec, in_range, texts_spec
from albert_tf.exports.text_module import traced as _traced
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.heads.pretraining import IN_ORDER, SWAPPED
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.tokenization.base import Tokenizer

MLM, SOP = "mlm", "sop"
MLM_FROM_TEXT, SOP_FROM_TEXT = "mlm_from_text", "sop_from_text"
FILL_MASK = "fill_mask"


class ServingModule(EncoderModule):
    """A pre-trained model: weights, vocabulary, and a function for each signature.

    Args:
        model: AlbertForPretraining.
        tokenizer, max_seq_length, pooling, has_pooler: see EncoderModule, which raises the errors too.
    """

    weights_of = ""

    def __init__(
        self,
        model: AlbertForPretraining,
        tokenizer: Tokenizer,
        max_seq_length: int,
        pooling: Pooling = USUAL_POOLING,
        has_pooler: bool = True,
    ):
        super().__init__(model, tokenizer, max_seq_length, pooling, has_pooler)
        self._pieces = [tokenizer.id_to_piece(piece_id) for piece_id in range(tokenizer.vocab_size)]
        # As functions, because an attribute that is a Keras model would be saved with all that Keras adds to it.
        word_embeddings = model.albert.embeddings.word_embeddings
        self._masked_lm = lambda sequence, positions: model.masked_lm(sequence, positions, word_embeddings)
        self._sentence_order = lambda pooled: model.sentence_order(pooled)

    def signatures(self, sentence_order: bool = True, layer_outputs: tuple[str, ...] = ()) -> dict[str, Callable]:
        """The functions by the names they are served under.

        Args:
            sentence_order: False leaves sop and sop_from_text out, for a model that was not trained on the task.
            layer_outputs: see EncoderModule.signatures.
        """
        chosen = {
            **super().signatures(layer_outputs),
            MLM: self.mlm,
            SOP: self.sop,
            MLM_FROM_TEXT: self.mlm_from_text,
            FILL_MASK: self.fill_mask,
            SOP_FROM_TEXT: self.sop_from_text,
        }
        return {
            name: function for name, function in chosen.items() if sentence_order or name not in (SOP, SOP_FROM_TEXT)
        }

    @_traced(*_SEQUENCE, ids_spec("mlm_positions"))
    def mlm(self, input_ids, input_mask, segment_ids, mlm_positions):
        """Scores every piece at the asked positions.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].
            mlm_positions: int32 [B, P], below S.

        Returns:
            what `tokens` returns, and "mlm_logits" float32 [B, P, V], before softmax.
        """
        length = tf.shape(input_ids)[1]
        mlm_positions = in_range("mlm_positions", mlm_positions, length)
        asked = tf.reduce_any(mlm_positions[:, :, tf.newaxis] == tf.range(length), axis=1)
        outputs, sequence = self._encode(input_ids, input_mask, segment_ids, tf.cast(asked, tf.int32))
        return {**outputs, "mlm_logits": self._masked_lm(sequence, mlm_positions)}

    @_traced(*_SEQUENCE)
    def sop(self, input_ids, input_mask, segment_ids):
        """Scores the order of two segments.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].

        Returns:
            what `tokens` returns, and "sop_log_probs" float32 [B, 2]: of in order, of swapped.
        """
        outputs = self.tokens(input_ids, input_mask, segment_ids)
        return {**outputs, "sop_log_probs": tf.nn.log_softmax(self._sentence_order(outputs["pooled_output"]))}

    @_traced(texts_spec("text"))
    def mlm_from_text(self, text):
        """Scores every piece where "[MASK]" stands.

        Args:
            text: string [B], UTF-8. A "[MASK]" beyond max_seq_length is cut off.

        Returns:
            what `mlm` returns, and its inputs; P is the largest number of masks of a text, and "mlm_weights",
            float32 [B, P], is 1 for a mask and 0 for padding, whose position is 0.
        """
        packed, positions, weights = self._pack_with_masks(text)
        packed["mlm_positions"] = positions
        return {**packed, "mlm_weights": weights, **self.mlm(**packed)}

    @_traced(texts_spec("text"), tf.TensorSpec([], tf.int32, name="top_k"))
    def fill_mask(self, text, top_k):
        """The likeliest pieces where "[MASK]" stands.

        Args:
            text: string [B], UTF-8.
            top_k: int32 [], how many pieces for each mask, at least 1; K is the lesser of it and V.

        Returns:
            "mask_count" int32 [B]; and, likeliest first and empty beyond a text's mask_count: "pieces" string
            [B, P, K], in which U+2581 is the space before a word, "piece_ids" int32 [B, P, K], and
            "probabilities" float32 [B, P, K].
        """
        tf.debugging.assert_positive(top_k, message="top_k must be at least 1.")
        packed, positions, weights = self._pack_with_masks(text)
        # Of the last layer only the masks are computed.
        logits = self._masked_lm(self._albert(packed, positions=positions)["sequence_output"], None)
        best, piece_ids = tf.math.top_k(tf.nn.softmax(logits), tf.minimum(top_k, len(self._pieces)))
        is_mask = tf.broadcast_to(weights[:, :, tf.newaxis] > 0, tf.shape(best))
        return {
            "mask_count": tf.cast(tf.reduce_sum(weights, axis=1), tf.int32),
            "pieces": tf.where(is_mask, tf.gather(tf.constant(self._pieces), piece_ids), ""),
            "piece_ids": tf.where(is_mask, piece_ids, 0),
            "probabilities": tf.where(is_mask, best, 0.0),
        }

    @_traced(texts_spec("first"), texts_spec("second"))
    def sop_from_text(self, first, second):
        """Judges whether two texts stand in the order in which they were written.

        Args:
            first, second: string [B], UTF-8.

        Returns:
            what `sop` returns, and its inputs; and the probabilities "in_order" and "swapped", float32 [B].
        """
        tf.debugging.assert_equal(tf.shape(first), tf.shape(second), message="As many first texts as second ones.")
        packed = self._pack(self.tokenizer.encode(first), self.tokenizer.encode(second))
        outputs = self.sop(**packed)
        probabilities = tf.exp(outputs["sop_log_probs"])
        return {**packed, **outputs, "in_order": probabilities[:, IN_ORDER], "swapped": probabilities[:, SWAPPED]}

    def _pack_with_masks(self, text):
        """The inputs of the encoder, int32 [B, S]; the masks' positions, int32 [B, P], and weights, float32 [B, P]."""
        packed = self._pack(self.tokenizer.encode_with_masks(text))
        is_mask = packed["input_ids"] == self.tokenizer.mask_id
        positions = tf.ragged.range(tf.fill(tf.shape(is_mask)[:1], tf.shape(is_mask)[1]))
        positions = tf.ragged.boolean_mask(positions.to_tensor(shape=[None, None]), is_mask)
        return packed, positions.to_tensor(0), tf.ones_like(positions, tf.float32).to_tensor(0)
