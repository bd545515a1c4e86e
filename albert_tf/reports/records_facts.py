"""The records that a run trained and was evaluated on, where they still lie: manifest, and lengths of a sample."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

from albert_tf.records.manifest import Manifest, find_record_files, read_manifest
from albert_tf.records.masking_rules import DYNAMIC
from albert_tf.records.pretraining_records import PretrainingInstance, from_example
from albert_tf.records.record_files import are_as_noted, read_records
from albert_tf.reports.blocks import Block, Group, Notes, Table
from albert_tf.reports.charts import bar_chart
from albert_tf.reports.run_folder import RunFolder
from albert_tf.runtime.errors import InputError

# Records whose lengths are looked at: they are shuffled, and more would take longer than they tell.
_SAMPLE = 2000
_TITLES = {"input_file": "training", "eval_input_file": "held out"}
_SHARES = ("padding_share", "full_length_share", "mask_rate", "label_1_share", "unknown_share")
_NAMES = {
    "documents": "documents",
    "sentences": "sentences",
    "tokens": "tokens",
    "mean_length": "mean length, tokens",
    "shortest": "shortest, tokens",
    "full_length_share": "as long as can be",
    "padding_share": "padding",
    "predictions_per_example": "masked pieces of a record",
    "mask_rate": "masked",
    "label_1_share": "pairs of label 1 (swapped, or not next)",
    "unknown_share": "unknown pieces",
    "distinct_pieces": "different pieces",
}


@dataclasses.dataclass(frozen=True)
class Records:
    """Records of a run.

    Attributes:
        title: what they are for.
        paths: of the files; () where they are not found, or are others.
        manifest: of them, or None.
        lengths: (tokens, records) of a sample.
        note: what is to be said of them; "" if nothing.
    """

    title: str
    paths: Sequence[str] = ()
    manifest: Manifest | None = None
    lengths: Sequence[tuple[int, int]] = ()
    note: str = ""


def find_records(run: RunFolder, flag: str) -> Records | None:
    """The records that a flag of the run names; None if it names none.

    Args:
        run: of pre-training.
        flag: "input_file" or "eval_input_file".
    """
    patterns = run.settings.value(flag) if run.settings else None
    if not patterns:
        return None
    title = _TITLES[flag]
    try:
        paths = find_record_files(patterns, flag)
        state = next((one.state for one in reversed(run.checkpoints) if one.state), None)
        if flag == "input_file" and state and not are_as_noted(paths, state.input_files):
            return Records(title, note=f"--{flag}={patterns}: other files than the run read; they are not described.")
        lengths = Counter(len(instance.input_ids) for instance in read_some(paths[0], _SAMPLE))
        return Records(title, paths, read_manifest(paths), sorted(lengths.items()))
    except InputError as error:
        return Records(title, note=f"The records are not described: {error}.")
    except OSError as error:
        return Records(title, note=f"The records are not described: {error.filename}: {error.strerror}.")


def read_some(path: str, most: int) -> list[PretrainingInstance]:
    """The first records of a file.

    Raises:
        InputError: it is damaged, or holds something else.
    """
    found = []
    for offset, message in read_records(path):
        found.append(from_example(message, f"{path} at byte {offset}"))
        if len(found) == most:
            break
    return found


def records_blocks(records: Sequence[Records]) -> list[Block]:
    """A table of what the records hold, and the lengths of a sample of each."""
    blocks: list[Block] = []
    described = [one for one in records if one.manifest is not None]
    if described:
        facts = [_facts(one.manifest) for one in described if one.manifest]
        names = list(dict.fromkeys(name for fact in facts for name in fact))
        rows = [[name, *(fact.get(name, "–") for fact in facts)] for name in names]
        blocks.append(Table(["", *(one.title for one in described)], rows))
    charts = [
        bar_chart(f"Lengths of {sum(count for _, count in one.lengths):,} records, {one.title}", one.lengths, "tokens")
        for one in records
        if one.lengths
    ]
    if charts:
        blocks.append(Group("charts", [chart for chart in charts if chart is not None]))
    notes = [one.note for one in records if one.note]
    notes += [f"{one.title}: the records have no manifest." for one in records if one.paths and not one.manifest]
    return [*blocks, Notes(notes)] if notes else blocks


def _facts(manifest: Manifest) -> dict[str, str]:
    facts: dict[str, Any] = {
        "records": f"{manifest.num_examples:,} in {len(manifest.files)} file{'s' if len(manifest.files) > 1 else ''}",
        "max_seq_length": f"{manifest.max_seq_length}",
        "max_predictions_per_seq": f"{manifest.max_predictions_per_seq}",
        "sentence task": manifest.sentence_task,
        "vocabulary": f"{manifest.vocabulary.get('file')}, {manifest.vocabulary.get('size'):,} pieces",
    }
    for key, name in _NAMES.items():
        value = manifest.statistics.get(key)
        if type(value) in (int, float):
            facts[name] = f"{100 * value:.2f} %" if key in _SHARES else f"{round(value, 2):,}"
    if manifest.masking == DYNAMIC:
        facts["masked"] = f"drawn in training, {100 * manifest.masking_parameters['masked_lm_prob']:.4g} %"
    return facts
