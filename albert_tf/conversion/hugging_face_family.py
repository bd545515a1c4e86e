"""The families of transformers' models that cross over, ALBERT and BERT: how their files name what both have."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.conversion.bert import BERT_DEFAULTS, BERT_KEYS, bert_config, bert_values
from albert_tf.conversion.config_keys import albert_values
from albert_tf.conversion.settings import BERT_ARCHITECTURES, HUGGING_FACE_ARCHITECTURES

# Names of weights of ours, or their first parts.
_ENCODER, _POOLER, _MASKED_LM, _SENTENCES = ("albert/e", "albert/pooler/", "masked_lm/", "sentence_order/")
# The weights of a class of transformers, without the family at the beginning of its name; the encoder's always.
_PARTS = {
    "ForPreTraining": (_POOLER, _MASKED_LM, _SENTENCES),
    "ForMaskedLM": (_MASKED_LM,),
    "ForNextSentencePrediction": (_POOLER, _SENTENCES),
    "Model": (_POOLER,),
    "ForSequenceClassification": (_POOLER, "classifier/"),
    "ForTokenClassification": ("classifier/",),
    "ForMultipleChoice": (_POOLER, "classifier/"),
    "ForQuestionAnswering": ("span/",),
}


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of models.

    Attributes:
        format_name: one of conversion.settings.FORMAT_NAMES.
        title: what a checkpoint of it is called in messages.
        model_type: its word in config.json; with a dot the first part of its tensors' names.
        classes: first part of its classes' names.
        architectures: its classes that are written.
        pooler: its layer for the pooler, as all of these without "weight" and "bias".
        masked_lm: its head for masked words.
        transform: the layer of that head before the one to the vocabulary.
        sentence_order: its head for pairs of sentences.
        block: the block of a group and of a place in it, "{group}" and "{inner}".
        block_layers: {layer of a block of ours: layer of theirs}.
        own_key: a key by which a config.json without a model_type is known.
        shape_keys: the keys of config.json that make a model's shape.
        defaults: what transformers takes for those that are not there, where AlbertConfig of ours does not.
        dropout_key: the key for the rate of dropout in front of a fine-tuned model's head.
        default_dropout: the rate where that is not there; None stands for the rate of the hidden units.
        to_config: makes a config of ours of values of shape_keys; takes the file's path too, for errors.
        to_values: the inverse; takes the title, for errors.
    """

    format_name: str
    title: str
    model_type: str
    classes: str
    architectures: Sequence[str]
    pooler: str
    masked_lm: str
    transform: str
    sentence_order: str
    block: str
    block_layers: Mapping[str, str]
    own_key: str
    shape_keys: tuple[str, ...]
    defaults: Mapping[str, Any]
    dropout_key: str
    default_dropout: float | None
    to_config: Callable[[dict[str, Any], str], AlbertConfig]
    to_values: Callable[[AlbertConfig, str], dict[str, Any]]

    @property
    def prefix(self) -> str:
        """The first part of the encoder's tensors' names."""
        return f"{self.model_type}."

    def block_prefix(self, group: int, inner: int) -> str:
        """The first part of the names of a block's tensors."""
        return self.block.format(group=group, inner=inner)

    def names_its_tensors(self, names: Iterable[str]) -> bool:
        """Tells by its tensors' names whether a model is of the family, a bare one too."""
        query = f"{self.block_prefix(0, 0)}{self.block_layers['attention/query']}.weight"
        return not {query, query.removeprefix(self.prefix)}.isdisjoint(names)

    def parts_of(self, architecture: str) -> tuple[str, ...]:
        """First parts of the names, by ours, of the weights that an architecture has."""
        return (_ENCODER, *_PARTS[architecture.removeprefix(self.classes)])

    def heads_of(self, architecture: str) -> tuple[str, ...]:
        """First parts of the names, by ours, of the heads without which there is no such architecture."""
        return tuple(part for part in self.parts_of(architecture) if part not in (_ENCODER, _POOLER))


ALBERT = Family(
    format_name="hugging_face",
    title="a Hugging Face checkpoint",
    model_type="albert",
    classes="Albert",
    architectures=HUGGING_FACE_ARCHITECTURES,
    pooler="albert.pooler",
    masked_lm="predictions",
    transform="predictions",
    sentence_order="sop_classifier.classifier",
    block="albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}.",
    block_layers={
        **{f"attention/{part}": f"attention.{part}" for part in ("query", "key", "value")},
        "attention/output": "attention.dense",
        "attention/layer_norm": "attention.LayerNorm",
        "feed_forward/intermediate": "ffn",
        "feed_forward/output": "ffn_output",
        "feed_forward/layer_norm": "full_layer_layer_norm",
    },
    own_key="embedding_size",
    shape_keys=tuple(AlbertConfig(vocab_size=1).to_dict()),
    defaults={"vocab_size": 30000, "hidden_act": "gelu_new"},
    dropout_key="classifier_dropout_prob",
    default_dropout=0.1,
    to_config=AlbertConfig.from_dict,
    to_values=albert_values,
)
BERT = Family(
    format_name="hugging_face_bert",
    title="a Hugging Face BERT checkpoint",
    architectures=BERT_ARCHITECTURES,
    model_type="bert",
    own_key="intermediate_size",
    shape_keys=BERT_KEYS,
    defaults={**BERT_DEFAULTS, "vocab_size": 30522, "type_vocab_size": 2},
    to_config=bert_config,
    to_values=bert_values,
    classes="Bert",
    block="bert.encoder.layer.{group}.",
    block_layers={
        **{f"attention/{part}": f"attention.self.{part}" for part in ("query", "key", "value")},
        "attention/output": "attention.output.dense",
        "attention/layer_norm": "attention.output.LayerNorm",
        "feed_forward/intermediate": "intermediate.dense",
        "feed_forward/output": "output.dense",
        "feed_forward/layer_norm": "output.LayerNorm",
    },
    pooler="bert.pooler.dense",
    masked_lm="cls.predictions",
    transform="cls.predictions.transform",
    sentence_order="cls.seq_relationship",
    dropout_key="classifier_dropout",
    default_dropout=None,
)
FAMILIES = (ALBERT, BERT)
