"""The whole job of create_pretraining_data: parts to worker processes, their examples to shards, a manifest at last.

Which worker takes a part, and when, changes nothing: a part's examples depend on the settings, the vocabulary and
the part alone, and shards are put together in the order of the parts.
"""

import dataclasses
import os
import random
import time
from collections import Counter
from collections.abc import Callable

from absl import logging

import albert_tf
from albert_tf import files
from albert_tf.errors import InputError
from albert_tf.inputs.manifest import Manifest
from albert_tf.inputs.pretraining_records import to_example
from albert_tf.inputs.record_files import frame
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.worker_pool import WorkerPool, count_cores, end_on_terminate
from data_prep.documents import PART_CHARACTERS, Part, read_parts
from data_prep.instances import InstanceSettings, derive_seed, explain_no_examples, make_instances, tokenize_part
from data_prep.masking import Pieces
from data_prep.progress import ByteProgress
from data_prep.shards import OutputFiles, Spill, describe_file, gather, scatter
from data_prep.statistics import RecordStatistics
from data_prep.text_files import size_of_files

COMPRESSIONS = ("none", "gzip")

# Above this share of the text cut off, the sentences are probably paragraphs.
_MUCH_TEXT_CUT_OFF = 0.25


@dataclasses.dataclass(frozen=True)
class RecordJob:
    """What create_pretraining_data is to do; names are those of its flags.

    Attributes:
        input_file: comma list of paths and globs of text: one sentence a line, blank lines between documents.
        output_file: a path, a comma list, or path@N.
        spm_model_file: the sentencepiece vocabulary.
        settings: what the examples are.
        do_lower_case, keep_accents, normalization, replace_quotes: text cleaning, as AlbertTokenizer takes them.
        compression: none or gzip.
        num_workers: processes; 0 for one a core. Changes no byte of the output.
        dask_scheduler: address of a Dask cluster that works instead; it must see the same files. Changes no byte.
        part_characters: size of a work unit; another size gives other examples.
    """

    input_file: str
    output_file: str
    spm_model_file: str
    settings: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
    do_lower_case: bool = True
    keep_accents: bool = False
    normalization: str = "NFKD"
    replace_quotes: bool = False
    compression: str = "none"
    num_workers: int = 0
    dask_scheduler: str | None = None
    part_characters: int = PART_CHARACTERS

    def __post_init__(self):
        if self.compression not in COMPRESSIONS:
            raise InputError(f"--compression must be none or gzip; received {self.compression!r}")
        if self.num_workers < 0:
            raise InputError(f"--num_workers must not be negative; received {self.num_workers}")

    @property
    def cleaning(self) -> dict:
        """The tokenizer's switches."""
        names = ("do_lower_case", "keep_accents", "normalization", "replace_quotes")
        return {name: getattr(self, name) for name in names}


@dataclasses.dataclass(frozen=True)
class _Made:
    """Everything the work units handed back: their spill files in the order of the parts, and their counts."""

    spills: list[Spill]
    counts: Counter
    statistics: RecordStatistics


class UnitMaker:
    """Makes the examples of parts; each worker process holds one."""

    def __init__(self, tokenizer: AlbertTokenizer, settings: InstanceSettings, num_shards: int, folder: str):
        self.tokenizer, self.settings = tokenizer, settings
        self.num_shards, self.folder = num_shards, folder
        self.pieces = Pieces.of_tokenizer(tokenizer)

    def make(self, part: Part) -> tuple[Spill, Counter, RecordStatistics]:
        """Writes all examples of a part, every duplicate, to its spill file; returns that and what was counted."""
        settings, counts = self.settings, Counter()
        statistics = RecordStatistics(self.pieces.mask_id, self.pieces.unk_id)
        documents = tokenize_part(part, self.tokenizer.encode_batch, counts)
        framed = []
        for duplicate in range(settings.dupe_factor):
            rng = random.Random(derive_seed(settings.random_seed, part.index, duplicate))
            for masked in make_instances(documents, settings, self.pieces, rng, counts):
                statistics.add(masked.instance, masked.windows)
                example = to_example(masked.instance, settings.max_seq_length, settings.max_predictions_per_seq)
                framed.append(frame(example))
        seed = derive_seed(settings.random_seed, part.index, "scatter")
        spill = scatter(os.path.join(self.folder, f"part-{part.index:06d}"), framed, self.num_shards, seed)
        return spill, counts, statistics

    def gather(self, path: str, slices: list[tuple[str, int, int]], shard: int, compression: str) -> dict:
        """Writes a shard; see shards.gather."""
        return gather(path, slices, derive_seed(self.settings.random_seed, "shard", shard), compression)


def create_records(job: RecordJob) -> Manifest:
    """Writes the records and their manifest, or nothing.

    Returns:
        The manifest.

    Raises:
        InputError: something in the input or the flags is at fault.
        OSError: a file cannot be written (a full disk); nothing is left behind.
    """
    started = time.monotonic()
    settings = job.settings
    output = OutputFiles.from_flag(job.output_file)
    output.check_replaceable()
    tokenizer = AlbertTokenizer(job.spm_model_file, **job.cleaning)
    paths = files.list_files(job.input_file)
    if low_budget := settings.describe_low_budget():
        logging.warning("%s", low_budget)
    with end_on_terminate() as check_for_end, output.workspace() as folder:
        # Workers of a cluster have other working folders.
        folder = folder if files.is_remote(folder) else os.path.abspath(folder)
        maker = UnitMaker(tokenizer, settings, len(output.paths), folder)
        shard_paths = [os.path.join(folder, f"shard-{shard:05d}") for shard in range(len(output.paths))]
        with WorkerPool(job.num_workers or count_cores(), maker, job.dask_scheduler) as workers:
            made = _make_units(job, paths, workers, maker, check_for_end)
            _check_enough(made.statistics.counts["examples"], made.counts, job, len(output.paths))
            tasks = (
                (path, [spill.slice(shard) for spill in made.spills], shard, job.compression)
                for shard, path in enumerate(shard_paths)
            )
            described = [*workers.map(UnitMaker.gather, tasks)]
        _check_no_empty(described, output)
        manifest = _describe(job, output, paths, tokenizer, described, made)
        check_for_end()
        output.publish(shard_paths, manifest.to_json())
    _log_summary(manifest, output, time.monotonic() - started)
    return manifest


def _make_units(
    job: RecordJob, paths: list[str], workers: WorkerPool, maker: UnitMaker, check_for_end: Callable[[], None]
) -> _Made:
    """Makes all parts and adds up what they counted."""
    made = _Made([], Counter(), RecordStatistics(maker.pieces.mask_id, maker.pieces.unk_id))
    with ByteProgress(size_of_files(paths), "creating records") as progress:
        parts = read_parts(paths, job.part_characters, job.settings.reference_quirks, progress.advance)
        for spill, counts, statistics in workers.map(UnitMaker.make, ((part,) for part in parts)):
            made.spills.append(spill)
            made.counts.update(counts)
            made.statistics.merge(statistics)
            check_for_end()
    return made


def _check_enough(examples: int, counts: Counter, job: RecordJob, num_shards: int) -> None:
    if examples == 0:
        raise InputError(f"--input_file={job.input_file}: {explain_no_examples(job.settings, counts)}")
    if job.settings.sentence_task == "nsp" and counts["documents"] == 1:
        raise InputError(
            f"--input_file={job.input_file} holds one document; --sentence_task=nsp takes segments of other documents, "
            "so give at least two, with a blank line between"
        )
    if examples < num_shards:
        raise InputError(f"{examples} examples cannot fill {num_shards} files; give a smaller --output_file=path@N")


def _check_no_empty(described: list[dict], output: OutputFiles) -> None:
    empty = sum(not shard["examples"] for shard in described)
    if empty:
        raise InputError(
            f"{empty} of {len(output.paths)} files would hold no example; give a smaller --output_file=path@N"
        )


def _describe(
    job: RecordJob,
    output: OutputFiles,
    paths: list[str],
    tokenizer: AlbertTokenizer,
    described: list[dict],
    made: _Made,
) -> Manifest:
    settings, counts, statistics = job.settings, made.counts, made.statistics
    corpus = {name: counts[name] for name in ("documents", "sentences", "pieces")}
    events = {name: count for name, count in sorted(counts.items()) if name not in corpus and count}
    return Manifest(
        files=[{"name": os.path.basename(path), **shard} for path, shard in zip(output.paths, described)],
        num_examples=statistics.counts["examples"],
        max_seq_length=settings.max_seq_length,
        max_predictions_per_seq=settings.max_predictions_per_seq,
        sentence_task=settings.sentence_task,
        compression=job.compression,
        vocabulary={
            "file": os.path.basename(job.spm_model_file),
            "sha256": tokenizer.sha256,
            "size": tokenizer.vocab_size,
        },
        flags={**dataclasses.asdict(settings), **job.cleaning, "part_characters": job.part_characters},
        input=[{"name": os.path.basename(path), **describe_file(path)} for path in paths],
        statistics={**corpus, **statistics.summary(settings.max_seq_length), "events": events},
        written_by=f"albert_tf {albert_tf.__version__}",
    )


def _log_summary(manifest: Manifest, output: OutputFiles, seconds: float) -> None:
    figures = manifest.statistics
    logging.info(
        "%s: %d examples in %d files, %.1f s, %.0f examples/s",
        *(output.manifest, manifest.num_examples, len(manifest.files), seconds, manifest.num_examples / seconds),
    )
    logging.info(
        "mean length %.1f, mask rate %.1f %%, %.1f predictions an example, label 1 %.1f %%, unknown pieces %.2f %%",
        *(figures["mean_length"], 100 * figures["mask_rate"], figures["predictions_per_example"]),
        *(100 * figures["label_1_share"], 100 * figures["unknown_share"]),
    )
    for name, count in figures["events"].items():
        logging.info("%s: %d", name.replace("_", " "), count)
    drawn = figures["pieces"] * manifest.flags["dupe_factor"]
    cut_off = figures["events"].get("pieces_cut_off", 0) / drawn
    if cut_off > _MUCH_TEXT_CUT_OFF:
        logging.warning(
            "%.0f %% of the text was cut off because sentences are long for --max_seq_length=%d; is there one "
            "sentence a line?",
            *(100 * cut_off, manifest.max_seq_length),
        )
