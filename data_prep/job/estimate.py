"""Estimate of the output's size and of the time it will take, made before the start from a little of the text."""

import dataclasses
import time
from collections import Counter

from albert_tf.records.record_files import FRAME_BYTES
from albert_tf.runtime.parquet_files import open_parquet
from albert_tf.runtime.text_endings import COMPRESSED
from albert_tf.tokenization.base import Tokenizer
from data_prep.examples.draws import Draws
from data_prep.examples.instances import draw_instances, encode_instances
from data_prep.job.settings import RecordJob
from data_prep.job.work_units import UnitMaker
from data_prep.text.documents import Part, read_parts
from data_prep.text.text_files import read_lines, size_of_files
from data_prep.text.text_reading import TextReading

# Characters that are looked at, of the first file and of one in the middle.
_SAMPLE_CHARACTERS = 1 << 15
# Bytes of text by which it is judged how much a file was compressed; a reader takes some 100 kB of one at a time.
_BYTES_TO_COMPARE = 1 << 22
# What a pass over the finished records costs beside making them, measured: shuffling, checksums, writing.
_SECONDS_A_RECORD_BYTE = 4e-9
_START_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Estimate of a job's size and time.

    Attributes:
        input_bytes: size of the input on its disk.
        examples: how many.
        output_bytes: of all files before compression; as much again is needed while it is made.
        seconds: with so many workers.
        workers: processes.
    """

    input_bytes: int
    examples: int
    output_bytes: int
    seconds: float
    workers: int


def estimate(job: RecordJob, paths: list[str], tokenizer: Tokenizer, workers: int) -> Estimate:
    """Makes a few examples and scales up.

    Raises:
        InputError: the text looked at cannot be read.
    """
    maker = UnitMaker(tokenizer, job.settings, job.reading, "")
    sizes = [size_of_files([path]) for path in paths]
    seconds = examples = output = 0.0
    sampled = [*dict.fromkeys((0, len(paths) // 2))]
    for place in sampled:
        spent, made, written, read_share = _sample(job, maker, paths[place])
        # This file stands for its share of the corpus.
        scale = sum(sizes) / len(sampled) / max(1.0, read_share * sizes[place])
        seconds, examples, output = seconds + scale * spent, examples + scale * made, output + scale * written
    dupe_factor = job.settings.dupe_factor
    total = _START_SECONDS + (seconds + dupe_factor * output * _SECONDS_A_RECORD_BYTE) / workers
    return Estimate(sum(sizes), round(examples * dupe_factor), round(output * dupe_factor), total, workers)


def describe_estimate(estimated: Estimate, name: str) -> list[str]:
    """The estimate in words, a line each."""
    return [
        f"{name}: from {_megabytes(estimated.input_bytes)} of input about {estimated.examples:,} examples, "
        f"{_megabytes(estimated.output_bytes)} before compression, and as much again while they are made",
        f"about {_duration(estimated.seconds)} with {estimated.workers} worker{'s' * (estimated.workers > 1)}",
    ]


def _sample(job: RecordJob, maker: UnitMaker, path: str) -> tuple[float, int, int, float]:
    """(seconds for all passes, examples and bytes of one pass, share of the file) of a little text of a file."""
    parts = read_parts([path], _SAMPLE_CHARACTERS, False, reading=job.reading)
    part = next(parts, None)
    if part is None:
        return 0.0, 0, 0, 1.0
    whole = next(parts, None) is None
    share = 1.0 if whole else min(1.0, _share_of(part, path, job.reading))
    started = time.perf_counter()
    store, _ = maker.encode(part)
    tokenised = time.perf_counter()
    batch, _ = draw_instances(store, job.settings, maker.pieces, Draws(0), Counter())
    examples = encode_instances(batch, job.settings)
    drawn = time.perf_counter() - tokenised
    seconds = tokenised - started + job.settings.dupe_factor * drawn
    return seconds, len(examples), sum(map(len, examples)) + FRAME_BYTES * len(examples), share


def _share_of(part: Part, path: str, reading: TextReading) -> float:
    """The share that a part has of its file."""
    if reading.format_of(path) == "parquet":
        with open_parquet(path) as file:
            return len({document.source for document in part.documents}) / max(1, file.num_rows)
    # With the ends of lines, which are no part of the texts.
    texts = [text for document in part.documents for text in document.texts]
    return sum(len(text.encode("utf-8")) + 1 for text in texts) / max(1.0, _bytes_of_text(path))


def _bytes_of_text(path: str) -> float:
    """The size of a file of text; of a compressed one as it was before, judged from its start."""
    size = size_of_files([path])
    if not path.lower().endswith(COMPRESSED):
        return size
    text, read = 0, [0]
    for _, line in read_lines(path, read.append):
        text += len(line.encode("utf-8")) + 1
        if text >= _BYTES_TO_COMPARE:
            break
    return size * text / max(1, sum(read))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count < 1e9 else f"{count / 1e9:,.1f} GB"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
