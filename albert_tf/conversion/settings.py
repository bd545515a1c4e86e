"""Settings of a conversion, and the formats' names: known before anything heavy is imported."""

import dataclasses
from typing import Annotated

from albert_tf.heads.pooling import POOLINGS
from albert_tf.runtime.settings import OneOf, check, described
from albert_tf.tokenization.text_cleaning import TextCleaning

FORMAT_NAMES = [
    *("albert_tf", "official", "hugging_face", "keras_hub", "official_bert", "hugging_face_bert"),
    "sentence_transformers",
]

# Classes of transformers that a checkpoint can be written for: pre-trained ones, then fine-tuned ones.
HUGGING_FACE_ARCHITECTURES = [
    *("AlbertForPreTraining", "AlbertForMaskedLM", "AlbertModel"),
    *("AlbertForSequenceClassification", "AlbertForTokenClassification"),
    *("AlbertForMultipleChoice", "AlbertForQuestionAnswering"),
]
BERT_ARCHITECTURES = [
    *("BertForPreTraining", "BertForMaskedLM", "BertForNextSentencePrediction", "BertModel"),
    *("BertForSequenceClassification", "BertForTokenClassification"),
    *("BertForMultipleChoice", "BertForQuestionAnswering"),
]


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class ConversionSettings:
    """Settings of a conversion."""

    input: Annotated[str, "The checkpoint: a file, a prefix, a folder, or hf:// or official://."]
    output: Annotated[str, "The folder to make; absent or empty."]
    to_format: Annotated[str, OneOf(*FORMAT_NAMES), "Format of the output."]
    from_format: Annotated[str | None, OneOf(*FORMAT_NAMES), "Format of the input; None: what it looks like."] = None
    albert_config_file: Annotated[str | None, "The model's JSON file; left out: the checkpoint's own."] = None
    spm_model_file: Annotated[
        str | None, "The vocabulary (.model, vocab.txt) to go along; left out: the one beside the checkpoint."
    ] = None
    allow_missing_heads: Annotated[bool, "Start pooler and heads afresh that --input lacks."] = False
    allow_nonfinite: Annotated[bool, "Carry NaN and infinite weights over too."] = False
    hugging_face_architecture: Annotated[
        str | None,
        OneOf(*HUGGING_FACE_ARCHITECTURES, *BERT_ARCHITECTURES),
        "With --to=hugging_face or hugging_face_bert: the class of transformers; left out: that of the whole model.",
    ] = None
    pooling: Annotated[
        str | None,
        OneOf(*POOLINGS),
        "With --to=sentence_transformers: one vector of a text is the mean of its pieces', or that of [CLS]; left out: "
        "as the checkpoint says, else mean.",
    ] = None
    normalize: Annotated[
        bool | None,
        "With --to=sentence_transformers: vectors of texts have length 1; left out: as the checkpoint says, else true.",
    ] = None
    weight_type: Annotated[
        str,
        OneOf("float32", "float16"),
        "How the files of Hugging Face and sentence-transformers hold numbers: float16 is half as large, and rounds.",
    ] = "float32"
    cleaning: Annotated[
        TextCleaning, "Of texts, as when the records were made; a fine-tuned checkpoint knows its own."
    ] = dataclasses.field(default_factory=TextCleaning)

    def __post_init__(self) -> None:
        check(self)
