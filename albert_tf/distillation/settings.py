"""The settings of a distillation of vectors."""

import dataclasses
from typing import Annotated

from albert_tf.embedding.settings import AUTO, EmbeddingSettings
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Interval, OnlyWith, StrPath, described


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationSettings(EmbeddingSettings):
    """Settings of a distillation of vectors; their names are those of the flags of distil_vectors."""

    IN_PYTHON_ALONE = (*EmbeddingSettings.IN_PYTHON_ALONE, "objective", "symmetric")

    teacher: Annotated[
        StrPath | None,
        "The model whose vectors are learned, as embed_texts takes it; or a .npy file with one for each row.",
    ] = None
    vectors_file: Annotated[
        StrPath | None, "Where the vectors of --teacher are kept; left out: TRAIN_FILE.teacher.npy."
    ] = None
    teacher_width: Annotated[
        bool, "Give vectors of as many numbers as the teacher's, by a dense layer after pooling."
    ] = False
    init_words: Annotated[
        bool, "Without --init_checkpoint: start word embeddings from vectors that fit the teacher's."
    ] = True
    init_position_waves: Annotated[
        bool, "Without --init_checkpoint: start the position embeddings from sines and cosines."
    ] = True
    cosine_weight: Annotated[float, Interval("[0, 1e6)"), "Weight of 1 - cosine with the teacher's vector."] = 1.0
    relation_weight: Annotated[
        float, Interval("[0, 1e6)"), "Weight of the loss of which texts of a batch are near to one another."
    ] = 1.0
    train_batch_size: int = 128
    optimizer: str = "muon"
    learning_rate: float = 1e-4
    muon_rate: Annotated[
        float,
        Interval("(0, 1e6)"),
        OnlyWith("optimizer", "muon"),
        "With --optimizer=muon: the matrices' rate, times --learning_rate.",
    ] = 14.0
    warmup_proportion: float = 0.05
    num_train_epochs: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        # Of a training of vectors alone.
        for name, usual in (("objective", AUTO), ("symmetric", False)):
            if getattr(self, name) != usual:
                raise FlagError(f"--{name} is for EmbeddingSettings; a student learns the teacher's vectors")
        if self.do_train and not self.teacher:
            raise FlagError("--do_train needs --teacher")
        if self.max_score != EmbeddingSettings.max_score and not self.do_eval:
            raise FlagError("--max_score goes with --do_eval, by which scores are read")
        if self.relation_weight and self.gradient_accumulation_steps > 1:
            raise FlagError(
                "--gradient_accumulation_steps: every part of a batch would be compared with itself alone; give a "
                "smaller --train_batch_size, or --remat, or --relation_weight=0"
            )
        if not self.cosine_weight + self.relation_weight:
            raise FlagError("one of --cosine_weight and --relation_weight must be above 0")
        if len(self.columns("text_columns")) > 1:
            raise FlagError(f"--text_columns: a student learns one text a row. Received {self.text_columns!r}")
