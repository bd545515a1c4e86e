"""Settings of a conversion, and the formats' names: known before anything heavy is imported."""

import dataclasses
from typing import Annotated

from albert_tf.runtime.settings import OneOf, check, described
from albert_tf.tokenization.text_cleaning import TextCleaning

FORMAT_NAMES = ["albert_tf", "official", "hugging_face", "keras_hub"]

# Classes of transformers that a checkpoint can be written for: pre-trained ones, then fine-tuned ones.
HUGGING_FACE_ARCHITECTURES = [
    *("AlbertForPreTraining", "AlbertForMaskedLM", "AlbertModel"),
    *("AlbertForSequenceClassification", "AlbertForTokenClassification"),
    *("AlbertForMultipleChoice", "AlbertForQuestionAnswering"),
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
        OneOf(*HUGGING_FACE_ARCHITECTURES),
        "With --to=hugging_face: the class of transformers; left out: the whole AlbertForPreTraining.",
    ] = None
    cleaning: Annotated[
        TextCleaning, "Of texts, as when the records were made; a fine-tuned checkpoint knows its own."
    ] = dataclasses.field(default_factory=TextCleaning)

    def __post_init__(self) -> None:
        check(self)
