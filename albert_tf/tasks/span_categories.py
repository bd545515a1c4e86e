"""Spans of a text that may overlap and lie in one another, each with one label or several."""

from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.tasks.entity_recognition import EntityRecognition
from albert_tf.tasks.span_pieces import found_spans, span_features


class SpanCategories(EntityRecognition):
    """Spans with a place in characters, on a user's own files; labels are the names of the classes as they are."""

    name = head = SPAN_CATEGORIES
    list_keys = ("spans", "entities", "label", "labels")
    may_overlap = True

    def _labels_of(self, kinds):
        return tuple(kinds)

    def _kinds_of(self, labels):
        return tuple(labels)

    def features(self, index, example, tokenizer, settings):
        """One feature for each window over the text, see span_pieces."""
        return span_features(index, example, tokenizer, settings, self.labels)

    def predictions(self, examples, features, outputs, settings):
        """The spans of each text, by their places."""
        return found_spans(len(examples), features, outputs["logits"], self.labels)
