"""The settings of a training of vectors."""

import dataclasses
from typing import Annotated

from albert_tf.heads.pooling import POOLINGS
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, Interval, OneOf, StrPath, described
from albert_tf.runtime.settings_flags import flag_lines
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.epoch_settings import EpochSettings

AUTO, SIMCSE, CONTRASTIVE, COSINE = OBJECTIVE_NAMES = ("auto", "simcse", "contrastive", "cosine")


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingSettings(EpochSettings):
    """Settings of a training of vectors; their names are those of the flags of train_embeddings."""

    output_dir: Annotated[StrPath, "Where checkpoints, logs and results go."]
    train_file: Annotated[
        StrPath | None, "Texts to train on: .jsonl, .tsv, .csv or .parquet with columns, or else a text in each line."
    ] = None
    dev_file: Annotated[StrPath | None, "Pairs of texts to evaluate by, with scores or without, in such a file."] = None
    text_columns: Annotated[
        str | None,
        "Columns of the texts of --train_file, with commas between: a text, one like it, others unlike it; left out: "
        "all but scores and ids.",
    ] = None
    max_score: Annotated[float, Interval("(0, 1e9)"), "Score of two texts that are the same; STS-B has 5."] = 1.0
    score_column: Annotated[
        str | None, "Column of how alike two texts are; left out: label, labels, score or scores, if there is one."
    ] = None
    temperature: Annotated[float, Interval("(0, 1e3)"), "What cosines are divided by before the softmax."] = 0.05
    dev_text_columns: Annotated[
        str | None, "The same of --dev_file; left out: --text_columns if it has them, else all but scores and ids."
    ] = None
    symmetric: Annotated[bool, "Contrastive: find the first text by the second too, not only the other way."] = False
    objective: Annotated[
        str, OneOf(*OBJECTIVE_NAMES), "What is learned; auto: of single texts simcse, of several contrastive or cosine."
    ] = AUTO
    pooling: Annotated[
        str | None, OneOf(*POOLINGS), "One vector of a text; left out: as --init_checkpoint says, else mean."
    ] = None
    normalize: Annotated[bool | None, "Vectors have length 1; left out: as --init_checkpoint says, else true."] = None
    max_seq_length: Annotated[
        Count | None, "The most pieces of a text, [CLS] and [SEP] too; left out: as --init_checkpoint says, else 128."
    ] = None
    cleaning: Annotated[TextCleaning, "Of texts, as in pre-training."] = dataclasses.field(default_factory=TextCleaning)
    allow_missing_heads: Annotated[bool, "Start the pooler afresh if --init_checkpoint lacks it."] = False
    do_eval: Annotated[bool, "Whether to evaluate, every checkpoint and then the best, on --dev_file."] = False
    train_batch_size: int = 64
    eval_batch_size: int = 64
    num_train_epochs: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.do_train or self.do_eval):
            raise FlagError("at least one of --do_train and --do_eval must be true")
        for task, file in (("do_train", "train_file"), ("do_eval", "dev_file")):
            if getattr(self, task) and not getattr(self, file):
                raise FlagError(f"--{task} needs --{file}")
        for flag in ("text_columns", "dev_text_columns"):
            self.columns(flag)
        for flag in ("dev_file", "dev_text_columns"):
            if getattr(self, flag) and not self.do_eval:
                raise FlagError(f"--{flag} goes with --do_eval")
        if self.symmetric and self.objective in (SIMCSE, COSINE):
            raise FlagError(f"--symmetric goes with --objective={CONTRASTIVE}, not {self.objective}")

    def to_flags(self) -> str:
        """The flags by which the command would have these settings, as a flag file has them."""
        return self.own_flags() + flag_lines(self.cleaning)

    def columns(self, flag: str) -> tuple[str, ...]:
        """The names that --text_columns or --dev_text_columns lists; () where it is left out.

        Raises:
            FlagError: an empty name, or one twice.
        """
        given: str | None = getattr(self, flag)
        if given is None:
            return ()
        names = tuple(name.strip() for name in given.split(","))
        if not all(names) or len(set(names)) < len(names):
            raise FlagError(f"--{flag} must be different names with commas between. Received {given!r}.")
        return names
