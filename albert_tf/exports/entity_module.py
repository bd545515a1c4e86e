"""The signature of a fine-tuned model that finds entities: from a text to their kinds and places.

The rules of tasks.entity_pieces, as a graph: windows over the text, each piece's tag where it has the most context,
entities where conlleval finds them among the tags of visible pieces.

Shapes: B batch, N entities of the text with most, W windows, S positions of a window, T pieces of a text, C tags.
"""

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.finetuned_module import FIND_ENTITIES, FinetunedModule
from albert_tf.exports.window_context import cut_windows, most_context_window, window_rows
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.in_graph_alignment import InGraphAligner


class EntityModule(FinetunedModule):
    """ "entities" and "labels" string [B, N], "starts" and "ends" int32 [B, N], "scores" float32 [B, N].

    After a text's last entity stand "" and 0.

    Args:
        model, tokenizer, task, max_seq_length: see FinetunedModule.
    """

    signature = FIND_ENTITIES

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int):
        super().__init__(model, tokenizer, task, max_seq_length)
        self.aligner = InGraphAligner(self.tokenizer, tokenizer)
        kinds = [label.partition("-")[2] for label in self.label_names]
        self._kinds = list(dict.fromkeys(kind for kind in kinds if kind))
        self._kind_of_tag = [self._kinds.index(kind) if kind else -1 for kind in kinds]
        self._begins = [label.startswith("B-") for label in self.label_names]

    def _predict(self, text):
        texts = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        types = {"labels": tf.string, "starts": tf.int32, "ends": tf.int32, "scores": tf.float32}
        found = tf.map_fn(
            self._find,
            texts,
            fn_output_signature={name: tf.RaggedTensorSpec([None], dtype, 0) for name, dtype in types.items()},
            parallel_iterations=1,
        )
        columns = {name: values.to_tensor() for name, values in found.items()}
        lengths = columns["ends"] - columns["starts"]
        spelt = tf.broadcast_to(texts[:, tf.newaxis], tf.shape(lengths))
        return {"entities": tf.strings.substr(spelt, columns["starts"], lengths, unit="UTF8_CHAR"), **columns}

    def _find(self, text):
        """The entities of one text, string []."""
        ids, starts, ends = self.aligner.align(text)
        firsts, lengths = cut_windows(tf.size(ids), self._settings.max_seq_length - 2, self._settings.doc_stride)
        logits = self.from_ids(**window_rows(ids, firsts, lengths, self.tokenizer))["logits"]
        window = most_context_window(firsts, lengths, tf.size(ids))
        places = tf.range(tf.size(ids)) - tf.gather(firsts, window) + 1
        chances = tf.nn.softmax(tf.gather_nd(logits, tf.stack([window, places], -1)))
        visible = ends > starts
        starts, ends, chances = (tf.boolean_mask(values, visible) for values in (starts, ends, chances))
        tags = tf.argmax(chances, axis=-1, output_type=tf.int32)
        kinds = tf.gather(tf.constant(self._kind_of_tag), tags)
        goes_on = (kinds == tf.concat([[-1], kinds], 0)[:-1]) & ~tf.gather(tf.constant(self._begins), tags)
        is_inside = kinds >= 0
        # The entity that each piece within one is of, from 0.
        entity = tf.boolean_mask(tf.cumsum(tf.cast(is_inside & ~goes_on, tf.int32)) - 1, is_inside)
        starts = tf.math.segment_min(tf.boolean_mask(starts, is_inside), entity)
        ends = tf.math.segment_max(tf.boolean_mask(ends, is_inside), entity)
        # A character of several pieces cannot be in two entities.
        is_apart = starts >= tf.concat([[0], ends], 0)[:-1]
        found = {
            "labels": tf.gather(
                tf.constant(self._kinds), tf.math.segment_max(tf.boolean_mask(kinds, is_inside), entity)
            ),
            "starts": starts,
            "ends": ends,
            "scores": tf.math.segment_mean(tf.boolean_mask(tf.reduce_max(chances, axis=-1), is_inside), entity),
        }
        return {name: tf.boolean_mask(values, is_apart) for name, values in found.items()}
