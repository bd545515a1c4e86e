"""The signature of a fine-tuned span model: from a question and a text to the answer and its place in the text.

The rules of tasks.squad_windows and tasks.squad_answers, as a graph: windows over the text, answers only where
the window has the most context, the best span of all windows.

Shapes: B batch, W windows, S positions of a window, T pieces of the text, Q of the question.
"""

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import may_have_no_answer
from albert_tf.exports.finetuned_module import ANSWER, FinetunedModule
from albert_tf.exports.text_module import SEQUENCE, ids_spec
from albert_tf.exports.window_context import cut_windows, most_context_window
from albert_tf.inputs.finetuning_features import P_MASK
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.in_graph_alignment import InGraphAligner


class SpanModule(FinetunedModule):
    """ "answer" string [B], "start" and "end" int32 [B], its characters in the text, "score" float32 [B].

    Where a question may have no answer there are also "null_odds" float32 [B], above the threshold for no answer; the
    answer is "" then, and start and end are 0.

    Args:
        model, tokenizer, task, max_seq_length: see FinetunedModule.
    """

    signature = ANSWER

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int):
        self._is_beam = task.head == "span_beam"
        self._may_be_impossible = may_have_no_answer(task)
        self._threshold = float(task.options.get("null_score_diff_threshold") or 0.0)
        super().__init__(model, tokenizer, task, max_seq_length)
        self.aligner = InGraphAligner(self.tokenizer, tokenizer)

    def _id_specs(self):
        return (*SEQUENCE, ids_spec(P_MASK)) if self._is_beam else SEQUENCE

    def _from_ids(self, input_ids, input_mask, segment_ids, p_mask=None):
        input_ids, segment_ids = self._checked(input_ids, segment_ids)
        inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
        return self._head(inputs if p_mask is None else {**inputs, P_MASK: p_mask})

    def _predict(self, question, context):
        tf.debugging.assert_equal(tf.shape(question), tf.shape(context), message="As many questions as contexts.")
        contexts = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8", errors="replace")
        questions = self.tokenizer.encode(question)[:, : self._settings.max_query_length]
        outputs = tf.map_fn(
            lambda pair: self._answer(*pair),
            (questions, contexts),
            fn_output_signature={"start": tf.int32, "end": tf.int32, "score": tf.float32, "null_odds": tf.float32},
            parallel_iterations=1,
        )
        if self._may_be_impossible:
            is_null = outputs["null_odds"] > self._threshold
            outputs |= {name: tf.where(is_null, 0, outputs[name]) for name in ("start", "end")}
        else:
            del outputs["null_odds"]
        lengths = outputs["end"] - outputs["start"]
        return {"answer": tf.strings.substr(contexts, outputs["start"], lengths, unit="UTF8_CHAR"), **outputs}

    def _answer(self, question, context):
        """The best answer to one question, int32 [Q], in one text, string []."""
        ids, text_starts, text_ends = self.aligner.align(context)
        before = tf.size(question) + 2
        room = self._settings.max_seq_length - before - 1
        starts, lengths = cut_windows(tf.size(ids), room, self._settings.doc_stride)
        rows = self._rows(question, ids, starts, lengths)
        outputs = self.from_ids(**rows if self._is_beam else {n: v for n, v in rows.items() if n != P_MASK})
        places = tf.range(tf.shape(rows["input_ids"])[1])[tf.newaxis] - before
        in_context = (places >= 0) & (places < lengths[:, tf.newaxis])
        pieces = tf.where(in_context, places + starts[:, tf.newaxis], 0)
        # For [CLS], and for a text without pieces, which has no answers.
        text_starts, text_ends = (tf.concat([places, [0]], 0) for places in (text_starts, text_ends))
        best = tf.concat([most_context_window(starts, lengths, tf.size(ids)), [-1]], 0)
        can_start = in_context & (tf.gather(best, pieces) == tf.range(tf.size(starts))[:, tf.newaxis])
        find = self._beam_spans if self._is_beam else self._spans
        scores, window, start, end = find(outputs, can_start, in_context)
        start = tf.gather(text_starts, tf.gather_nd(pieces, tf.stack([window, start], -1)))
        end = tf.gather(text_ends, tf.gather_nd(pieces, tf.stack([window, end], -1)))
        # -1e6 for start and for end is what is said where no span is allowed.
        none = tf.constant(-2e6, tf.float64)
        scores = tf.concat([tf.where(end > start, scores, none), [none]], 0)
        best = tf.argmax(scores, output_type=tf.int32)
        found = {name: tf.concat([values, [0]], 0)[best] for name, values in (("start", start), ("end", end))}
        return {
            "start": tf.where(scores[best] > none, found["start"], 0),
            "end": tf.where(scores[best] > none, found["end"], 0),
            "score": tf.cast(scores[best], tf.float32),
            "null_odds": self._null_odds(outputs, scores[best]),
        }

    def _rows(self, question, ids, starts, lengths):
        """[CLS] question [SEP] window [SEP] for each window, int32 [W, S], padded to the longest."""
        tokenizer = self.tokenizer
        number = tf.size(starts)
        window = tf.RaggedTensor.from_row_lengths(
            tf.gather(ids, tf.ragged.range(starts, starts + lengths).values), tf.cast(lengths, tf.int64)
        )
        head = tf.concat([[tokenizer.cls_id], question, [tokenizer.sep_id]], 0)
        head = tf.RaggedTensor.from_tensor(tf.tile(head[tf.newaxis], [number, 1]))
        tail = tf.RaggedTensor.from_tensor(tf.fill([number, 1], tokenizer.sep_id))
        parts = [head, window, tail]

        def filled(*values):
            rows = [tf.ones_like(part) * value for part, value in zip(parts, values)]
            return tf.concat(rows, axis=1)

        p_mask = filled(1, 0, 1).to_tensor(1)
        return {
            "input_ids": tf.concat(parts, axis=1).to_tensor(tokenizer.pad_id),
            "input_mask": filled(1, 1, 1).to_tensor(0),
            "segment_ids": filled(0, 1, 1).to_tensor(0),
            P_MASK: tf.concat([tf.zeros_like(p_mask[:, :1]), p_mask[:, 1:]], axis=1),
        }

    def _spans(self, outputs, can_start, can_end):
        """Scores float64 and window, start, end int32 of all spans that are allowed; in the order of the task."""
        start_scores, starts = self._top(outputs["start_logits"], can_start)
        end_scores, ends = self._top(outputs["end_logits"], can_end)
        scores = start_scores[:, :, tf.newaxis] + end_scores[:, tf.newaxis]
        starts, ends = tf.broadcast_to(starts[:, :, tf.newaxis], tf.shape(scores)), ends[:, tf.newaxis]
        ends = tf.broadcast_to(ends, tf.shape(scores))
        return self._allowed(scores, starts, ends, tf.math.is_finite(scores))

    def _top(self, logits, allowed):
        masked = tf.where(allowed, tf.cast(logits, tf.float64), -float("inf"))
        count = tf.minimum(self._settings.n_best_size, tf.shape(logits)[1])
        return tf.math.top_k(masked, count)

    def _beam_spans(self, outputs, can_start, can_end):
        starts, ends = outputs["start_top_index"], outputs["end_top_index"]
        starts = tf.broadcast_to(starts[:, :, tf.newaxis], tf.shape(ends))
        scores = tf.cast(outputs["start_top_log_probs"], tf.float64)[:, :, tf.newaxis]
        scores += tf.cast(outputs["end_top_log_probs"], tf.float64)
        allowed = tf.gather(can_start, starts, batch_dims=1) & tf.gather(can_end, ends, batch_dims=1)
        return self._allowed(scores, starts, ends, allowed)

    def _allowed(self, scores, starts, ends, allowed):
        sizes = ends - starts + 1
        kept = tf.where(allowed & (sizes >= 1) & (sizes <= self._settings.max_answer_length))
        window = tf.cast(kept[:, 0], tf.int32)
        return tf.gather_nd(scores, kept), window, tf.gather_nd(starts, kept), tf.gather_nd(ends, kept)

    def _null_odds(self, outputs, best_score):
        if self._is_beam:
            return tf.reduce_min(outputs["answerability_logits"])
        null = tf.cast(outputs["start_logits"][:, 0], tf.float64) + tf.cast(outputs["end_logits"][:, 0], tf.float64)
        return tf.cast(tf.reduce_min(null) - best_score, tf.float32)
