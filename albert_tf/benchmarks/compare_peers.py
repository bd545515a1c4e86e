"""albert_tf beside Hugging Face (torch, eager and compiled) and keras-hub, in turns in one run: ratios of the medians.

Every contestant is a process of its own, prepared before the first turn; then they run one after the other, A B C
A B C, so that a change in the machine's load meets all of them. Prints one JSON line, and a Markdown table to keep.
"""

import concurrent.futures
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

from absl import flags

from albert_tf.runtime import command, files
from albert_tf.runtime.json_text import to_json

CONTESTANTS = ("albert_tf", "hugging_face", "hugging_face_compiled", "keras_hub")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_base_v2.json", "The model's shape.", **fv)
    tasks = "train: training steps; without gradients encode: encodings, classify: texts to one of two classes."
    flags.DEFINE_enum("task", "train", ("train", "encode", "classify"), tasks, **fv)
    who = "Who takes part; to train also albert_tf_jax and keras_hub_jax."
    flags.DEFINE_list("contestants", list(CONTESTANTS), who, **fv)
    flags.DEFINE_integer("batch_size", 16, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer(
        "shortest", None, "Tokens of the shortest sequence to encode; None: all have the most.", lower_bound=1, **fv
    )
    flags.DEFINE_string("optimizer", "adamw", "adamw or lamb; torch, which has no LAMB, always runs AdamW.", **fv)
    flags.DEFINE_enum("precision", "float32", ("float32", "bfloat16"), "Of the matrix products.", **fv)
    flags.DEFINE_integer("rounds", 7, "Turns of each contestant.", lower_bound=1, **fv)
    flags.DEFINE_integer("steps", 1, "Steps of a turn.", lower_bound=1, **fv)
    together = "Prepare all at the same time, and measure matrix products too: on a GPU, with processors to spare."
    flags.DEFINE_bool("prepare_together", False, together, **fv)
    flags.DEFINE_string("peer_python", None, "Python that has the peers; None: this one.", **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the table to.", **fv)


class Contestant:
    """A worker process and what it has measured.

    Args:
        name: one of CONTESTANTS.
        arguments: flags of benchmarks.worker.
        python: the interpreter to run it with.
        module: of albert_tf.benchmarks, the worker's.
    """

    def __init__(self, name: str, arguments: list[str], python: str, module: str = "worker"):
        self.name = name
        self.turns = []
        # Open for as long as the process is: closed by `close`.
        self._told = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [python, "-m", f"albert_tf.benchmarks.{module}", f"--contestant={name}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._told,
            text=True,
            # JAX would take most of a GPU's memory, which the others need too.
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        )
        self.start = self._answer()

    def _answer(self) -> dict:
        # A library may print lines of its own.
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        code = self._process.wait()
        self._told.seek(0)
        last = self._told.read().decode(errors="replace").strip().rpartition("\n")[2]
        return {"skipped": f"ended with exit code {code}: {last.replace('|', '/')[:200]}"}

    @property
    def takes_part(self) -> bool:
        """Tells whether its first repetition was done."""
        return "skipped" not in self.start

    def take_turn(self, task: int | str) -> None:
        """Has the worker do a line's task, which for `worker` is a number of steps, and keeps what it took.

        One that has ended, as when there was no memory left, takes part no longer.
        """
        # That it has ended is its answer.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{task}\n")
            self._process.stdin.flush()
        answer = self._answer()
        if "skipped" in answer:
            self.start = answer
        else:
            self.turns.append(answer)

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._told.close()

    def median(self, key: str) -> float:
        """The median over the turns."""
        return statistics.median(turn[key] for turn in self.turns)


def take_turns(contestants: list[Contestant], rounds: int, steps: int) -> None:
    """Has those that take part run one after the other, A B C A B C, and ends them."""
    for _ in range(rounds):
        for one in contestants:
            if one.takes_part:
                one.take_turn(steps)
    for one in contestants:
        one.close()


def ratios_to(reference: Contestant, other: Contestant, key: str) -> float:
    """Ratio of the time of `other` to that of `reference`: the median over the rounds of the ratio in a round."""
    return statistics.median(theirs[key] / ours[key] for ours, theirs in zip(reference.turns, other.turns, strict=True))


def format_table(title: str, contestants: list[Contestant], sequences: int, gflop: float) -> str:
    """A Markdown table: a row for each contestant, compared with the first of those that take part."""
    lines = [
        f"### {title}",
        "",
        "| | sequences/s | model GFLOP/s | first is faster by | by processor time | peak memory | first step after |",
        "|---|---|---|---|---|---|---|",
    ]
    first = next((one for one in contestants if one.takes_part), None)
    # By how much of what matrix products reach the work is done, where that was measured.
    products = max((one.start.get("products_gflops", 0.0) for one in contestants), default=0.0)
    for one in contestants:
        if not one.takes_part:
            lines.append(f"| {one.name} | {one.start['skipped']} | | | | | |")
            continue
        seconds = one.median("seconds")
        ratios = [f"{ratios_to(first, one, key):.2f}" for key in ("seconds", "processor_seconds")]
        memory = max(turn["memory_mb"] for turn in one.turns)
        share = f" ({gflop / seconds / products:.1%} of {products:.0f})" if products else ""
        lines.append(
            f"| {one.name} | {sequences / seconds:.2f} | {gflop / seconds:.0f}{share} | {ratios[0]} | {ratios[1]} "
            f"| {memory:.0f} MB | {one.start['ready']:.0f} s |"
        )
    return "\n".join(lines) + "\n"


def append_tables(path: str, tables: list[str]) -> None:
    """Puts tables at the end of a Markdown file, which is made if it is not there."""
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read() + "\n"
    with files.replace_file(path) as file:
        file.write((text + "\n".join(tables)).encode())


def _model_gflop(given) -> float:
    from albert_tf.config import AlbertConfig
    from albert_tf.training.flops import train_step_flops

    config = AlbertConfig.from_json_file(given.albert_config_file)
    predictions = given.max_predictions_per_seq if given.task == "train" else 0
    # Padding counts as if it were computed: work not done shows as a gain.
    flops = train_step_flops(config, given.batch_size, given.max_seq_length, predictions) / 1e9
    return flops if given.task == "train" else flops / 3


def _run() -> None:
    given = flags.FLAGS
    names = (
        "task",
        "albert_config_file",
        "batch_size",
        "max_seq_length",
        "max_predictions_per_seq",
        "optimizer",
        "precision",
    )
    arguments = [f"--{name}={given[name].value}" for name in names]
    arguments += [f"--shortest={given.shortest}"] if given.shortest else []
    python = given.peer_python or sys.executable

    def prepare(name: str) -> Contestant:
        ours = name.startswith("albert_tf")
        more = ["--measure_products"] if ours and given.prepare_together else []
        return Contestant(name, arguments + more, sys.executable if ours else python)

    with concurrent.futures.ThreadPoolExecutor(len(given.contestants) if given.prepare_together else 1) as threads:
        contestants = list(threads.map(prepare, given.contestants))
    take_turns(contestants, given.rounds, given.steps)
    lengths = f"{given.shortest} to {given.max_seq_length}" if given.shortest else given.max_seq_length
    title = (
        f"{given.task}, {given.precision}, S={lengths} B={given.batch_size}, "
        f"{given.optimizer if given.task == 'train' else 'no gradients'}, {given.rounds} rounds"
    )
    gflop = _model_gflop(given) * given.steps
    table = format_table(title, contestants, given.batch_size * given.steps, gflop)
    if given.output_file is not None:
        append_tables(given.output_file, [table])
    result = {"benchmark": "compare_peers", "title": title}
    for one in contestants:
        result[one.name] = {"start": one.start, "turns": one.turns}
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
