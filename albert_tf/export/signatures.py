"""The signatures of an exported ALBERT: those of the official hub modules, and the same from text.

Shapes: B batch, S sequence, P masked positions, K pieces asked for, V vocabulary, H hidden. B, S and P are free at
every call. docs/serving.md has the table of inputs and outputs.
"""

from collections.abc import Callable

import tensorflow as tf

from albert_tf.heads.sentence_order import IN_ORDER, SWAPPED
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.tokenization.in_graph import InGraphTokenizer, pack_ragged
from albert_tf.tokenization.packing import room_for_text
from albert_tf.tokenization.tokenizer import AlbertTokenizer

SERVING_DEFAULT = "serving_default"
TOKENS, MLM, SOP, TOKENIZATION_INFO = "tokens", "mlm", "sop", "tokenization_info"
TOKENS_FROM_TEXT, MLM_FROM_TEXT, SOP_FROM_TEXT = "tokens_from_text", "mlm_from_text", "sop_from_text"
FILL_MASK = "fill_mask"


def _ids(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None, None], tf.int32, name=name)


def _texts(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None], tf.string, name=name)


def _traced(*specs: tf.TensorSpec):
    # Nothing in the graph branches on a tensor's value, so there is nothing for autograph to rewrite.
    return tf.function(input_signature=specs, autograph=False)


_SEQUENCE = (_ids("input_ids"), _ids("input_mask"), _ids("segment_ids"))


class ServingModule(tf.Module):
    """What is saved: weights, vocabulary, and a function for each signature.

    The weights are tracked as plain variables by the names that checkpoints use, so that whoever loads the
    SavedModel needs neither Keras nor this package.

    Args:
        model: AlbertForPretraining.
        tokenizer: the vocabulary, read from a file that still exists when the module is saved.
        max_seq_length: where texts are cut; ids may be as long as max_position_embeddings.

    Raises:
        InputError: max_seq_length leaves no room for a pair of texts.
    """

    def __init__(self, model: AlbertForPretraining, tokenizer: AlbertTokenizer, max_seq_length: int):
        super().__init__(name="albert")
        room_for_text(max_seq_length, pair=True)
        self.weights = {name: variable.value for name, variable in named_weights(model).items()}
        self.tokenizer = InGraphTokenizer.from_tokenizer(tokenizer)
        self.vocabulary = tf.saved_model.Asset(tokenizer.model_file)
        self.max_seq_length = max_seq_length
        self._config = model.config
        self._do_lower_case = tokenizer.cleaning.do_lower_case
        self._pieces = [tokenizer.id_to_piece(piece_id) for piece_id in range(tokenizer.vocab_size)]
        # As functions, because an attribute that is a Keras model would be saved with all that Keras adds to it.
        word_embeddings = model.albert.embeddings.word_embeddings
        # Nothing is computed for padding.
        self._albert = lambda inputs, positions=None: model.albert(
            inputs, training=False, positions=positions, skip_padding=True
        )
        self._masked_lm = lambda sequence, positions: model.masked_lm(sequence, positions, word_embeddings)
        self._sentence_order = lambda pooled: model.sentence_order(pooled)

    def signatures(self, sentence_order: bool = True) -> dict[str, Callable]:
        """The functions by the names they are served under.

        Args:
            sentence_order: False leaves sop and sop_from_text out, for a model that was not trained on the task.
        """
        chosen = {
            SERVING_DEFAULT: self.tokens_from_text,
            TOKENS: self.tokens,
            MLM: self.mlm,
            SOP: self.sop,
            TOKENIZATION_INFO: self.tokenization_info,
            TOKENS_FROM_TEXT: self.tokens_from_text,
            MLM_FROM_TEXT: self.mlm_from_text,
            FILL_MASK: self.fill_mask,
            SOP_FROM_TEXT: self.sop_from_text,
        }
        return {
            name: function for name, function in chosen.items() if sentence_order or name not in (SOP, SOP_FROM_TEXT)
        }

    @_traced(*_SEQUENCE)
    def tokens(self, input_ids, input_mask, segment_ids):
        """Encodes ids.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].

        Returns:
            "sequence_output" float32 [B, S, H], zero in the padding; "pooled_output" float32 [B, H].
        """
        length, longest = tf.shape(input_ids)[1], self._config.max_position_embeddings
        # A lookup beyond a table's end would be an obscure error, or on some devices none at all.
        too_long = tf.debugging.assert_less_equal(
            length, longest, message=f"Sequences are at most {longest} pieces long."
        )
        with tf.control_dependencies([too_long]):
            input_ids = _in_range("input_ids", input_ids, self._config.vocab_size)
            segment_ids = _in_range("segment_ids", segment_ids, self._config.type_vocab_size)
            # There is always something to attend to: the first position counts as a token.
            input_mask = tf.concat([tf.ones_like(input_mask[:, :1]), input_mask[:, 1:]], axis=1)
        outputs = self._albert({"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})
        return {name: outputs[name] for name in ("sequence_output", "pooled_output")}

    @_traced(*_SEQUENCE, _ids("mlm_positions"))
    def mlm(self, input_ids, input_mask, segment_ids, mlm_positions):
        """Scores every piece at the asked positions.

        Args:
            input_ids, input_mask, segment_ids: int32 [B, S].
            mlm_positions: int32 [B, P], below S.

        Returns:
            what `tokens` returns, and "mlm_logits" float32 [B, P, V], before softmax.
        """
        mlm_positions = _in_range("mlm_positions", mlm_positions, tf.shape(input_ids)[1])
        outputs = self.tokens(input_ids, input_mask, segment_ids)
        return {**outputs, "mlm_logits": self._masked_lm(outputs["sequence_output"], mlm_positions)}

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

    @_traced()
    def tokenization_info(self):
        """How the vocabulary is to be used.

        Returns:
            "vocab_file" string [], where the sentencepiece model lies now; "do_lower_case" bool [].
        """
        return {"vocab_file": self.vocabulary.asset_path, "do_lower_case": tf.constant(self._do_lower_case)}

    @_traced(_texts("text"))
    def tokens_from_text(self, text):
        """Encodes texts, padded to the longest of them. "[MASK]" is ordinary text here.

        Args:
            text: string [B], UTF-8.

        Returns:
            what `tokens` returns, and its inputs.
        """
        packed = self._pack(self.tokenizer.encode(text))
        return {**packed, **self.tokens(**packed)}

    @_traced(_texts("text"))
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

    @_traced(_texts("text"), tf.TensorSpec([], tf.int32, name="top_k"))
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
        logits = self._masked_lm(self._albert(packed, positions)["sequence_output"], None)
        best, piece_ids = tf.math.top_k(tf.nn.softmax(logits), tf.minimum(top_k, len(self._pieces)))
        is_mask = tf.broadcast_to(weights[:, :, tf.newaxis] > 0, tf.shape(best))
        return {
            "mask_count": tf.cast(tf.reduce_sum(weights, axis=1), tf.int32),
            "pieces": tf.where(is_mask, tf.gather(tf.constant(self._pieces), piece_ids), ""),
            "piece_ids": tf.where(is_mask, piece_ids, 0),
            "probabilities": tf.where(is_mask, best, 0.0),
        }

    @_traced(_texts("first"), _texts("second"))
    def sop_from_text(self, first, second):
        """Whether two texts stand in the order in which they were written.

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

    def _pack(self, first_ids, second_ids=None):
        tokenizer = self.tokenizer
        packed = pack_ragged(
            first_ids, second_ids, self.max_seq_length, tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id
        )
        # A batch of no texts has no longest one; the model wants a first position all the same.
        missing = tf.maximum(0, 1 - tf.shape(packed["input_ids"])[1])
        return {name: tf.pad(ids, [[0, 0], [0, missing]]) for name, ids in packed.items()}


def _in_range(name: str, values: tf.Tensor, end) -> tf.Tensor:
    """The values, once they are known to lie in [0, end): what is computed of them waits for the check."""
    checks = [
        tf.debugging.assert_non_negative(values, message=f"{name} must not be negative."),
        tf.debugging.assert_less(values, end, message=f"{name} must be less than {'S' if tf.is_tensor(end) else end}."),
    ]
    with tf.control_dependencies(checks):
        return tf.identity(values)
