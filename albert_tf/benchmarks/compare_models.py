"""Models side by side by the same code: parameters, time of a training step, memory, what devices exchange.

The paper's comparison of ALBERT and BERT. Every model is a process of its own, and they take turns, as compare_peers
has it. Prints one JSON line, and a Markdown table to keep.
"""

import os
import sys

from absl import flags

from albert_tf.benchmarks.compare_peers import Contestant, append_tables, ratios_to, take_turns
from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json

MODELS = ("bert_large", "albert_large_v1", "bert_base", "albert_base_v1")
_BYTES_OF_A_GRADIENT = 4


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("models", list(MODELS), "Names of shipped configs, or files; the first is what all are to.", **fv)
    flags.DEFINE_integer("batch_size", 8, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", lower_bound=1, **fv)
    flags.DEFINE_enum("optimizer", "lamb", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_enum("precision", "float32", ("float32", "bfloat16"), "Of the matrix products.", **fv)
    flags.DEFINE_integer("rounds", 3, "Turns of each model.", lower_bound=1, **fv)
    flags.DEFINE_integer("steps", 1, "Steps of a turn.", lower_bound=1, **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the table to.", **fv)


def check(models: list[str], max_seq_length: int, max_predictions: int, output_file: str | None) -> None:
    """Refuses what no model would be measured of, before any is.

    Raises:
        InputError: one line that names the flag.
    """
    from albert_tf.config import AlbertConfig

    if not models or not all(models):
        raise FlagError("--models: give names of shipped configs, or files, separated by commas")
    if twice := sorted({model for model in models if models.count(model) > 1}):
        raise FlagError(f"--models: {twice[0]} stands there twice")
    for model in models:
        longest = AlbertConfig.from_json_file(model).max_position_embeddings
        if max_seq_length > longest:
            raise InputError(f"--max_seq_length={max_seq_length}: {model} has {longest} positions")
    if max_predictions > max_seq_length:
        raise FlagError(f"--max_predictions_per_seq={max_predictions} is more than --max_seq_length={max_seq_length}")
    if output_file is not None and os.path.isdir(output_file):
        raise InputError(f"--output_file={output_file} is a folder; name a file")


def count_parameters(model: str) -> int:
    """Trainable numbers of a model with its heads of pre-training."""
    from albert_tf.config import AlbertConfig
    from albert_tf.reports.model_parts import count_parts, count_pretraining_heads

    config = AlbertConfig.from_json_file(model)
    return sum(count_parts(config).values()) + sum(count_pretraining_heads(config).values())


def format_table(title: str, models: list[Contestant], parameters: dict[str, int], batch_size: int, steps: int) -> str:
    """A Markdown table: a row for each model, compared with the first of them; parameters by the models' names."""
    lines = [
        f"### {title}",
        "",
        "| | parameters | as few as | seconds a step | sequences/s | as fast as | peak memory | MB summed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    first = models[0]
    for one in models:
        if not one.takes_part:
            lines.append(f"| {one.name} | {one.start['skipped']} | | | | | | |")
            continue
        seconds = one.median("seconds") / steps
        count = parameters[one.name]
        fast = f"{1 / ratios_to(first, one, 'seconds'):.2f}" if first.takes_part else ""
        memory = max(turn["memory_mb"] for turn in one.turns)
        lines.append(
            f"| {one.name} | {count:,} | {parameters[first.name] / count:.1f} | {seconds:.2f} "
            f"| {batch_size / seconds:.2f} | {fast} | {memory:,.0f} MB | {count * _BYTES_OF_A_GRADIENT / 1e6:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def _run() -> None:
    given = flags.FLAGS
    check(given.models, given.max_seq_length, given.max_predictions_per_seq, given.output_file)
    names = ("batch_size", "max_seq_length", "max_predictions_per_seq", "optimizer", "precision")
    arguments = [f"--{name}={given[name].value}" for name in names]
    models, parameters = [], {}
    names = [os.path.basename(model).removesuffix(".json") for model in given.models]
    if len(set(names)) < len(names):
        # albert_config.json of two folders.
        names = list(given.models)
    for model, name in zip(given.models, names, strict=True):
        one = Contestant("albert_tf", [*arguments, f"--albert_config_file={model}"], sys.executable)
        one.name = name
        parameters[one.name] = count_parameters(model)
        models.append(one)
    take_turns(models, given.rounds, given.steps)
    if not any(one.takes_part for one in models):
        told = "; ".join(f"{one.name} {one.start['skipped']}" for one in models)
        raise InputError(f"--models: none was measured: {told}")
    title = (
        f"training, {given.precision}, S={given.max_seq_length} B={given.batch_size}, {given.optimizer}, "
        f"{given.rounds} rounds"
    )
    table = format_table(title, models, parameters, given.batch_size, given.steps)
    result = {"benchmark": "compare_models", "title": title}
    for one in models:
        result[one.name] = {"parameters": parameters[one.name], "start": one.start, "turns": one.turns}
    print(to_json(result), flush=True)  # noqa: T201
    if given.output_file is not None:
        append_tables(given.output_file, [table])


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
