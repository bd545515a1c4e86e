"""Scores and times a model with early exit by its exports, beside all layers.

python -m albert_tf.benchmarks.exit_speed --init_checkpoint=runs/mrpc --data_dir=glue/MRPC

Every export is opened and asked as a user would, from texts to answers. Scores are of the whole dev split; times of its
first texts, in batches of each size, export by export in turns: the median of the rounds. Prints one JSON line, and a
Markdown table to keep.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags

from albert_tf.benchmarks.compare_peers import append_tables
from albert_tf.benchmarks.export_scores import dev_split
from albert_tf.benchmarks.measure import process_seconds
from albert_tf.checkpoints.task_fields import TEXT, TEXT_PAIR
from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving.row_flags import import_for

_FORMS = ("saved_model_float32", "onnx_float32", "onnx_int8")
_ALL, _CHOSEN = "all", "chosen"
_SCORED_TOGETHER = 32
_CLOCKS = {"wall": time.monotonic, "processor": process_seconds}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("init_checkpoint", None, "A run of a classification with --early_exit.", **fv)
    flags.DEFINE_string("data_dir", None, "Folder with the files of its task.", **fv)
    flags.DEFINE_list("forms", list(_FORMS), "Formats and precisions.", **fv)
    rules = "chosen (by dev), patience=N or exit_confidence=P, with or without +min_layers=N, num_layers=N."
    flags.DEFINE_list("rules", [_CHOSEN], rules, **fv)
    flags.DEFINE_list("batch_sizes", ["1", "32"], "Texts that are asked together.", **fv)
    flags.DEFINE_integer("texts", 256, "Texts that are timed.", lower_bound=1, **fv)
    flags.DEFINE_integer("rounds", 3, "Turns of each export.", lower_bound=1, **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the table to.", **fv)


def _depth(rule: str):
    """The settings of a rule's export."""
    from albert_tf.exports.depth import DepthSettings

    if rule == _ALL:
        return DepthSettings()
    if rule == _CHOSEN:
        return DepthSettings(early_exit=True)
    kinds: Mapping[str, Any] = {"patience": int, "exit_confidence": float, "num_layers": int, "min_layers": int}
    parts = [part.partition("=") for part in rule.split("+")]
    try:
        return DepthSettings(**{name: kinds[name](value) for name, _, value in parts})
    except (KeyError, ValueError):
        raise FlagError(
            f"--rules: {rule!r} is none of {_CHOSEN}, {', '.join(f'{kind}=...' for kind in kinds)}"
        ) from None


def _answer(predictor: Any, examples: Sequence[Mapping[str, str]], batch_size: int) -> list[dict[str, Any]]:
    found = []
    for begin in range(0, len(examples), batch_size):
        found += predictor.predict(examples[begin : begin + batch_size])
    return found


def _score(answers: Sequence[Mapping[str, Any]], labels: Sequence[str], num_layers: int) -> dict[str, float]:
    """The share of right answers, and the mean number of layers."""
    right = [answer["label"] == label for answer, label in zip(answers, labels, strict=True)]
    layers = [answer.get("layers", num_layers) for answer in answers]
    return {"accuracy": statistics.fmean(right), "layers": statistics.fmean(layers)}


def _time(predictors: Mapping[str, Any], examples, batch_size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of a text by rule and clock, the median of the rounds."""
    turns: dict[str, list[dict[str, float]]] = {rule: [] for rule in predictors}
    for number in range(rounds + 1):
        for rule, predictor in predictors.items():
            begin = {name: clock() for name, clock in _CLOCKS.items()}
            _answer(predictor, examples, batch_size)
            took = {name: 1000 * (clock() - begin[name]) / len(examples) for name, clock in _CLOCKS.items()}
            # The first turn compiles for the lengths that there are.
            turns[rule] += [took] if number else []
    return {
        rule: {name: statistics.median(turn[name] for turn in of_rule) for name in _CLOCKS}
        for rule, of_rule in turns.items()
    }


def format_table(results: Mapping[str, Mapping[str, Mapping[str, Any]]], batch_sizes: Sequence[int]) -> str:
    """A Markdown table: of each form and rule what is right, layers, and times with how many times as fast they are.

    Args:
        results: figures by form and rule, that of all layers first.
        batch_sizes: that were timed.
    """
    heads = [f"batch {size}, ms{clock}" for size in batch_sizes for clock in ("", " of processor")]
    lines = ["| | accuracy | layers | " + " | ".join(heads) + " |", "|---" * (3 + len(heads)) + "|"]
    for form, rules in results.items():
        first = rules[_ALL]
        for rule, found in rules.items():
            cells = []
            for size in batch_sizes:
                for clock in _CLOCKS:
                    ours, all_layers = found[f"batch_{size}"][clock], first[f"batch_{size}"][clock]
                    cells.append(f"{ours:.2f}" + ("" if rule == _ALL else f" ({all_layers / ours:.2f} times)"))
            name = f"{form.replace('_', ' ')}, {rule}"
            lines.append(f"| {name} | {found['accuracy']:.4f} | {found['layers']:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _export(form: str, depths: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The exports of a form, one for each rule, opened."""
    from albert_tf.portable.export import export_model
    from albert_tf.portable.settings import ModelExportSettings
    from albert_tf.serving.predictor import Predictor

    format_name, _, precision = form.rpartition("_")
    opened = {}
    for rule, depth in depths.items():
        output_dir = os.path.join(folder, f"{form}-{rule}")
        with quiet_stderr():
            export_model(
                ModelExportSettings(
                    init_checkpoint=flags.FLAGS.init_checkpoint,
                    output_dir=output_dir,
                    format=format_name,
                    precision=precision,
                    **depth.given,
                )
            )
        opened[rule] = Predictor(output_dir)
    return opened


def _run() -> None:
    command.require_flags("init_checkpoint", "data_dir")
    import_for(flags.FLAGS.init_checkpoint)
    from albert_tf.conversion.pretrained import open_checkpoint

    given = flags.FLAGS
    depths = {rule: _depth(rule) for rule in (_ALL, *given.rules)}
    if not all(size.isdecimal() and int(size) for size in given.batch_sizes):
        raise FlagError(f"--batch_sizes must be whole numbers from 1. Received {','.join(given.batch_sizes)!r}")
    batch_sizes = [int(size) for size in given.batch_sizes]
    results: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        task, _, split = dev_split(given.init_checkpoint, given.data_dir, os.path.join(folder, "data"))
        if task.head != "classification":
            raise InputError(f"--init_checkpoint={given.init_checkpoint}: {task.name} is no classification")
        texts = [{TEXT: one.first, **({TEXT_PAIR: one.second} if one.second else {})} for one in split.examples]
        labels = [task.labels[one.label] for one in split.examples]
        num_layers = open_checkpoint(given.init_checkpoint)[1].config.num_hidden_layers
        for form in given.forms:
            opened = _export(form, depths, folder)
            found: dict[str, dict[str, Any]] = {
                rule: _score(_answer(one, texts, _SCORED_TOGETHER), labels, depths[rule].num_layers or num_layers)
                for rule, one in opened.items()
            }
            for size in batch_sizes:
                for rule, times in _time(opened, texts[: given.texts], size, given.rounds).items():
                    found[rule][f"batch_{size}"] = times
            results[form] = found
    if given.output_file is not None:
        append_tables(given.output_file, [format_table(results, batch_sizes)])
    print(to_json({"benchmark": "exit_speed", "task": task.name, **results}))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
