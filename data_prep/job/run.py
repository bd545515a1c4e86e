"""The whole job of create_pretraining_data, in stages: parts to ids, ids to examples, examples to files, a manifest.

Which worker does a unit of work, and when, changes nothing: each is a pure function of the job and its own number.
A run that was killed is taken up by the same command, which finds the units that are finished.
"""

import dataclasses
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable

from absl import logging

import albert_tf
from albert_tf.records.manifest import Manifest
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file, stamp_of
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.worker_pool import WorkerPool, count_cores, end_on_terminate
from albert_tf.runtime.workspace import (
    enter_job,
    holds_job,
    open_workspace,
    read_note,
    remove_finished,
    write_note,
)
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.vocabularies import make_tokenizer
from data_prep.inspection.statistics import RecordStatistics
from data_prep.job.duplicates import find_duplicates
from data_prep.job.estimate import describe_estimate, estimate
from data_prep.job.settings import RecordJob
from data_prep.job.shards import OutputFiles
from data_prep.job.summary import (
    check_enough,
    check_no_empty,
    check_unchanged,
    describe,
    log_summary,
)
from data_prep.job.work_units import DrawUnit, UnitMaker
from data_prep.text.documents import read_parts
from data_prep.text.standard_input import input_files, name_of_input
from data_prep.text.text_files import size_of_files

_TOKENS_NOTE = "tokens.json"


@dataclasses.dataclass
class _Run:
    """A job under way.

    Attributes:
        job: what is to be done.
        output: where it goes.
        paths: the input.
        stamps: of each, from before its checksum was taken.
        identity: flags, vocabulary, input and output, as the manifest has them.
        folder: the workspace.
        maker: does units of work here.
        workers: do them elsewhere.
        check_for_end: raises SystemExit after SIGTERM.
    """

    job: RecordJob
    output: OutputFiles
    paths: list[str]
    stamps: list[tuple[int, int]]
    identity: dict
    folder: str
    maker: UnitMaker
    workers: WorkerPool
    check_for_end: Callable[[], None]

    def share(self, count: int) -> list[int]:
        """The numbers below count in the order in which this run does them: its own, then those of other tasks.

        What another task has finished by then is found finished.
        """
        index, tasks = self.job.task_index, self.job.num_tasks
        own = [*range(index, count, tasks)]
        return own + [number for number in reversed(range(count)) if number % tasks != index]


def create_records(job: RecordJob) -> Manifest | None:
    """Writes the records and their manifest, or nothing.

    Returns:
        The manifest; None after a dry run, and if another task is left to give the files their names.

    Raises:
        InputError: something in the input or the flags is at fault; nothing is left behind.
        OSError: a file cannot be written (a full disk). What is finished is kept for the next run.
    """
    started = time.monotonic()
    output = OutputFiles.from_flag(job.output_file)
    output.check_replaceable(job.overwrite)
    tokenizer = make_tokenizer(job.spm_model_file, job.cleaning)
    if low_budget := job.settings.describe_low_budget():
        logging.warning("%s", low_budget)
    given = input_files(job.input_file, os.path.dirname(output.manifest), job.reading.input_format)
    with end_on_terminate() as check_for_end, given as paths:
        job.reading.check_files(paths)
        output.check_apart([*paths, job.spm_model_file])
        stamps = [*map(stamp_of, paths)]
        identity = _identify(job, output, paths, tokenizer)
        if (finished := output.find_finished(identity, job.overwrite)) is not None:
            logging.info("%s: all of it is there already, made with the same flags of the same text", output.manifest)
            remove_finished(output.name, identity)
            return finished
        if job.dry_run or size_of_files(paths) > 0:
            estimated = estimate(job, paths, tokenizer, job.num_workers or count_cores())
            for line in describe_estimate(estimated, output.manifest):
                logging.info("%s", line)
            if job.dry_run:
                return None
        # A run that was killed while it named its files goes on with them.
        if not (job.overwrite or holds_job(output.name, identity)):
            output.check_no_strangers()
        try:
            manifest = _make(job, output, paths, stamps, identity, tokenizer, check_for_end)
        except FileNotFoundError:
            # Another task has finished the job and removed the workspace.
            manifest = output.find_finished(identity, False) if job.num_tasks > 1 else None
            if manifest is None:
                raise
        except (OSError, KeyboardInterrupt, SystemExit):
            logging.info("what is finished is kept beside the output; the same command goes on with it")
            raise
    if manifest is not None:
        log_summary(manifest, output, time.monotonic() - started)
    return manifest


def _make(
    job: RecordJob,
    output: OutputFiles,
    paths: list[str],
    stamps: list[tuple[int, int]],
    identity: dict,
    tokenizer: Tokenizer,
    check_for_end: Callable[[], None],
) -> Manifest | None:
    """Makes the files in the workspace and gives them their names, which is left to the first of several tasks."""
    several, first_task = job.num_tasks > 1, job.task_index == 0
    with open_workspace(output.name, shared=several, remove=first_task) as folder:
        if enter_job(folder, identity, job.overwrite, shared=several):
            logging.info("going on with what an earlier run finished, in %s", folder)
        elif several and (finished := output.find_finished(identity, job.overwrite)) is not None:
            # Another task finished the job, and removed its folder, just before this one made it again.
            shutil.rmtree(folder)
            return finished
        maker = UnitMaker(tokenizer, job.settings, job.reading, folder, job.drop_duplicate_documents)
        with WorkerPool(job.num_workers or count_cores(), maker, job.dask_scheduler) as workers:
            run = _Run(job, output, paths, stamps, identity, folder, maker, workers, check_for_end)
            manifest = _write(run)
        check_for_end()
        if not first_task:
            logging.info("all files are made; task 0 gives them their names")
            return None
        output.publish([maker.shard_path(shard) for shard in range(len(output.paths))], manifest.to_json())
    return manifest


def _identify(job: RecordJob, output: OutputFiles, paths: list[str], tokenizer: Tokenizer) -> dict:
    """Everything that decides the output, in the words of the manifest."""
    return {
        "flags": job.flags,
        "vocabulary": {
            "file": os.path.basename(job.spm_model_file),
            "sha256": tokenizer.sha256,
            "size": tokenizer.vocab_size,
        },
        "input": [{"name": name_of_input(job.input_file, path), **describe_file(path)} for path in paths],
        "output": [os.path.basename(path) for path in output.paths],
        "written_by": f"albert_tf {albert_tf.__version__}",
    }


def _write(run: _Run) -> Manifest:
    """All stages up to the finished files in the workspace; returns their manifest."""
    job, num_files = run.job, len(run.output.paths)
    parts = _tokenize(run)
    if job.drop_duplicate_documents:
        find_duplicates(run.folder, [run.maker.tokens_path(part) for part in range(len(parts))])
    documents, pieces = (sum(part[name] for part in parts) for name in ("documents", "pieces"))
    buckets = job.buckets_of_a_file(documents, pieces, num_files)
    counts, statistics, num_units = _draw(run, parts, num_files * buckets)
    # A unit has seen one part, and a long document may lie in several.
    for name, number in run.maker.count_documents(len(parts)).items():
        counts[name] = number
    check_enough(statistics.counts["examples"], counts, job, num_files)
    described = _gather(run, num_units, buckets)
    check_no_empty(described, run.output)
    return describe(job, run.identity, described, counts, statistics, run.maker.pieces.ids)


def _tokenize(run: _Run) -> list[dict]:
    """Makes the ids of all parts; returns their headers, in order."""
    job = run.job
    note = os.path.join(run.folder, _TOKENS_NOTE)
    if (finished := _find_tokens(run, note)) is not None:
        return finished
    headers: dict[int, dict] = {}
    total = size_of_files(run.paths)
    for own in (True, False) if job.num_tasks > 1 else (True,):
        with ByteProgress(total, "tokenising") as progress:
            chosen = []

            def parts(own=own, chosen=chosen, progress=progress):
                for part in read_parts(
                    run.paths, job.part_characters, job.settings.reference_quirks, progress.advance, job.reading
                ):
                    if (part.index % job.num_tasks == job.task_index) == own:
                        chosen.append(part.index)
                        yield (part,)

            made = run.workers.map(UnitMaker.tokenize, parts(), lambda task: task[0].describe())
            for place, header in enumerate(made):
                headers[chosen[place]] = header
                run.check_for_end()
    check_unchanged(run.paths, run.stamps, run.identity["input"])
    write_note(note, {"parts": [headers[part] for part in sorted(headers)]})
    return files.read_json(note)["parts"]


def _find_tokens(run: _Run, note: str) -> list[dict] | None:
    """The headers of all parts, if an earlier run noted that it had made their ids and each is whole; else None."""
    noted = (read_note(note) or {}).get("parts")
    if noted is None:
        return None
    numbers = ((part,) for part in range(len(noted)))
    damaged = []
    for part, header in enumerate(run.workers.map(UnitMaker.find_tokens, numbers, lambda task: f"part {task[0]}")):
        if header != noted[part]:
            damaged.append(os.path.basename(run.maker.tokens_path(part)))
        run.check_for_end()
    if not damaged:
        return noted
    logging.warning("%s: %s is not as it was made; what is damaged is made again", run.folder, ", ".join(damaged[:3]))
    return None


def _draw(run: _Run, parts: list[dict], num_buckets: int) -> tuple[Counter, RecordStatistics, int]:
    """Makes the examples of all parts; returns what was counted, and the number of units."""
    step, dupe_factor = run.job.duplicates_of_a_unit(), run.job.settings.dupe_factor
    passes = [range(first, min(first + step, dupe_factor)) for first in range(0, dupe_factor, step)]
    units = [
        DrawUnit(part * len(passes) + number, part, duplicates)
        for part in range(len(parts))
        for number, duplicates in enumerate(passes)
    ]
    counts, statistics = Counter(), RecordStatistics(run.maker.pieces.ids.mask_id, run.maker.pieces.ids.unk_id)
    order = run.share(len(units))
    weights = [2 * parts[unit.part]["pieces"] * len(unit.duplicates) for unit in units]
    with ByteProgress(sum(weights), "drawing examples") as progress:
        tasks = ((units[number], num_buckets) for number in order)
        made = run.workers.map(UnitMaker.draw, tasks, lambda task: f"part {task[0].part}")
        for number, header in zip(order, made):
            counts.update(header["counts"])
            statistics.add_json(header["statistics"])
            statistics.distinct.update(header["distinct"])
            progress.advance(weights[number])
            run.check_for_end()
    return counts, statistics, len(units)


def _gather(run: _Run, num_units: int, buckets: int) -> list[dict]:
    """Makes the files of records; returns their entries in the manifest, in order."""
    paths, compression = run.output.paths, run.job.compression
    order = run.share(len(paths))
    described: list[dict] = [{}] * len(paths)
    total = sum(os.path.getsize(run.maker.spill_path(unit)) for unit in range(num_units))
    with ByteProgress(total, "writing records") as progress:
        tasks = (
            (shard, _absolute(paths[shard]), num_units, range(shard * buckets, (shard + 1) * buckets), compression)
            for shard in order
        )
        made = run.workers.map(UnitMaker.gather, tasks, lambda task: os.path.basename(task[1]))
        for shard, entry in zip(order, made):
            described[shard] = {"name": os.path.basename(paths[shard]), **entry}
            progress.advance(total // len(paths))
            run.check_for_end()
    return described


def _absolute(path: str) -> str:
    # Workers of a cluster have other working folders.
    return path if files.is_remote(path) else os.path.abspath(path)
