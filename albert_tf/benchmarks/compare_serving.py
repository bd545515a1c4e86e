"""Serving in every form beside its peers, in turns in one run: SavedModel, ONNX, LiteRT, OpenVINO, torch, KerasHub.

Every contestant is a process of its own that has opened its model before the first turn; then they run one after the
other, each batch in its turn, so that a change in the machine's load meets all of them. Prints one JSON line, and a
Markdown table for each number of threads to keep.
"""

import statistics
import subprocess
import sys
import tempfile

from absl import flags

from albert_tf.benchmarks.compare_peers import Contestant, append_tables
from albert_tf.benchmarks.serving_contestants import CONTESTANTS
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

_LEFT_OUT = ("hugging_face_bfloat16", "hugging_face_compiled_bfloat16", "keras_hub_bfloat16")
# In an environment of its own: pip install 'sentence-transformers[onnx,openvino]', and --peer_python.
_LEFT_OUT += tuple(name for name in CONTESTANTS if name.startswith("sentence_transformers"))


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    usual = [name for name in CONTESTANTS if name not in _LEFT_OUT]
    flags.DEFINE_string("albert_config_file", "configs/models/albert_base_v2.json", "The model's shape.", **fv)
    flags.DEFINE_enum("task", "encode", ("encode", "classify"), "What the model does with a text.", **fv)
    flags.DEFINE_list("contestants", usual, f"Who takes part; there are also {', '.join(_LEFT_OUT)}.", **fv)
    flags.DEFINE_list("threads", ["1", "2"], "Cores that each contestant may use.", **fv)
    flags.DEFINE_list("batch_sizes", ["1", "8", "32"], "Texts of a batch.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of the longest text.", lower_bound=1, **fv)
    flags.DEFINE_integer(
        "shortest", 8, "Tokens of the shortest text of a batch of unequal lengths.", lower_bound=1, **fv
    )
    flags.DEFINE_integer("rounds", 7, "Turns of each contestant with each batch.", lower_bound=1, **fv)
    flags.DEFINE_integer("texts", 32, "Texts of a turn, at least a batch.", lower_bound=1, **fv)
    flags.DEFINE_string("peer_python", None, "Python that has the peers; None: this one.", **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the tables to.", **fv)


def kinds_of_batches(sizes: list[int], longest: int, shortest: int) -> dict[str, tuple[int, int]]:
    """{title: (number of texts, tokens of the shortest)}: of each size with full texts, and with texts of all lengths.

    A single text is a full one.
    """
    kinds = {}
    for size in sizes:
        kinds[f"{size} x {longest}"] = (size, longest)
        if size > 1:
            kinds[f"{size} x {shortest} to {longest}"] = (size, shortest)
    return kinds


def format_table(title: str, contestants: list[Contestant], kinds: dict[str, tuple[int, int]], rounds: dict) -> str:
    """A Markdown table: a row for each contestant, a column for each kind of batch.

    Args:
        title: above the table.
        contestants: all of them; the others are compared with the first that takes part.
        kinds: of batches, see `kinds_of_batches`.
        rounds: {(contestant's name, kind): what its turns took}.
    """
    header = " | ".join(["", *kinds, "memory after start", "ready after"])
    lines = [f"### {title}", "", f"|{header} |", "|---" * (len(kinds) + 3) + "|"]
    running = [one for one in contestants if one.takes_part]
    for one in contestants:
        if not one.takes_part:
            lines.append(f"| {one.name} | {one.start['skipped']}" + " |" * (len(kinds) + 2))
            continue
        cells = []
        for kind, (size, _) in kinds.items():
            ours, first = rounds[one.name, kind], rounds[running[0].name, kind]
            milliseconds = 1e3 * statistics.median(turn["seconds"] for turn in ours) / size
            ratio = statistics.median(b["seconds"] / a["seconds"] for a, b in zip(ours, first, strict=True))
            cells.append(f"{milliseconds:.2f} ({ratio:.2f})")
        cells += [f"{one.start['memory_mb']:.0f} MB", f"{one.start['ready']:.1f} s"]
        lines.append(" | ".join([f"| {one.name}", *cells]) + " |")
    return "\n".join(lines) + "\n"


def _write_files(given, folder: str, python: str) -> None:
    """Has the files of the contestants written, of each side by a process of its own."""
    whose = {"albert_tf": sys.executable}
    if "hugging_face_onnx" in given.contestants:
        whose["hugging_face"] = python
    if any(name.startswith("sentence_transformers") for name in given.contestants):
        whose["sentence_transformers"] = python
    for name, interpreter in whose.items():
        flag_values = {"of": name, "albert_config_file": given.albert_config_file, "task": given.task}
        arguments = [f"--{flag}={value}" for flag, value in flag_values.items()]
        done = subprocess.run(
            [interpreter, "-m", "albert_tf.benchmarks.serving_files", f"--output_dir={folder}", *arguments],
            capture_output=True,
            text=True,
        )
        if done.returncode and name == "albert_tf":
            raise InputError(
                f"the models could not be written: {(done.stderr.splitlines() or ['no reason given'])[-1]}"
            )


def _compare(given, folder: str, python: str, threads: int, kinds: dict[str, tuple[int, int]]) -> tuple[list, dict]:
    """The contestants, all of them ended, and what their turns took, by (name, kind)."""
    names = ("albert_config_file", "task", "max_seq_length")
    arguments = [f"--{name}={given[name].value}" for name in names] + [f"--folder={folder}", f"--threads={threads}"]
    contestants = [
        Contestant(name, arguments, sys.executable if name.startswith("albert_tf") else python, "serving_worker")
        for name in given.contestants
    ]
    running = [one for one in contestants if one.takes_part]
    rounds: dict[tuple[str, str], list] = {(one.name, kind): [] for one in running for kind in kinds}
    for _ in range(given.rounds):
        for kind, (size, shortest) in kinds.items():
            for one in running:
                # One that has ended takes part no longer.
                if one.takes_part:
                    one.take_turn(f"{size} {shortest} {max(1, given.texts // size)}")
                if one.takes_part:
                    rounds[one.name, kind].append(one.turns[-1])
    for one in running:
        one.close()
    return contestants, rounds


def _run() -> None:
    given = flags.FLAGS
    unknown = sorted(set(given.contestants) - set(CONTESTANTS))
    if unknown:
        raise InputError(f"--contestants: no {unknown[0]!r}; there are {', '.join(CONTESTANTS)}")
    python = given.peer_python or sys.executable
    kinds = kinds_of_batches([int(size) for size in given.batch_sizes], given.max_seq_length, given.shortest)
    result: dict = {"benchmark": "compare_serving", "task": given.task, "config": given.albert_config_file}
    tables = []
    with tempfile.TemporaryDirectory(prefix="albert_tf-") as folder:
        _write_files(given, folder, python)
        for threads in map(int, given.threads):
            contestants, rounds = _compare(given, folder, python, threads, kinds)
            title = f"{given.task}, {threads} thread{'s' * (threads > 1)}: ms a text (times as fast as the first)"
            tables.append(format_table(title, contestants, kinds, rounds))
            result[f"threads_{threads}"] = {
                one.name: {"start": one.start, **{kind: rounds.get((one.name, kind), []) for kind in kinds}}
                for one in contestants
            }
    if given.output_file is not None:
        append_tables(given.output_file, tables)
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
