"""Times create_pretraining_data as a user starts it: examples a second after the start-up, and memory of all processes.

A line for each length and dupe_factor. Without --input_file the text is made first, by the public commands, of the
documentation of the installed packages.
"""

import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

from absl import flags

from albert_tf.benchmarks.measure import descendants
from albert_tf.runtime import command
from albert_tf.runtime.json_text import to_json

# Examples a second of the official create_pretraining_data.py (google-research/albert, TF 1.15, Python 3.7) by
# max_seq_length: 2.3 MB of English Wikipedia, dupe_factor 1, one core of the machine that docs/data.md names, start-up
# taken off, 2026-11-20.
OFFICIAL_EXAMPLES_PER_SECOND = {128: 424.0, 512: 145.0}

_SAMPLE_SECONDS = 0.1
_KILOBYTES_PER_MEGABYTE = 1000.0


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("input_file", None, "Text, a sentence a line, or raw .jsonl; made if not given.", **fv)
    flags.DEFINE_string("spm_model_file", None, "The sentencepiece vocabulary of that text.", **fv)
    flags.DEFINE_list("max_seq_length", ["128", "512"], "Tokens of an example.", **fv)
    flags.DEFINE_list("dupe_factor", ["1", "10"], "Passes over the text.", **fv)
    flags.DEFINE_list("num_workers", ["1"], "Processes.", **fv)
    flags.DEFINE_integer("num_files", 4, "Files that are written.", lower_bound=1, **fv)
    flags.DEFINE_integer("repeats", 3, "Times each is done; the fastest counts.", lower_bound=1, **fv)


def _data_prep(name: str, **given) -> list[str]:
    """The command line of a data script."""
    options = [f"--{flag}={str(value).lower() if isinstance(value, bool) else value}" for flag, value in given.items()]
    return [sys.executable, "-m", f"data_prep.{name}", *options]


def _make_corpus(folder: str) -> tuple[str, str]:
    """A text of 2.3 MB and its vocabulary."""
    documents, text, prefix = (os.path.join(folder, name) for name in ("d.jsonl", "text.txt", "vocabulary"))
    for arguments in (
        _data_prep("collect_docstrings", output_file=documents, max_megabytes=2.3),
        _data_prep("split_sentences", input_file=documents, output_file=text),
        _data_prep("train_vocabulary", input_file=text, model_prefix=prefix, vocab_size=8000),
    ):
        subprocess.run(arguments, check=True, capture_output=True)
    return text, f"{prefix}.model"


def _run_timed(arguments: list[str]) -> dict[str, float]:
    """Seconds, CPU seconds and most megabytes of a command and all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        most = [0.0]
        watcher = threading.Thread(target=_watch_memory, args=(process, most))
        watcher.start()
        errors = process.stderr.read()
        process.wait()
        seconds = time.perf_counter() - begin
        watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed: {errors}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_memory_mb": most[0]}


def _watch_memory(process: subprocess.Popen, most: list[float]) -> None:
    while process.poll() is None:
        most[0] = max(most[0], sum(map(_memory_of, [process.pid, *descendants(process.pid)])))
        time.sleep(_SAMPLE_SECONDS)


def _memory_of(process: int) -> float:
    """Megabytes of a process; of a page that several share, its part (Pss of Linux)."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            kilobytes = next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return 0.0
    return kilobytes * 1.024 / _KILOBYTES_PER_MEGABYTE


def _clear(folder: str) -> None:
    for path in glob.glob(f"{folder}/*"):
        os.unlink(path)


def _measure(text: str, vocabulary: str, length: int, dupe_factor: int, workers: int, folder: str) -> dict:
    given = flags.FLAGS
    output = os.path.join(folder, "records")
    options = {
        "spm_model_file": vocabulary,
        "max_seq_length": length,
        "dupe_factor": dupe_factor,
        "num_workers": workers,
        "split_sentences": text.endswith(".jsonl"),
    }
    little = os.path.join(folder, f"little{os.path.splitext(text)[1]}")
    with open(text, encoding="utf-8") as source, open(little, "w", encoding="utf-8") as target:
        target.writelines(line for line, _ in zip(source, range(20)))
    arguments = _data_prep("create_pretraining_data", input_file=little, output_file=f"{output}/s", **options)
    startups = []
    for _ in range(given.repeats):
        _clear(output)
        startups.append(_run_timed(arguments))
    startup, startup_cpu = (min(run[name] for run in startups) for name in ("seconds", "cpu_seconds"))
    runs = []
    for _ in range(given.repeats):
        _clear(output)
        target = f"{output}/r@{given.num_files}"
        runs.append(_run_timed(_data_prep("create_pretraining_data", input_file=text, output_file=target, **options)))
    best = {name: min(run[name] for run in runs) for name in ("seconds", "cpu_seconds")}
    best["peak_memory_mb"] = max(run["peak_memory_mb"] for run in runs)
    with open(f"{output}/r.manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    rate = manifest["num_examples"] / (best["seconds"] - startup)
    result = {
        "benchmark": "data_creation",
        "length": length,
        "dupe_factor": dupe_factor,
        "workers": workers,
        "input_mb": os.path.getsize(text) / 1e6,
        "output_mb": sum(file["bytes"] for file in manifest["files"]) / 1e6,
        "examples": manifest["num_examples"],
        "startup_seconds": startup,
        **best,
        "examples_per_second": rate,
        # What is left when other programs use the machine too.
        "examples_per_cpu_second": manifest["num_examples"] / (best["cpu_seconds"] - startup_cpu),
        "input_mb_per_second": os.path.getsize(text) / 1e6 / (best["seconds"] - startup),
    }
    if length in OFFICIAL_EXAMPLES_PER_SECOND:
        result["times_official"] = rate / OFFICIAL_EXAMPLES_PER_SECOND[length]
    return result


def _run() -> None:
    given = flags.FLAGS
    with tempfile.TemporaryDirectory() as folder:
        if given.input_file:
            command.require_flags("spm_model_file")
            text, vocabulary = given.input_file, given.spm_model_file
        else:
            text, vocabulary = _make_corpus(folder)
        for length in map(int, given.max_seq_length):
            for dupe_factor in map(int, given.dupe_factor):
                for workers in map(int, given.num_workers):
                    print(to_json(_measure(text, vocabulary, length, dupe_factor, workers, folder)), flush=True)  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
