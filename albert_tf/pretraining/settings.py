"""Settings of a pre-training run, and of an evaluation of what it made."""

import dataclasses
from typing import Annotated, Any

from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.optimization.names import STABLE_DECAY
from albert_tf.pretraining.stages import Stages, make_stages, parse_schedule
from albert_tf.records.masking_rules import MASKINGS
from albert_tf.records.names import MAX_PREDICTIONS_PER_SEQ, MAX_SEQ_LENGTH, SENTENCE_TASKS
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, CountOrNone, Interval, OneOf, OnlyWith, Share, StrPath, check, described
from albert_tf.training.settings import AUTO, BACKEND_TEXT, BACKENDS, TrainingSettings

# The share of warm-up in a run whose steps are not known beforehand.
WARMUP_OF_PLANNED = 0.06
# Settings that say what others would, which then have no say.
IN_PLACE_OF = {"train_minutes": ("num_train_steps", "num_warmup_steps"), "warmup_proportion": ("num_warmup_steps",)}
# An excerpt has [CLS], two times [SEP], and a few words on either side.
_SHORTEST = 8
_LONGEST_NGRAM = 20


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingSettings(TrainingSettings):
    """Settings of a pre-training run; their names are those of the flags of run_pretraining."""

    albert_config_file: Annotated[StrPath, "JSON file with the model's shape."]
    input_file: Annotated[StrPath, "Records to train on: comma-separated paths and globs."]
    eval_input_file: Annotated[StrPath | None, "Records to evaluate on; left out: those of --input_file."] = None
    spm_model_file: Annotated[
        StrPath | None,
        "The records' vocabulary (.model), to keep a copy of; left out: the one near the records, by its hash.",
    ] = None
    init_embeddings: Annotated[StrPath | None, "Word embeddings to start from, of count_embeddings."] = None
    init_from_group0: Annotated[
        bool, OnlyWith("init_checkpoint"), "Start every group of layers from the checkpoint's first."
    ] = False
    init_output_bias: Annotated[bool, "Start the masked-LM bias from how frequent pieces are."] = False
    init_position_waves: Annotated[
        bool, "Start the position embeddings from sines and cosines, not from random numbers."
    ] = False
    max_seq_length: Annotated[Count, "Tokens of a record, padding included."] = MAX_SEQ_LENGTH
    max_predictions_per_seq: Annotated[Count, "Masked positions of a record, padding included."] = (
        MAX_PREDICTIONS_PER_SEQ
    )
    train_batch_size: Annotated[int, OnlyWith("batch_schedule", None)] = 4096
    eval_batch_size: int = 64
    optimizer: str = "lamb"
    learning_rate: float = 0.00176
    muon_rate: Annotated[
        float,
        Interval("(0, 1e6)"),
        OnlyWith("optimizer", "muon"),
        "With --optimizer=muon: the matrices' rate, times --learning_rate.",
    ] = 20.0
    sentence_head_rate: Annotated[
        float,
        Interval("(0, 1e3)"),
        "Rate of the pooler and the sentence-order head, times --learning_rate.",
    ] = 1.0
    num_train_steps: int = 125_000
    num_warmup_steps: int = 3125
    warmup_proportion: Annotated[Share | None, "Share of warm-up in all steps, for --num_warmup_steps."] = None
    train_minutes: Annotated[float | None, Interval("(0, 1e6)"), "Minutes that the run has; for --num_train_steps."] = (
        None
    )
    save_checkpoints_steps: int = 5000
    max_eval_steps: Annotated[Count, "Most batches of an evaluation."] = 100
    sentence_task: Annotated[
        str | None,
        OneOf(*SENTENCE_TASKS),
        "What the sentence labels mean; left out: what the records' manifest says. none leaves their loss out.",
    ] = None
    masking: Annotated[str | None, OneOf(*MASKINGS), "Of which kind the records must be; left out: they say it."] = None
    length_schedule: Annotated[
        str | None,
        "Tokens of an example, by shares of the steps: 32:0.5,128:0.5; shorter examples come in larger batches.",
    ] = None
    batch_schedule: Annotated[
        str | None, "Examples of a step at --max_seq_length, by shares of the steps: 16:0.1,64:0.9."
    ] = None
    masked_lm_prob: Annotated[
        str | None, "Share of the tokens to mask, for the run or by shares of the steps: 0.3:0.7,0.15:0.3."
    ] = None
    ngram: Annotated[
        str | None, "Longest run of words masked at once, for the run or by shares of the steps: 1:0.5,3:0.5."
    ] = None
    pack_sequences: Annotated[
        bool, "Fill each of the --train_batch_size rows of a step with as many examples as it has room for."
    ] = False
    batch_halves: Annotated[
        str,
        OneOf(AUTO, "true", "false"),
        "Compute the two halves of a batch side by side; auto: of a small model on two cores, a thread an operation.",
    ] = AUTO
    hidden_dropout_prob: Annotated[
        Share | None, "Dropout in the encoder; left out: as the run had it, in a new run the config."
    ] = None
    attention_probs_dropout_prob: Annotated[Share | None, "Dropout of attention; left out: likewise."] = None

    @property
    def first_weights(self) -> StrPath | None:
        """--init_checkpoint or --init_embeddings, if either is given."""
        return self.init_embeddings if self.init_checkpoint is None else self.init_checkpoint

    def __post_init__(self) -> None:
        # Some are computed with before those of every run are checked.
        check(self)
        if self.train_minutes is not None and self.warmup_proportion is None:
            object.__setattr__(self, "warmup_proportion", WARMUP_OF_PLANNED)
        if self.warmup_proportion is not None:
            object.__setattr__(self, "num_warmup_steps", self._warmup_of_share(self.warmup_proportion))
        super().__post_init__()
        self.check_schedule(self.num_train_steps, self.num_warmup_steps)
        self._check_stages()
        if self.init_checkpoint is not None and self.init_embeddings is not None:
            raise FlagError("give --init_checkpoint, which has embeddings of its own, or --init_embeddings, not both")
        for name in ("init_output_bias", "init_position_waves"):
            if self.init_checkpoint is not None and getattr(self, name):
                raise FlagError(f"give --init_checkpoint, which has all weights, or --{name}, not both")
        if self.batch_halves == "true":
            self._check_halves()
        if not self.do_train and not self.do_eval:
            raise FlagError("at least one of --do_train and --do_eval must be true")

    def _warmup_of_share(self, share: float) -> int:
        found = round(self.num_train_steps * share)
        if self.learning_rate_schedule != STABLE_DECAY or share + self.decay_proportion > 1 + 1e-9:
            return found
        # Two shares that fill the run may both be rounded up.
        return max(0, min(found, self.num_train_steps - self.num_decay_steps))

    @property
    def stages(self) -> Stages:
        """The stages of the run."""
        schedules = ("length_schedule", int), ("batch_schedule", int), ("masked_lm_prob", float), ("ngram", int)
        parsed: list[Any] = [parse_schedule(name, getattr(self, name), kind) for name, kind in schedules]
        return make_stages(self.num_train_steps, self.train_batch_size, self.max_seq_length, *parsed)

    def to_flags(self) -> str:
        """The flags by which run_pretraining would have these settings, as a flag file has them."""
        replaced = [name for one, names in IN_PLACE_OF.items() if getattr(self, one) is not None for name in names]
        return self.own_flags(but=replaced)

    def _check_halves(self) -> None:
        for name, usual in (("gradient_accumulation_steps", 1), ("jit_compile", AUTO), ("backend", None)):
            if getattr(self, name) not in (usual, "false", "tensorflow"):
                raise FlagError(f"--batch_halves and --{name}={getattr(self, name)} do not go together")
        for stage in self.stages:
            if stage.batch_size % 2:
                length = stage.reading.seq_length or self.max_seq_length
                raise FlagError(
                    f"--batch_halves: a batch of {stage.batch_size} examples of {length} pieces has no halves; give an "
                    "even number"
                )

    def _check_stages(self) -> None:
        for stage in self.stages:
            reading = stage.reading
            if reading.seq_length is not None and not _SHORTEST <= reading.seq_length <= self.max_seq_length:
                raise FlagError(
                    f"--length_schedule: lengths lie between {_SHORTEST} and --max_seq_length={self.max_seq_length}. "
                    f"Received {reading.seq_length}."
                )
            if reading.masked_lm_prob is not None and reading.masked_lm_prob >= 1:
                raise FlagError(f"--masked_lm_prob must lie below 1. Received {reading.masked_lm_prob:g}.")
            if reading.ngram is not None and reading.ngram > _LONGEST_NGRAM:
                raise FlagError(f"--ngram must be at most {_LONGEST_NGRAM}. Received {reading.ngram}.")

    @property
    def num_decay_steps(self) -> int:
        """Steps in which a stable rate decays."""
        return self.decay_steps_for(self.num_train_steps)


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation; their names are those of the flags of run_evaluation."""

    input_file: Annotated[StrPath, "Records to evaluate on: comma-separated paths and globs."]
    output_dir: Annotated[StrPath | None, "A run's folder: its best checkpoint, else its newest."] = None
    init_checkpoint: Annotated[
        StrPath | None, "A checkpoint, ours, another format's, or hf:// or official://, instead."
    ] = None
    albert_config_file: Annotated[StrPath | None, "The model's shape; left out: the file beside the weights."] = None
    eval_batch_size: Annotated[Count, "Examples of a step."] = PretrainingSettings.eval_batch_size
    max_eval_steps: Annotated[CountOrNone, "Most batches; 0 reads all records."] = 0
    output_file: Annotated[StrPath | None, "Where the figures also go, as JSON."] = None
    across_sentence_tasks: Annotated[
        bool, "Score the head trained on one sentence task on records of the other too: sop for nsp, nsp for sop."
    ] = False
    precision: Annotated[str, OneOf(*DTYPE_POLICIES), "Of the computations."] = "float32"
    backend: Annotated[str | None, OneOf(*BACKENDS), BACKEND_TEXT] = None

    def __post_init__(self) -> None:
        check(self)
        if (self.output_dir is None) == (self.init_checkpoint is None):
            raise FlagError("give one of --output_dir (of a run) and --init_checkpoint")
