"""Settings of an export: known before anything heavy is imported."""

import dataclasses
from typing import Annotated

from albert_tf.exports.depth import DepthSettings
from albert_tf.heads.pooling import POOLINGS
from albert_tf.runtime.settings import Count, OneOf, StrPath, described
from albert_tf.tokenization.text_cleaning import TextCleaning

FLOAT32 = "float32"
# Differences beyond it are faults, by precision; those of rounding are about a hundredth of it in float32 and a third
# in bfloat16.
TOLERANCES = {FLOAT32: 1e-4, "bfloat16": 0.1}
# Outputs of the encoder that an export has where they are asked for.
HIDDEN_STATES, ATTENTIONS = LAYER_OUTPUTS = ("hidden_states", "attentions")


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceSettings(DepthSettings):
    """Settings of every export: what is exported, and where to."""

    init_checkpoint: Annotated[
        StrPath, "A run's --output_dir, a checkpoint, another format's, or hf:// or official://."
    ]
    output_dir: Annotated[StrPath, "The folder to make."]
    spm_model_file: Annotated[
        StrPath | None,
        "The vocabulary (.model, vocab.txt) that the model was trained with; left out: the one beside the checkpoint.",
    ] = None
    albert_config_file: Annotated[StrPath | None, "The model's JSON file; left out: the checkpoint's own."] = None
    cleaning: Annotated[
        TextCleaning, "Of texts, as when the records were made; a fine-tuned checkpoint knows its own."
    ] = dataclasses.field(default_factory=TextCleaning)
    output_hidden_states: Annotated[bool, "Give the encoder's hidden states before and after every layer too."] = False
    output_attentions: Annotated[bool, "Give the probabilities of every head of the encoder's attention too."] = False
    max_seq_length: Annotated[
        Count | None, "Where texts are cut; left out: as in fine-tuning, else max_position_embeddings."
    ] = None
    pooling: Annotated[
        str | None,
        OneOf(*POOLINGS),
        "One vector of a text: the mean of its pieces', that of [CLS], or the pooler's output; left out: as the "
        "checkpoint says, else mean.",
    ] = None
    normalize: Annotated[
        bool | None, "Vectors of texts have length 1; left out: as the checkpoint says, else true."
    ] = None
    overwrite: Annotated[bool, "Replace an earlier export in --output_dir."] = False

    @property
    def layer_outputs(self) -> tuple[str, ...]:
        """The names in LAYER_OUTPUTS that are asked for."""
        return tuple(name for name in LAYER_OUTPUTS if getattr(self, f"output_{name}"))


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportSettings(SourceSettings):
    """Settings of an export as a SavedModel."""

    precision: Annotated[
        str, OneOf(*TOLERANCES), "Of weights and matrix products; outputs are float32 in any case."
    ] = "float32"
