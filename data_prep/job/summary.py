"""Summary of a job's result: whether it is enough, and of the text as given; its manifest; a few lines about it."""

from collections import Counter

from absl import logging

from albert_tf.records.manifest import Manifest
from albert_tf.records.masking_rules import DYNAMIC, PieceIds, masking_to_json
from albert_tf.runtime.digests import describe_file, stamp_of
from albert_tf.runtime.errors import InputError
from data_prep.examples.instances import explain_no_examples
from data_prep.inspection.statistics import RecordStatistics
from data_prep.job.settings import RecordJob
from data_prep.job.shards import OutputFiles

# A share of the text cut off that is worth a line, and the mean pieces of a line beyond which it is hardly a sentence:
# those of prose have 20 to 40.
_MUCH_TEXT_CUT_OFF = 0.25
_LONG_SENTENCE = 80


def check_enough(examples: int, counts: Counter, job: RecordJob, num_shards: int) -> None:
    """Raises InputError if there are too few examples, or documents, for what was asked for."""
    if examples == 0:
        raise InputError(f"--input_file={job.input_file}: {explain_no_examples(job.settings, counts)}")
    if job.settings.sentence_task == "nsp" and counts["documents"] == 1:
        raise InputError(
            f"--input_file={job.input_file} holds one document; --sentence_task=nsp takes segments of other documents, "
            "so give at least two, with a blank line between"
        )
    if examples < num_shards:
        raise InputError(f"{examples} examples cannot fill {num_shards} files; give a smaller --output_file=path@N")


def check_no_empty(described: list[dict], output: OutputFiles) -> None:
    """Raises InputError if a file holds no example."""
    empty = sum(not shard["examples"] for shard in described)
    if empty:
        raise InputError(
            f"{empty} of {len(output.paths)} files would hold no example; give a smaller --output_file=path@N"
        )


def check_unchanged(paths: list[str], stamps: list[tuple[int, int]], described: list[dict]) -> None:
    """Raises InputError if the text that was read may not be the one whose checksum the manifest is to have.

    Args:
        paths: the input.
        stamps: of each, from before its checksum was taken.
        described: the entries of the input in the manifest.
    """
    for path, stamp, entry in zip(paths, stamps, described):
        # One that was touched and has the same contents is the same text.
        if stamp_of(path) != stamp and {"name": entry["name"], **describe_file(path)} != entry:
            raise InputError(f"--input_file: {path} changed while it was read; try again when nothing writes to it")


def describe(
    job: RecordJob,
    identity: dict,
    described: list[dict],
    counts: Counter,
    statistics: RecordStatistics,
    piece_ids: PieceIds,
) -> Manifest:
    """The manifest of a finished job.

    Args:
        job: what was done.
        identity: flags, vocabulary, input and version.
        described: the entries of the files.
        counts: documents, sentences, pieces of the text, and what happened out of the ordinary.
        statistics: of the examples.
        piece_ids: of the vocabulary.
    """
    settings, dynamic = job.settings, job.settings.masking == DYNAMIC
    corpus = {name: counts[name] for name in ("documents", "sentences", "pieces")}
    events = {name: count for name, count in sorted(counts.items()) if name not in corpus and count}
    return Manifest(
        files=described,
        num_examples=statistics.counts["examples"],
        max_seq_length=settings.max_seq_length,
        max_predictions_per_seq=settings.max_predictions_per_seq,
        sentence_task=settings.sentence_task,
        compression=job.compression,
        vocabulary=identity["vocabulary"],
        flags=identity["flags"],
        input=identity["input"],
        statistics={**corpus, **statistics.summary(settings.max_seq_length, masked=not dynamic), "events": events},
        written_by=identity["written_by"],
        masking=settings.masking,
        masking_parameters=masking_to_json(settings.masking_rules, piece_ids) if dynamic else {},
    )


def log_summary(manifest: Manifest, output: OutputFiles, seconds: float) -> None:
    """Logs how much was made, how fast, and what is worth knowing of it."""
    figures = manifest.statistics
    logging.info(
        "%s: %d examples in %d files, %.1f s, %.0f examples/s",
        *(output.manifest, manifest.num_examples, len(manifest.files), seconds, manifest.num_examples / seconds),
    )
    logging.info(
        "mean length %.1f, label 1 %.1f %%, unknown pieces %.2f %%, %s",
        *(figures["mean_length"], 100 * figures["label_1_share"], 100 * figures["unknown_share"]),
        "no masks, they are drawn in training"
        if manifest.masking == DYNAMIC
        else f"mask rate {figures['mask_rate']:.1%}, {figures['predictions_per_example']:.1f} predictions an example",
    )
    for name, count in figures["events"].items():
        logging.info("%s: %d", name.replace("_", " "), count)
    _tell_of_cut_text(manifest)


def cut_off_share(manifest: Manifest) -> float:
    """The share of the pieces of all examples that did not fit and were cut off, from 0 to 1."""
    figures = manifest.statistics
    cut_off = figures["events"].get("pieces_cut_off", 0)
    # [CLS] and a [SEP] after each segment are no text.
    specials = 2 if manifest.sentence_task == "none" else 3
    kept = figures["tokens"] - specials * figures["examples"]
    return cut_off / max(1, cut_off + kept)


def _tell_of_cut_text(manifest: Manifest) -> None:
    """Says that much of the text was cut off, and asks whether lines are sentences if they are too long for that."""
    share, figures = cut_off_share(manifest), manifest.statistics
    if share <= _MUCH_TEXT_CUT_OFF:
        return
    pieces = figures["pieces"] / max(1, figures["sentences"])
    text = "%.0f %% of the text was cut off: a sentence has %.0f pieces on average, --max_seq_length is %d"
    values = (100 * share, pieces, manifest.max_seq_length)
    if pieces > _LONG_SENTENCE:
        logging.warning(f"{text}; is there one sentence a line?", *values)
    else:
        logging.info(text, *values)
