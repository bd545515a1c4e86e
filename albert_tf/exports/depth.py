"""Settings of how many of a model's layers are computed: known before anything heavy is imported."""

import dataclasses
from typing import Annotated, Any

from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, Interval, check, described

_WAYS = ("num_layers", "early_exit", "patience", "exit_confidence")
DEPTH_FLAGS = (*_WAYS, "min_layers")


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class DepthSettings:
    """Settings of the layers that are computed; without any all of them are, for every text."""

    num_layers: Annotated[Count | None, "Compute so many of the model's first layers only; left out: all."] = None
    early_exit: Annotated[
        bool, "Of a model fine-tuned with --early_exit: compute no more layers once they are as sure as dev asked for."
    ] = False
    patience: Annotated[
        Count | None, "The same, once so many exits in a row agree with the one before; in place of what dev chose."
    ] = None
    exit_confidence: Annotated[
        float | None, Interval("(0, 1)"), "The same, once an exit's probability of its answer is as high."
    ] = None
    min_layers: Annotated[
        Count | None,
        "With --patience or --exit_confidence: no text leaves after fewer layers; left out: as the rule says.",
    ] = None

    def __post_init__(self) -> None:
        check(self)
        ways = [name for name in _WAYS if name in self.given]
        if len(ways) > 1:
            raise FlagError(f"give one of {' and '.join(f'--{name}' for name in ways)}")
        if self.min_layers and not (self.patience or self.exit_confidence):
            raise FlagError("--min_layers goes with --patience or --exit_confidence")

    @property
    def has_exits(self) -> bool:
        """True where texts may leave before the last layer."""
        return bool(self.given) and self.num_layers is None

    @property
    def given(self) -> dict[str, Any]:
        """These settings as far as they are given, by their names; {} where none is."""
        return {name: value for name in DEPTH_FLAGS if (value := getattr(self, name))}
