"""Records as a person reads them, and the figures of a whole set as a table."""

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.records.masking_rules import STATIC
from albert_tf.records.pretraining_records import (
    PretrainingInstance,
    from_example,
    read_manifest,
    record_lengths,
)
from albert_tf.records.record_files import FRAME_BYTES, file_size, read_records
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.progress import ByteProgress
from albert_tf.tokenization.base import SPACE, Tokenizer
from data_prep.inspection.statistics import RecordStatistics, histogram

_LABELS = {
    "sop": ("in order", "swapped"),
    "nsp": ("in order", "second segment of another document"),
    "none": ("no sentence task", "?"),
    None: ("in order", "swapped, or second segment of another document"),
}
_BAR = 40
# Rarer lengths of masked runs are left out of the table.
_LEAST_SHARE = 0.0005
# How a share of the summary is called in the table.
_TITLES = {
    "examples": "records",
    "tokens": "tokens without padding",
    "mean_length": "mean length",
    "shortest": "shortest",
    "full_length_share": "records without padding",
    "padding_share": "padding",
    "predictions": "predictions",
    "predictions_per_example": "predictions a record",
    "mask_rate": "predictions of all tokens",
    "examples_without_predictions": "records without predictions",
    "shown_as_mask_share": "  shown as [MASK]",
    "shown_unchanged_share": "  shown unchanged",
    "shown_as_random_piece_share": "  shown as another piece",
    "label_1_share": "label 1",
    "unknown_share": "unknown pieces",
    "distinct_pieces": "distinct pieces",
    "pieces_never_seen": "pieces of the vocabulary never seen",
    "repeated_records": "records that were there before",
    "repeated_texts": "texts that were there before, masks aside",
}
# Codes of ANSI terminals.
_DIM, _RED, _GREEN, _YELLOW = "2", "31", "32", "33"


@dataclasses.dataclass(frozen=True)
class Inspection:
    """Report on what a set of records holds.

    Attributes:
        text: the first records and a table of the figures, for people.
        figures: the figures for programs: numbers, lists of numbers, strings.
    """

    text: str
    figures: dict[str, Any]


def inspect(paths: Sequence[str], tokenizer: Tokenizer, num_examples: int, color: bool = False) -> Inspection:
    """The first records of a set, and the figures of all of it.

    Args:
        paths: record files, ours or official ones.
        tokenizer: the vocabulary they were made with.
        num_examples: how many records to show.
        color: whether to colour what is masked, replaced and left alone, with the codes that terminals take.

    Raises:
        InputError: a file is damaged (with its offset), or made with a different vocabulary.
    """
    manifest = read_manifest(paths)
    if manifest and manifest.vocabulary["sha256"] != tokenizer.sha256:
        raise InputError(
            f"{paths[0]} was made with another vocabulary ({manifest.vocabulary['file']}, sha256 "
            f"{manifest.vocabulary['sha256'][:12]}...) than {tokenizer.model_file} ({tokenizer.sha256[:12]}...); "
            "give that one as --spm_model_file"
        )
    task = manifest.sentence_task if manifest else None
    masking = manifest.masking if manifest else STATIC
    max_seq_length, max_predictions = _lengths_of(paths)
    statistics = RecordStatistics(tokenizer.mask_id, tokenizer.unk_id)
    repeats = _Repeats()
    places = np.zeros(max_seq_length, np.int64)
    shown = []
    with ByteProgress(sum(map(file_size, paths)), "reading records") as progress:
        for path in paths:
            for offset, message in read_records(path):
                where = f"{path}: offset {offset}"
                instance = from_example(message, where)
                _check_ids(instance, tokenizer, where)
                if len(shown) < num_examples:
                    shown.append(f"{where}\n{describe_record(instance, tokenizer, task, color)}\n")
                statistics.add(instance)
                repeats.add(message, instance)
                places[instance.masked_lm_positions] += 1
                progress.advance(len(message) + FRAME_BYTES)
    figures = {
        "files": len(paths),
        "max_seq_length": max_seq_length,
        "max_predictions_per_seq": max_predictions,
        "sentence_task": task,
        "masking": masking,
        **statistics.summary(max_seq_length, masked=masking == STATIC),
        "vocab_size": tokenizer.vocab_size,
        "pieces_never_seen": tokenizer.vocab_size - len(statistics.distinct),
        "repeated_records": repeats.records,
        "repeated_texts": repeats.texts,
        "lengths": [[length, count] for length, count in sorted(statistics.lengths.items())],
        "labels": [statistics.labels[label] for label in range(max(statistics.labels, default=0) + 1)],
    }
    if masking == STATIC:
        figures["predictions_at"] = places.tolist()
    title = f"{len(paths)} files, max_seq_length {max_seq_length}, max_predictions_per_seq {max_predictions}"
    if manifest:
        title += f", sentence_task {task}, masking {masking}"
    return Inspection("\n".join([*shown, title, *_table(figures, statistics)]) + "\n", figures)


def _lengths_of(paths: Sequence[str]) -> tuple[int, int]:
    """max_seq_length and max_predictions_per_seq of all files; raises InputError where one has others."""
    first = record_lengths(paths[0])
    for path in paths[1:]:
        found = record_lengths(path)
        if found != first:
            raise InputError(
                f"{path}: records hold {found[0]} tokens and {found[1]} predictions, those of {paths[0]} {first[0]} "
                f"and {first[1]}; look at them apart"
            )
    return first


class _Repeats:
    """Counts records, and texts under their masks, that were there before; keeps eight bytes of each digest."""

    def __init__(self):
        self.records = self.texts = 0
        self._seen: set[bytes] = set()

    def add(self, message: bytes, instance: PretrainingInstance) -> None:
        text = np.array(instance.input_ids, np.int64)
        text[instance.masked_lm_positions] = instance.masked_lm_ids
        self.records += self._seen_before(b"record" + message)
        self.texts += self._seen_before(b"text" + text.tobytes())

    def _seen_before(self, contents: bytes) -> bool:
        digest = hashlib.blake2b(contents, digest_size=8).digest()
        if digest in self._seen:
            return True
        self._seen.add(digest)
        return False


def describe_record(
    instance: PretrainingInstance, tokenizer: Tokenizer, task: str | None = None, color: bool = False
) -> str:
    """One record on a few lines: figures, then each segment as text.

    A piece to be predicted is written [shown:original]: [MASK:house], [tree:house] where a random piece stands,
    [house:house] where it was left alone.

    Args:
        instance: the record.
        tokenizer: its vocabulary.
        task: its sentence_task, if known.
        color: whether to colour these three yellow, red and green.
    """
    originals = dict(zip(instance.masked_lm_positions, instance.masked_lm_ids))
    segments: dict[int, list[str]] = {}
    pieces = tokenizer.shown_pieces(instance.input_ids)
    for position, (piece_id, piece) in enumerate(zip(instance.input_ids, pieces, strict=True)):
        original = originals.get(position)
        text = _show(tokenizer, piece_id, piece, original)
        if color:
            text = _paint(text, tokenizer, piece_id, original)
        segments.setdefault(instance.segment_ids[position], []).append(text)
    label = _LABELS[task][instance.label] if instance.label in (0, 1) else "not a label"
    lines = [
        f"  {len(instance.input_ids)} tokens, {len(originals)} predictions, label {instance.label}: {label}",
        *(f"  {'AB'[segment > 0]}  {''.join(texts).strip()}" for segment, texts in sorted(segments.items())),
    ]
    return "\n".join(lines)


def _paint(text: str, tokenizer: Tokenizer, piece_id: int, original: int | None) -> str:
    if original is None:
        code = _DIM if piece_id in (tokenizer.cls_id, tokenizer.sep_id) else None
    elif piece_id == tokenizer.mask_id:
        code = _YELLOW
    else:
        code = _GREEN if piece_id == original else _RED
    if code is None:
        return text
    bare = text.strip()
    before, _, after = text.partition(bare)
    return f"{before}\x1b[{code}m{bare}\x1b[0m{after}"


def _show(tokenizer: Tokenizer, piece_id: int, piece: str, original: int | None) -> str:
    if original is None:
        special = piece_id in (tokenizer.cls_id, tokenizer.sep_id)
        return f" {piece} " if special else piece.replace(SPACE, " ")
    expected = tokenizer.id_to_piece(original)
    piece = tokenizer.id_to_piece(piece_id)
    shown = "MASK" if piece_id == tokenizer.mask_id else piece.lstrip(SPACE) or SPACE
    space = " " if expected.startswith(SPACE) else ""
    return f"{space}[{shown}:{expected.lstrip(SPACE) or SPACE}]"


def _check_ids(instance: PretrainingInstance, tokenizer: Tokenizer, where: str) -> None:
    largest = max(itertools.chain(instance.input_ids, instance.masked_lm_ids))
    if largest >= tokenizer.vocab_size:
        raise InputError(
            f"{where}: the record holds the id {largest}, {tokenizer.model_file} has {tokenizer.vocab_size} pieces; "
            "give the vocabulary that the records were made with"
        )
    if any(position >= len(instance.input_ids) for position in instance.masked_lm_positions):
        raise InputError(f"{where}: the record predicts beyond its last token; make the records again")


def _table(figures: dict, statistics: RecordStatistics) -> list[str]:
    rows = []
    for name, title in _TITLES.items():
        if name not in figures:
            continue
        value = figures[name]
        share = name.endswith("_share") or name == "mask_rate"
        rows.append((title, f"{100 * value:.2f} %" if share else f"{value:,.6g}" if value < 1e6 else f"{value:,}"))
    for words, share in enumerate(figures.get("window_words_shares", ()), 1):
        if share >= _LEAST_SHARE:
            rows.append((f"masked runs of {words} word{'s' * (words > 1)}", f"{100 * share:.2f} %"))
    width = max(len(title) for title, _ in rows)
    lines = [f"  {title:{width}}  {value:>14}" for title, value in rows]
    bars = histogram(statistics.lengths, figures["max_seq_length"])
    most = max(count for *_, count in bars) or 1
    lines.append("  lengths")
    lines += [f"  {low:>5} - {high:<5} {count:>10,} {'#' * round(_BAR * count / most)}" for low, high, count in bars]
    return [line.rstrip() for line in lines]
