"""Settings of how a model is fine-tuned, beyond those of every training."""

import dataclasses
from typing import Annotated

from albert_tf.finetuning.freezing import FREEZABLE
from albert_tf.heads.exit_names import EXIT_POOLINGS
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, Interval, OneOf, OnlyWith, Share, StrPath, described
from albert_tf.training.epoch_settings import EpochSettings

# Ways of training exits.
JOINT, FITTED = "joint", "fitted"


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeSettings(EpochSettings):
    """Settings that decide what the weights of a fine-tuned model become; FinetuningSettings has them too."""

    class_weights: Annotated[
        str | None, "What each class counts in the loss: balanced, or a number for each label, in their order: 1,2.5."
    ] = None
    pos_weight: Annotated[
        str | None,
        "With --multi_label: what a label that is there counts: balanced, one number, or one for each label.",
    ] = None
    freeze: Annotated[
        str | None, "What keeps the weights it starts with: embeddings, encoder, or both with a comma between."
    ] = None
    lora_rank: Annotated[
        Count | None,
        "Train low-rank updates of the encoder's kernels, of this rank, and the head; left out: all weights.",
    ] = None
    lora_alpha: Annotated[float, Interval("(0, 1e6)"), "What these updates are multiplied by, times --lora_rank."] = (
        16.0
    )
    teacher: Annotated[
        StrPath | None,
        "Model to learn from besides: a fine-tuned run or checkpoint, or a .jsonl of predict's on the training split.",
    ] = None
    distillation_temperature: Annotated[
        float,
        Interval("(0, 1e3)"),
        OnlyWith("teacher"),
        "With --teacher: what its logits and the model's are divided by.",
    ] = 2.0
    distillation_weight: Annotated[
        float,
        Interval("[0, 1]"),
        OnlyWith("teacher"),
        "With --teacher: share of its part in the loss; the labels have the rest.",
    ] = 0.5
    best_metric: Annotated[
        str | None, "Score of the dev split by which the best checkpoint is chosen; left out: the task's."
    ] = None
    early_exit: Annotated[
        bool, "Train a classifier after every layer, so that predict and exports may leave layers out, text by text."
    ] = False
    exit_training: Annotated[
        str,
        OneOf(JOINT, FITTED),
        "With --early_exit: train the exits jointly with the model, or train the model as without them and fit them to "
        "each checkpoint of it.",
    ] = JOINT
    exit_pooling: Annotated[
        str | None,
        OneOf(*EXIT_POOLINGS),
        "With --early_exit: what the exits read, the mean over the text or the pooled [CLS]; left out: as in the "
        "checkpoint that the run goes on with or starts from, else mean if they are fitted, pooled if trained.",
    ] = None
    exit_rate_factor: Annotated[
        float,
        Interval("(0, 1e4)"),
        "With --early_exit, joint: what the learning rate is multiplied by for the exits, which start from nothing.",
    ] = 10.0
    exit_tolerance: Annotated[
        Share, "With --early_exit: the most that the choice of when to leave may cost of the score on dev."
    ] = 0.005
    label_smoothing: Annotated[Share, "Share of a label that all classes divide among them."] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lora_rank and self.lora_alpha != RecipeSettings.lora_alpha:
            raise FlagError("--lora_alpha goes with --lora_rank")
        for name in ("exit_tolerance", "exit_training", "exit_pooling", "exit_rate_factor"):
            if not self.early_exit and getattr(self, name) != getattr(RecipeSettings, name):
                raise FlagError(f"--{name} goes with --early_exit")
        if self.fits_exits and self.exit_rate_factor != RecipeSettings.exit_rate_factor:
            raise FlagError(f"--exit_rate_factor goes with --exit_training={JOINT}")
        if self.fits_exits and self.lora_rank:
            raise FlagError(f"--exit_training={FITTED} does not go with --lora_rank")
        if self.early_exit and self.constant_graph:
            raise FlagError("--early_exit reads what is between the layers; leave --constant_graph out")
        if self.lora_rank and self.freeze:
            raise FlagError("--lora_rank freezes embeddings and encoder by itself; leave --freeze out")
        if unknown := [word for word in self.frozen_parts if word not in FREEZABLE]:
            raise FlagError(f"--freeze takes {' and '.join(FREEZABLE)}, with a comma between. Received {unknown[0]!r}.")

    @property
    def fits_exits(self) -> bool:
        """True where exits are fitted to the model rather than trained."""
        return self.early_exit and self.exit_training == FITTED

    @property
    def frozen_parts(self) -> tuple[str, ...]:
        """The words of --freeze; with --lora_rank all there are."""
        if self.lora_rank:
            return FREEZABLE
        return tuple(self.freeze.split(",")) if self.freeze else ()
