"""Settings of an export in any format: known before anything heavy is imported."""

import dataclasses
from typing import Annotated

from albert_tf.exports import settings as serving
from albert_tf.exports.settings import ExportSettings, SourceSettings
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, OneOf, described

SAVED_MODEL, ONNX, LITERT = FORMATS = ("saved_model", "onnx", "litert")
# Differences beyond it are faults, by precision. Those of rounding are about a hundredth of it in float32 and in
# float16, and a tenth in bfloat16 and int8 (docs/serving.md).
TOLERANCES = {"float32": 1e-4, "bfloat16": 0.3, "float16": 0.1, "int8": 0.5}
_PRECISIONS = {
    SAVED_MODEL: tuple(serving.TOLERANCES),
    ONNX: tuple(TOLERANCES),
    LITERT: tuple(precision for precision in TOLERANCES if precision != "bfloat16"),
}
_DEFAULT_PRECISION = {SAVED_MODEL: "float32", ONNX: "float32", LITERT: "int8"}
_HEADS = ("encoder", "embedding", "pretraining")


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelExportSettings(SourceSettings):
    """Settings of an export in any format."""

    format: Annotated[str, OneOf(*FORMATS), "What to write: a SavedModel, or a file that runs without TensorFlow."]
    precision: Annotated[
        str | None,
        OneOf("float32", "bfloat16", "float16", "int8"),
        "Of weights and matrix products; outputs are float32 in any case. bfloat16 is for saved_model and onnx, where "
        "OpenVINO multiplies in it; float16 and int8 are for onnx and litert; left out: int8 for litert, else float32.",
    ] = None
    head: Annotated[
        str | None,
        OneOf(*_HEADS),
        "For onnx and litert: the encoder's output alone, one vector for each text, or the words and the order of "
        "pre-training; left out: the head that the model was fine-tuned with, else pretraining.",
    ] = None
    batch_size: Annotated[
        Count | None, "For onnx and litert: the number of sequences of every call; left out: it is free."
    ] = None
    fixed_length: Annotated[
        bool, "For onnx and litert: every sequence has max_seq_length pieces, with padding; left out: any length."
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = _PRECISIONS[self.format]
        if self.precision is not None and self.precision not in allowed:
            raise FlagError(
                f"--precision must be one of {', '.join(allowed)} with --format={self.format}. "
                f"Received {self.precision!r}."
            )
        if self.layer_outputs and self.format != SAVED_MODEL and (self.format, self.head) != (ONNX, _HEADS[0]):
            raise FlagError(
                f"--output_{self.layer_outputs[0]} is for --format=saved_model, and for --format=onnx with "
                f"--head={_HEADS[0]}. Received --format={self.format}, --head={self.head}."
            )
        if self.has_exits and self.format != SAVED_MODEL and self.head is not None:
            raise FlagError(
                f"--{next(iter(self.given))} is for the head that a model was fine-tuned with; leave "
                f"--head={self.head} out, or give --num_layers"
            )
        if self.format == SAVED_MODEL:
            given = [name for name in ("head", "batch_size", "fixed_length") if getattr(self, name)]
            if given:
                raise FlagError(
                    f"--{given[0]} is for --format=onnx and --format=litert; a SavedModel has a signature for every "
                    "head, of any shape. Leave it out."
                )

    @property
    def chosen_precision(self) -> str:
        """The precision, where none is given that of the format."""
        return self.precision or _DEFAULT_PRECISION[self.format]

    def for_saved_model(self) -> ExportSettings:
        """The settings of an export as a SavedModel."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(SourceSettings)}
        return ExportSettings(**fields, precision=self.chosen_precision)
