"""Runs the tests on versions of the code with one deliberate fault each, and lists the faults that no test notices.

mutant_list.py says what the lists beside it look like. The checkout is never changed: each of two processes has a copy
of the tree, in a temporary folder, and a mutant's tests run in a child that was forked after the slow imports. A test
that fails, hangs or cannot be imported kills the mutant; before all, the same tests must pass without one, unless
--skip_original says that they do.

Usage: python tests/mutants/run_mutants.py [--report=FILE.json] [--skip_original] [words of names or files ...]
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutant_list import FOLDER, Mutant, read_lists

ROOT = FOLDER.parents[1]
SLOTS = int(os.environ.get("MUTANT_PROCESSES", "2"))
# Of one mutant, in seconds: several times what the slowest tests of the list take on two busy cores.
TIME_LIMIT = 300
_TEMPORARY = "mutants-of-"


@dataclasses.dataclass
class _Child:
    pid: int
    mutant: Mutant | None
    tree: Path
    began: float
    log: Path


class Runner:
    """Two copies of the tree, in each of which one child at a time runs tests."""

    def __init__(self, folder: Path, mutants: list[Mutant]):
        """Copies what is under version control, or would be, into a folder; later changes there have no effect."""
        self._sources = {mutant.file: (ROOT / mutant.file).read_text() for mutant in mutants}
        self._free = []
        self._children: list[_Child] = []
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        for slot in range(SLOTS):
            tree = folder / f"slot{slot}" / "tree"
            for name in filter(None, names):
                if (ROOT / name).is_file():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / name, tree / name)
            if (ROOT.parent / "shared").is_dir():
                (tree.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
            # By their contents, not by time and size, which a mutant has in common with the original.
            compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
            subprocess.run([*compiling, "albert_tf", "data_prep"], cwd=tree, check=True)
            self._free.append(tree)

    def run_all(self, jobs, report) -> None:
        """Runs the jobs, and calls report(mutant, exit code or None for a hang, seconds, output) as each is done.

        Args:
            jobs: (mutant or None for the code as it is, pytest's arguments), as many as there are.
            report: function.
        """
        jobs = list(jobs)
        while jobs or self._children:
            while jobs and self._free:
                self._start(*jobs.pop(0))
            time.sleep(0.05)
            for child in list(self._children):
                self._look_after(child, report)

    def stop(self) -> None:
        """Ends the children."""
        for child in self._children:
            os.killpg(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
        self._children = []

    def _start(self, mutant: Mutant | None, arguments: list[str]) -> None:
        tree = self._free.pop()
        if mutant is not None:
            (tree / mutant.file).write_text(mutant.apply(self._sources[mutant.file]))
        log = tree.parent / "log"
        pid = os.fork()
        if pid == 0:
            _be_pytest(tree, log, arguments)
        self._children.append(_Child(pid, mutant, tree, time.monotonic(), log))

    def _look_after(self, child: _Child, report) -> None:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        seconds = time.monotonic() - child.began
        # The code as it is runs all tests of the list, not those of one mutant.
        late = pid == 0 and child.mutant is not None and seconds > TIME_LIMIT
        if pid == 0 and not late:
            return
        # The tests' own children too, of a test that ended as of one that hangs.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        if late:
            os.waitpid(child.pid, 0)
        self._children.remove(child)
        if child.mutant is not None:
            (child.tree / child.mutant.file).write_text(self._sources[child.mutant.file])
        self._free.append(child.tree)
        report(child.mutant, None if late else os.waitstatus_to_exitcode(status), seconds, child.log.read_text())


def _be_pytest(tree: Path, log: Path, arguments: list[str]) -> None:
    """Becomes a run of pytest in a tree, in a process group of its own; never returns."""
    code = 70
    try:
        os.setsid()
        _die_with_parent()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(descriptor, stream)
        os.chdir(tree)
        os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path[0] = str(tree)
        import pytest

        settings = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line", f"--basetemp={tree.parent / 'temporary'}"]
        code = int(pytest.main([*settings, *arguments]))
    finally:
        os._exit(code)


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; Linux alone


def _import_what_is_slow() -> None:
    """Imports what most tests import, once, so that the children need not. None of it may start a thread."""
    # Threads do not survive a fork.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.metrics  # noqa: F401
    import tensorflow_text  # noqa: F401

    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise SystemExit(f"{threads} threads after the imports: children cannot be forked")


def _clear_away_what_killed_runs_left() -> None:
    for path in Path(tempfile.gettempdir()).glob(_TEMPORARY + "*"):
        pid = path.name.removeprefix(_TEMPORARY).split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(path, ignore_errors=True)


def _say(*words) -> None:
    print(*words, flush=True)  # noqa: T201


def _check_original(mutants: list[Mutant], runner: Runner) -> None:
    """Runs all tests of the mutants on the code as it is.

    Raises:
        SystemExit: one does not pass.
    """
    arguments = {argument for mutant in mutants for argument in mutant.tests}
    arguments = sorted(
        argument for argument in arguments if "::" not in argument or argument.split("::")[0] not in arguments
    )
    failed = []

    def judge(_, code, seconds, output):
        _say(f"{'passes' if code == 0 else 'FAILS':7} {seconds:5.0f} s  the code as it is")
        if code != 0:
            failed.append(output)

    runner.run_all([(None, arguments[slot::SLOTS]) for slot in range(SLOTS) if arguments[slot::SLOTS]], judge)
    if failed:
        raise SystemExit(f"the tests do not pass without a mutant:\n{''.join(failed)[-4000:]}")


def _run(mutants: list[Mutant], runner: Runner) -> dict:
    """The figures of a run, as JSON has them."""
    began = time.monotonic()
    outcome: dict[str, list] = {"killed": [], "lived": [], "explained": [], "explained_but_killed": []}

    def judge(mutant, code, seconds, output):
        if code == 0:
            kind = "explained" if mutant.lives else "lived"
        else:
            kind = "explained_but_killed" if mutant.lives else "killed"
        outcome[kind].append({"name": mutant.name, "file": mutant.file, "seconds": round(seconds, 1)})
        how = {None: "hangs", 0: "LIVED" if not mutant.lives else "lives, as explained"}.get(code, "killed")
        _say(f"{how:7} {seconds:5.0f} s  {mutant.file}: {mutant.name}")

    runner.run_all([(mutant, mutant.tests) for mutant in mutants], judge)
    counts = {kind: len(found) for kind, found in outcome.items()}
    share = (counts["killed"] + counts["explained_but_killed"]) / max(1, len(mutants))
    seconds = round(time.monotonic() - began)
    return {"mutants": len(mutants), **counts, "killed_share": round(share, 4), "seconds": seconds, "outcome": outcome}


def main(arguments: list[str]) -> int:
    """Runs the mutants that the arguments name, or all; 1 if one lives that is not explained."""
    report_file = [word.partition("=")[2] for word in arguments if word.startswith("--report=")]
    words = [word for word in arguments if not word.startswith("--")]
    mutants = [m for m in read_lists() if not words or any(word in f"{m.where} {m.file}: {m.name}" for word in words)]
    for mutant in mutants:
        mutant.apply((ROOT / mutant.file).read_text())
    _import_what_is_slow()
    _clear_away_what_killed_runs_left()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{os.getpid()}-"))
    runner = None
    try:
        runner = Runner(folder, mutants)
        if "--skip_original" not in arguments:
            _check_original(mutants, runner)
        figures = _run(mutants, runner)
    finally:
        if runner is not None:
            runner.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for path in report_file:
        Path(path).write_text(json.dumps(figures, indent=1) + "\n")
    _say(json.dumps({name: value for name, value in figures.items() if name != "outcome"}))
    return 1 if figures["lived"] or figures["explained_but_killed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
