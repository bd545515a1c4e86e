"""The steps of an experiment: records, pre-training, evaluations and fine-tuning of every row and seed."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.experiments.command_lines import (
    EMBEDDINGS,
    EVALUATION,
    FINETUNING,
    PRETRAINING,
    READING,
    RECORDS,
    names_of,
)
from albert_tf.experiments.corpus import Corpus, corpus_of_row
from albert_tf.experiments.experiment import MASKED_LM, NEXT_SENTENCE, Experiment
from albert_tf.experiments.fields import as_path
from albert_tf.experiments.row import Row
from albert_tf.experiments.steps import Given, Made, Own, Step, Written
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import shipped_files
from albert_tf.runtime.errors import InputError
from albert_tf.training.flops import train_step_flops

_RECORDS, _RECORDS_RESULT = "records.tfrecord", "records.tfrecord.manifest.json"
_EMBEDDINGS_RESULT, _EVALUATION_RESULT = "embeddings.npz", "evaluation.json"
_MODEL, _PRETRAINING_RESULT, _FINETUNING_RESULT = "model", "model/train_log.jsonl", "model/results.json"
_CHECKPOINTS = "model/checkpoint-*"
# How long a row's examples are: held-out ones are of that length too.
_LENGTHS = ("max_seq_length", "max_predictions_per_seq")
# Flags of pre-training, evaluation and fine-tuning that name files or folders; a config may be a shipped one.
_CONFIG = "albert_config_file"
_PATHS = ("init_checkpoint", "teacher", _CONFIG, "spm_model_file", "train_file", "dev_file", "test_file")
# Keys of a config in which a row may differ from the one whose weights it starts from.
_FREE = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob", "initializer_range")
# What the work of a step depends on; train_step_flops takes them in this order.
_SIZES = ("train_batch_size", *_LENGTHS)
# Single words, so that rows of different masks are asked the same.
_HELD_OUT_FLAGS = {"masked_lm_prob": 0.15, "ngram": 1, "dupe_factor": 1, "random_seed": 54321}


@dataclasses.dataclass(frozen=True)
class Unit:
    """A row with a seed: its steps.

    Attributes:
        row: of the experiment.
        seed: of pre-training.
        config: of the model.
        corpus: its text and vocabulary.
        pretraining: the step.
        evaluations: by sentence task of the records, "sop" and "nsp".
        finetuning: by (name of the task, seed of fine-tuning).
    """

    row: Row
    seed: int
    config: AlbertConfig
    corpus: Corpus
    pretraining: Step
    evaluations: Mapping[str, Step]
    finetuning: Mapping[tuple[str, int], Step]

    def steps(self) -> Iterator[Step]:
        """All of them, first things first; what several units need comes in each."""
        for step in (self.pretraining, *self.evaluations.values(), *self.finetuning.values()):
            yield from step.chain()

    def model_folder(self, output_dir: str) -> str:
        """The folder in which its pre-training leaves checkpoints and log."""
        return os.path.join(self.pretraining.folder(output_dir), _MODEL)

    def held_out(self, output_dir: str) -> str:
        """The records of its first evaluation."""
        made = next(iter(self.evaluations.values())).flags["input_file"]
        return os.path.join(made.step.folder(output_dir), made.name)

    def names(self) -> dict[str, str]:
        """The names of its steps for people, by their keys."""
        of = f"row {self.row.name}, seed {self.seed}"
        found = {made.key: f"row {self.row.name}: {made.kind}" for made in self.steps()}
        # The row's own comes below.
        found |= {key: f"{of}: {PRETRAINING} of a row before" for key in found if key.startswith(PRETRAINING)}
        found[self.pretraining.key] = f"{of}: {PRETRAINING}"
        found |= {step.key: f"{of}: {EVALUATION} on {task} records" for task, step in self.evaluations.items()}
        for (task, seed), step in self.finetuning.items():
            found[step.key] = f"{of}: {FINETUNING} on {task}, seed {seed}"
        return found


def held_out_tasks(experiment: Experiment) -> tuple[str, ...]:
    """The sentence tasks of the held-out records, sop first: every row is evaluated on each.

    A row that is trained without one has never seen a second segment, where half of the masked words of pairs are: then
    there are records of single segments too.
    """
    asked = experiment.evaluations
    others = [name for name in asked if name not in (MASKED_LM, NEXT_SENTENCE)]
    single = MASKED_LM in asked and any(row.records.get("sentence_task") == "none" for row in experiment.rows)
    wanted = {"sop": others or NEXT_SENTENCE not in asked, "nsp": NEXT_SENTENCE in asked, "none": single}
    return tuple(task for task, is_wanted in wanted.items() if is_wanted)


def make_units(experiment: Experiment, corpus: Corpus, data: Mapping[str, Given]) -> list[Unit]:
    """The rows with each seed, in the order of the file.

    Args:
        experiment: the file.
        corpus: text and vocabulary.
        data: the files and folders that `named_paths` finds, by their paths.

    Raises:
        InputError: a row's vocab_size is not the vocabulary's.
    """
    units: dict[tuple[str, int], Unit] = {}
    for row in experiment.rows:
        try:
            of_row = corpus_of_row(corpus, row)
        except InputError as error:
            raise InputError(f"{experiment.name}: row {row.name}: {error}") from None
        for seed in experiment.seeds:
            start = None if row.start_from is None else units[row.start_from, seed]
            units[row.name, seed] = _make_unit(experiment, of_row, data, row, seed, start)
    return list(units.values())


def named_paths(experiment: Experiment) -> dict[str, str]:
    """The paths of files and folders that the flags of an experiment name, and where each is first named.

    Raises:
        InputError: what such a flag has is no text.
    """
    flags = {
        **{f"row {row.name}: {PRETRAINING}": row.pretraining for row in experiment.rows},
        EVALUATION: experiment.evaluation,
        **{f"task {task.name}": task.flags for task in experiment.tasks},
    }
    found: dict[str, str] = {}
    for task in experiment.tasks:
        if task.data_dir is not None:
            found.setdefault(task.data_dir, f"{experiment.name}: task {task.name}: data_dir")
    for at, given in flags.items():
        for name in (name for name in _PATHS if name in given):
            where = f"{experiment.name}: {at}: {name}"
            found.setdefault(_path_of(name, as_path(given[name], where)), where)
    return found


def distinct(steps: Iterable[Step]) -> list[Step]:
    """The steps without repeats, in the order in which they come first."""
    return list({step.key: step for step in steps}.values())


def _make_unit(
    experiment: Experiment, corpus: Corpus, data: Mapping[str, Given], row: Row, seed: int, start: Unit | None
) -> Unit:
    where = f"{experiment.name}: row {row.name}"
    config = AlbertConfig.from_dict({"vocab_size": corpus.vocab_size, **row.config}, f"{where}: config")
    if config.vocab_size != corpus.vocab_size:
        raise InputError(
            f"{where}: config: vocab_size is {config.vocab_size}, "
            f"{corpus.name_of_vocabulary()} has {corpus.vocab_size} pieces; leave it out"
        )
    if start is not None:
        _check_start(f"{where}: start_from", start, config, corpus)
    pretraining = _pretraining(corpus, data, row, seed, config, None if start is None else start.pretraining)
    evaluation = _with_files(experiment.evaluation, data)
    evaluations = {
        task: _evaluation(pretraining, _held_out_records(experiment, corpus, row, task), evaluation)
        for task in held_out_tasks(experiment)
    }
    finetuning = {}
    for task in experiment.tasks:
        folder = {} if task.data_dir is None else {"data_dir": data[task.data_dir]}
        for task_seed in task.seeds:
            flags = {
                **{"task_name": task.task_name, **folder, "init_checkpoint": Made(pretraining, _MODEL)},
                **{"output_dir": Own(_MODEL), "do_train": True, "do_eval": True, "random_seed": task_seed},
                **_with_files(task.flags, data),
            }
            step = Step(FINETUNING, flags, _FINETUNING_RESULT)
            finetuning[task.name, task_seed] = step
    return Unit(row, seed, config, corpus, pretraining, evaluations, finetuning)


def _check_start(where: str, start: Unit, config: AlbertConfig, corpus: Corpus) -> None:
    """Refuses a row whose model, or whose vocabulary, is not that of the row that it starts from."""
    if start.corpus.vocabulary_key() != corpus.vocabulary_key():
        raise InputError(f"{where}: row {start.row.name} has another vocabulary, or the same of other text")
    theirs, ours = dataclasses.asdict(start.config), dataclasses.asdict(config)
    # The same parameters, applied more often or less.
    free = (*_FREE, "num_hidden_layers") if ours["parameter_sharing"] == "all" else _FREE
    other = [name for name in ours if ours[name] != theirs[name] and name not in free]
    if other:
        raise InputError(f"{where}: row {start.row.name} has another {', '.join(other)}")


def _pretraining(
    corpus: Corpus, data: Mapping[str, Given], row: Row, seed: int, config: AlbertConfig, start: Step | None
) -> Step:
    records = _records(corpus.train, corpus, row.records)
    flags: dict[str, Any] = {
        "albert_config_file": Written("albert_config.json", dataclasses.asdict(config)),
        "input_file": Made(records, _RECORDS),
        "output_dir": Own(_MODEL),
        "do_train": True,
        "random_seed": seed,
        "num_train_steps": row.num_train_steps,
    }
    if start is not None:
        flags["init_checkpoint"] = Made(start, _MODEL)
    if row.embeddings is not None:
        flags["init_embeddings"] = Made(_embeddings(corpus, row, config.embedding_size), _EMBEDDINGS_RESULT)
    sizes = [int(row.pretraining.get(name, getattr(PretrainingSettings, name))) for name in _SIZES]
    work = train_step_flops(config, *sizes) * row.num_train_steps
    # The records are of this vocabulary; the run keeps a copy, for fine-tuning.
    kept = {"spm_model_file": corpus.vocabulary}
    flags |= _with_files(row.pretraining, data)
    return Step(PRETRAINING, flags, _PRETRAINING_RESULT, work=float(work), fixed=kept, also=_CHECKPOINTS)


def _records(text: Given, corpus: Corpus, flags: Mapping[str, Any]) -> Step:
    files = {"input_file": text, "output_file": Own(_RECORDS), "spm_model_file": corpus.vocabulary}
    return Step(RECORDS, {**files, **flags}, _RECORDS_RESULT)


def _held_out_records(experiment: Experiment, corpus: Corpus, row: Row, task: str) -> Step:
    ours = names_of(row.records, (*READING, *_LENGTHS))
    return _records(corpus.held_out, corpus, {**_HELD_OUT_FLAGS, **ours, **experiment.held_out, "sentence_task": task})


def _embeddings(corpus: Corpus, row: Row, embedding_size: int) -> Step:
    files = {"input_file": corpus.train, "spm_model_file": corpus.vocabulary, "output_file": Own(_EMBEDDINGS_RESULT)}
    flags = {**names_of(row.records, READING), "embedding_size": embedding_size, **(row.embeddings or {})}
    return Step(EMBEDDINGS, {**files, **flags}, _EMBEDDINGS_RESULT, fixed={"overwrite": True})


def _evaluation(pretraining: Step, records: Step, more: Mapping[str, Any]) -> Step:
    flags = {
        "output_dir": Made(pretraining, _MODEL),
        "input_file": Made(records, _RECORDS),
        "output_file": Own(_EVALUATION_RESULT),
        "across_sentence_tasks": True,
    }
    return Step(EVALUATION, {**flags, **more}, _EVALUATION_RESULT, fixed={"overwrite": True})


def _with_files(flags: Mapping[str, Any], data: Mapping[str, Given]) -> dict[str, Any]:
    """The flags, those that name files with what is in them."""
    return {name: data.get(_path_of(name, value), value) if name in _PATHS else value for name, value in flags.items()}


def _path_of(name: str, value: str) -> str:
    return shipped_files.find(value, shipped_files.MODELS) if name == _CONFIG else value
