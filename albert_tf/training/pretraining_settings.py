"""What a pre-training run is told."""

import dataclasses
import typing

from albert_tf.errors import InputError
from albert_tf.training.training_settings import TrainingSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingSettings(TrainingSettings):
    """The flags of run_pretraining; see there for what each means."""

    COUNTS: typing.ClassVar[tuple[str, ...]] = (
        *TrainingSettings.COUNTS,
        *("max_eval_steps", "max_seq_length", "max_predictions_per_seq"),
    )

    albert_config_file: str
    input_file: str
    eval_input_file: str | None = None
    spm_model_file: str | None = None
    init_embeddings: str | None = None
    init_from_group0: bool = False
    max_seq_length: int = 512
    max_predictions_per_seq: int = 20
    train_batch_size: int = 4096
    eval_batch_size: int = 64
    optimizer: str = "lamb"
    learning_rate: float = 0.00176
    num_train_steps: int = 125_000
    num_warmup_steps: int = 3125
    save_checkpoints_steps: int = 5000
    max_eval_steps: int = 100
    sentence_task: str | None = None
    masking: str | None = None

    @property
    def first_weights(self):
        """--init_checkpoint or --init_embeddings, if either is given."""
        return self.init_embeddings if self.init_checkpoint is None else self.init_checkpoint

    def __post_init__(self):
        super().__post_init__()
        if self.init_checkpoint is not None and self.init_embeddings is not None:
            raise InputError("give --init_checkpoint, which has embeddings of its own, or --init_embeddings, not both")
        if not self.do_train and not self.do_eval:
            raise InputError("at least one of --do_train and --do_eval must be true")
