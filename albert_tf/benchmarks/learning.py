"""Measures what is learned in a given time, or from a number of tokens: recipes side by side, on one held-out set.

A recipe is a flag file of run_pretraining, with everything but --output_dir, --random_seed and the length of the run.
Each is trained for each budget and seed, as a user would train it, and every checkpoint of it is measured on the same
records, whose masks stand in them. Results are kept; what was measured before is not done again.

python -m albert_tf.benchmarks.learning --recipes=adamw.flags,muon.flags --minutes=5,15 --seeds=1,2,3 \\
    --heldout_file='heldout-*' --output_dir=learning
"""

import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from absl import flags, logging

from albert_tf.analysis.pyplot import import_pyplot
from albert_tf.records.manifest import find_record_files
from albert_tf.runtime import command
from albert_tf.runtime.digests import digest_of_files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow

RESULTS_NAME, TABLE_NAME, PICTURE_NAME = "results.jsonl", "learning.md", "learning.png"
MEASURES = ("masked_lm_loss", "masked_lm_accuracy", "sentence_order_accuracy")
_HEADER = ("recipe", "budget", "seeds", "tokens", "minutes", "masked LM, nats", "masked LM", "sentence order")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("recipes", None, "Flag files of run_pretraining.", **fv)
    flags.DEFINE_string("heldout_file", None, "Records that every checkpoint is measured on.", **fv)
    flags.DEFINE_list("minutes", [], "Budgets: minutes of a run on this machine, its start included.", **fv)
    flags.DEFINE_list("tokens", [], "Budgets: tokens of a run, padding included; 1e8 for a hundred million.", **fv)
    flags.DEFINE_list("seeds", ["1"], "Seeds of weights, order, masks and dropout.", **fv)
    flags.DEFINE_string("output_dir", None, "Where runs, results, table and picture go.", **fv)


def _flags_of(recipe: str) -> list[str]:
    """The flags of a recipe, --name=value, those of the flag files that it names among them."""
    try:
        return flags.FlagValues().read_flags_from_files([f"--flagfile={recipe}"])
    except flags.Error as error:
        raise InputError(f"{recipe}: {' '.join(str(error).split())}") from None


def _tokens_a_step(recipe: str) -> int:
    """Number of tokens of a batch, padding included, as the recipe says."""
    given = dict(re.findall(r"^--?(\w+)=(.*)", "\n".join(_flags_of(recipe)), flags=re.MULTILINE))
    if "batch_schedule" in given:
        raise InputError(f"{recipe}: --batch_schedule: the steps are of different sizes; give one --train_batch_size")
    try:
        return int(given["train_batch_size"]) * int(given["max_seq_length"])
    except (KeyError, ValueError):
        raise InputError(f"{recipe}: give --train_batch_size and --max_seq_length, as numbers, in the recipe") from None


def _train(recipe: str, budget: dict[str, float], seed: int, folder: str) -> float:
    """Trains, and returns the seconds since the epoch at which the run began."""
    arguments = [sys.executable, "-m", "albert_tf.run_pretraining", f"--flagfile={recipe}", f"--output_dir={folder}"]
    arguments += [f"--random_seed={seed}", "--keep_checkpoint_max=0"]
    if "minutes" in budget:
        arguments.append(f"--train_minutes={budget['minutes']:g}")
    else:
        steps = max(1, round(budget["tokens"] / _tokens_a_step(recipe)))
        arguments.append(f"--num_train_steps={steps}")
    began = time.time()
    done = subprocess.run(arguments, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise InputError(f"{recipe}: run_pretraining ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return began


def _measure(folder: str, began: float, tokens_a_step: int, heldout: str) -> Iterator[dict[str, Any]]:
    """The figures of every checkpoint of a run, first to last."""
    from albert_tf.checkpoints.checkpoint_state import STATE_NAME
    from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_state
    from albert_tf.pretraining.evaluation import evaluate_checkpoint
    from albert_tf.pretraining.settings import EvaluationSettings

    for checkpoint in CheckpointFolder(folder).all():
        found = evaluate_checkpoint(EvaluationSettings(input_file=heldout, init_checkpoint=checkpoint))
        state = read_state(checkpoint)
        yield {
            "step": state.step,
            "tokens": state.step * tokens_a_step,
            "minutes": (os.path.getmtime(os.path.join(checkpoint, STATE_NAME)) - began) / 60,
            **{name: found[name] for name in MEASURES if name in found},
        }


def _describe(budget: dict[str, float]) -> str:
    ((unit, amount),) = budget.items()
    return f"{amount:g} {unit}"


def read_results(output_dir: str) -> list[dict[str, Any]]:
    """The runs that were measured before, one for each line of RESULTS_NAME."""
    path = os.path.join(output_dir, RESULTS_NAME)
    if not os.path.exists(path):
        return []
    results = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                results.append(json.loads(line))
            except ValueError:
                raise InputError(f"{path}: line {number} was cut off; remove it, and the run is done again") from None
    return results


def identity_of(heldout: str, recipe: str | None = None) -> dict[str, str]:
    """Digests of what a result depends on: the held-out records, and the recipe if it is a file."""
    of_flags = digest_of_files([] if recipe is None else [recipe])
    if recipe is not None and _names_others(recipe):
        of_flags = hashlib.sha256(to_json([of_flags, *_flags_of(recipe)]).encode()).hexdigest()
    return {"heldout": digest_of_files(find_record_files(heldout, "heldout_file")), "flags": of_flags}


def _names_others(recipe: str) -> bool:
    with open(recipe, encoding="utf-8") as file:
        return any(re.match(r"--?flagfile\b", line) for line in file)


def check_identity(results: list[dict[str, Any]], recipe: str, identity: dict[str, str], output_dir: str) -> None:
    """Refuses to put results side by side that were measured on other records, or a recipe that has changed since.

    Raises:
        InputError: one line that says what has changed, and what to do.
    """
    advice = "give another --output_dir"
    for result in results:
        # Earlier results do not say.
        theirs = result.get("identity", identity)
        if theirs["heldout"] != identity["heldout"]:
            raise InputError(f"{output_dir} has results on other held-out records than --heldout_file; {advice}")
        if result["recipe"] == recipe and theirs["flags"] != identity["flags"]:
            raise InputError(f"{output_dir} has results of {recipe} with other flags; rename the recipe, or {advice}")


def is_done(results: list[dict[str, Any]], recipe: str, budget: dict[str, float], seed: int) -> bool:
    """Tells whether a run was measured before."""
    return any((result["recipe"], result["budget"], result["seed"]) == (recipe, budget, seed) for result in results)


def folder_of(output_dir: str, recipe: str, budget: dict[str, float], seed: int) -> str:
    """Output folder of a run."""
    return os.path.join(output_dir, f"{recipe}-{_describe(budget).replace(' ', '-')}-{seed}")


def keep_result(result: dict[str, Any], output_dir: str) -> None:
    """Adds a run that was measured to RESULTS_NAME."""
    with open(os.path.join(output_dir, RESULTS_NAME), "a", encoding="utf-8") as file:
        file.write(to_json(result) + "\n")
    told = result["recipe"], _describe(result["budget"]), result["seed"], to_json(result["checkpoints"][-1])
    logging.info("%s, %s, seed %d: %s", *told)


def describe_machine() -> str:
    """The kind of processor, and how many cores."""
    return f"{platform.machine()}, {os.cpu_count()} cores"


def format_table(results: list[dict[str, Any]]) -> str:
    """The last checkpoints' figures, medians over the seeds, as a Markdown table."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((_describe(result["budget"]), result["recipe"]), []).append(result["checkpoints"][-1])
    lines = ["| " + " | ".join(_HEADER) + " |", "|" + "---|" * len(_HEADER)]
    for (budget, recipe), last in groups.items():

        def median(name, last=last):
            values = [one[name] for one in last if name in one]
            return statistics.median(values) if values else None

        shown = [f"{median('tokens'):.3g}", f"{median('minutes'):.1f}", f"{median('masked_lm_loss'):.3f}"]
        for name in MEASURES[1:]:
            value = median(name)
            shown.append("-" if value is None else f"{value:.1%}")
        lines.append("| " + " | ".join([recipe, budget, str(len(last)), *shown]) + " |")
    return "\n".join(lines) + "\n"


def draw(results: list[dict[str, Any]], path: str) -> None:
    """Masked-LM loss and accuracy and sentence order against minutes and against tokens, a line for each run."""
    pyplot = import_pyplot()
    figure, axes = pyplot.subplots(len(MEASURES), 2, figsize=(11, 11), constrained_layout=True)
    recipes = list(dict.fromkeys(result["recipe"] for result in results))
    for row, measure in zip(axes, MEASURES, strict=True):
        for axis, against in zip(row, ("minutes", "tokens"), strict=True):
            for result in results:
                points = [(one[against], one[measure]) for one in result["checkpoints"] if measure in one]
                if points:
                    color = f"C{recipes.index(result['recipe']) % 10}"
                    axis.plot(*zip(*points, strict=True), color=color, marker=".", linewidth=1)
            axis.set(xlabel=against, ylabel=measure.replace("_", " "))
            axis.grid(alpha=0.3)
    for at, recipe in enumerate(recipes):
        axes[0][0].plot([], [], color=f"C{at % 10}", label=recipe)
    axes[0][0].legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def write_report(results: list[dict[str, Any]], output_dir: str) -> None:
    """Writes the table and the picture, and prints the table."""
    table = format_table(results)
    with open(os.path.join(output_dir, TABLE_NAME), "w", encoding="utf-8") as file:
        file.write(table)
    draw(results, os.path.join(output_dir, PICTURE_NAME))
    print(table, end="")  # noqa: T201


def positive_number(flag: str, text: str) -> float:
    """One of the numbers of a flag; InputError if it is not positive."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"--{flag} must be positive numbers, separated by commas. Received {text!r}.")
    return value


def _budgets(given: flags.FlagValues) -> list[dict[str, float]]:
    found = [{unit: positive_number(unit, text)} for unit in ("minutes", "tokens") for text in given[unit].value]
    if not found:
        raise FlagError("give --minutes or --tokens")
    return found


def _check_recipes(recipes: list[str]) -> None:
    """Checks that each is there, gives the tokens of a step, and has its own name, by which its results are kept."""
    for recipe in recipes:
        _tokens_a_step(recipe)
    names = [os.path.splitext(os.path.basename(recipe))[0] for recipe in recipes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"--recipes: two flag files are named {twice[0]}; results are kept by that name")


def _run() -> None:
    given = flags.FLAGS
    budgets, seeds = _budgets(given), [int(positive_number("seeds", value)) for value in given.seeds]
    _check_recipes(given.recipes)
    # Before hours of training, not after them.
    import_pyplot()
    import_tensorflow()
    os.makedirs(given.output_dir, exist_ok=True)
    results = read_results(given.output_dir)
    identities = {}
    for recipe in given.recipes:
        name = os.path.splitext(os.path.basename(recipe))[0]
        identities[name] = identity_of(given.heldout_file, recipe)
        check_identity(results, name, identities[name], given.output_dir)
    for budget in budgets:
        for seed in seeds:
            # Recipes next to each other, as a machine is not as fast all day.
            for recipe in given.recipes:
                name = os.path.splitext(os.path.basename(recipe))[0]
                if is_done(results, name, budget, seed):
                    continue
                folder = folder_of(given.output_dir, name, budget, seed)
                # Of one that was cut off nobody knows how long it took.
                shutil.rmtree(folder, ignore_errors=True)
                began = _train(recipe, budget, seed, folder)
                result = {
                    "recipe": name,
                    "budget": budget,
                    "seed": seed,
                    "machine": describe_machine(),
                    "identity": identities[name],
                    "checkpoints": list(_measure(folder, began, _tokens_a_step(recipe), given.heldout_file)),
                }
                keep_result(result, given.output_dir)
                results.append(result)
    write_report(results, given.output_dir)


main = command.entry_point(__name__, _run, required=("recipes", "heldout_file", "output_dir"))

if __name__ == "__main__":
    main()
