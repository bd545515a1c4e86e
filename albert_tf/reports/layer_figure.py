"""The figure of a model's layers: how far each moves its input, and where its heads look; of one run, or of several."""

import hashlib
import itertools
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import safetensors.numpy

from albert_tf.analysis.layer_table import HEAD_TITLES, LAYER_TITLES, heads_of_layer
from albert_tf.inputs.finetuning_cache import FEATURES, MANIFEST
from albert_tf.inputs.finetuning_features import SEGMENT_IDS, FeatureSet, Ragged
from albert_tf.records.manifest import find_record_files
from albert_tf.reports.blocks import Group, Notes, Section
from albert_tf.reports.charts import COLORS, Chart, Curve, line_chart, percent, short_number
from albert_tf.reports.records_facts import Records, read_some
from albert_tf.reports.run_folder import RunFolder, reason_of
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr

# Pieces that are looked at: the means of more are much the same.
_MOST_TOKENS, _MOST_SEQUENCES = 4096, 64
_MOST_DOTS = 1000
_GRAY = COLORS - 1

# Of each sequence its ids, from [CLS] to the last [SEP], and its segments.
Sequences = Sequence[tuple[Sequence[int], Sequence[int]]]


def sequences_of_records(patterns: str) -> Sequences:
    """Some records, with whatever is masked in them.

    Raises:
        InputError: no such file, or what it holds is damaged.
    """
    records = read_some(find_record_files(patterns)[0], _MOST_SEQUENCES)
    return _some([(record.input_ids, record.segment_ids) for record in records])


def _sequences_of_features(folder: str, task_name: str | None) -> tuple[Sequences, str]:
    """Some sequences that a fine-tuning or a training of vectors keeps, and the name of their split; ([], "") of none.

    Raises:
        InputError: they are damaged, or of another task.
    """
    splits = [name for name in files.list_folder(folder) if files.exists(os.path.join(folder, name, FEATURES))]
    if not splits:
        return [], ""
    split = min(splits, key=lambda name: (not name.startswith("dev"), name))
    path = os.path.join(folder, split, FEATURES)
    manifest = files.read_json(os.path.join(folder, split, MANIFEST))
    with files.open_binary(path) as file:
        contents = file.read()
    if hashlib.sha256(contents).hexdigest() != manifest.get("sha256"):
        raise InputError(f"{path} is damaged")
    key = manifest.get("key")
    task = key.get("task") if isinstance(key, dict) else None
    of = task.get("task_name") if isinstance(task, dict) else None
    if of != task_name and None not in (of, task_name):
        raise InputError(f"{path} is of the task {of}")
    features = FeatureSet.from_arrays(safetensors.numpy.load(contents), "")
    ids = features.sequences
    segments = Ragged.of_lengths(features.columns[SEGMENT_IDS].values, ids.lengths)
    return _some([(ids[row], segments[row]) for row in range(min(len(ids), _MOST_SEQUENCES))]), split


def measure(path: str, name: str, sequences: Sequences) -> dict[str, Any]:
    """Measures the layers of a checkpoint; imports TensorFlow.

    Args:
        path: of the checkpoint.
        name: what to call it.
        sequences: at least one.

    Raises:
        InputError: the checkpoint cannot be used, or the sequences are none of its own.
    """
    import_tensorflow(log_level=3)
    with quiet_stderr():
        from albert_tf.analysis.layers import measure_sequences
        from albert_tf.conversion.pretrained import load_pretrained

        encoder = load_pretrained(path, allow_missing_heads=True).model.albert
    config = encoder.config
    longest = max(len(ids) for ids, _ in sequences)
    highest = max(max(ids) for ids, _ in sequences)
    if longest > config.max_position_embeddings or highest >= config.vocab_size:
        raise InputError(f"{path} was not trained on examples like these: they have other pieces, or are longer")
    found = measure_sequences(encoder, sequences)
    if not np.isfinite(found["l2_distance"]).all():
        raise InputError(f"{path} gives values that are not finite")
    return {"name": name, **found}


def layer_section(run: RunFolder, records: Sequence[Records]) -> Section | None:
    """The section of one run, of its newest checkpoint; where that cannot be looked at, with a note alone.

    Args:
        run: whose layers they are; None comes of one without a checkpoint, or without anything to look at.
        records: of a pre-training.
    """
    if not run.checkpoints:
        return None
    checkpoint = run.checkpoints[-1]
    try:
        sequences, of_what = _sequences_of(run, records)
        if not sequences:
            return None
        model = measure(checkpoint.path, run.name, sequences)
    except (InputError, OSError) as error:
        return Section("Layers", [Notes([f"Nothing is said of the layers: {reason_of(error)}."])])
    note = (
        f"By the checkpoint of step {checkpoint.step:,}, over {model['num_tokens']:,} tokens of "
        f"{model['num_sequences']} {of_what}. Of attention the line is the mean of a layer's heads, a dot one head, "
        "the dashed line what it were if every token looked at all tokens alike."
    )
    return Section("Layers", [Notes([note]), Group("charts", layer_charts([model]))])


def _sequences_of(run: RunFolder, records: Sequence[Records]) -> tuple[Sequences, str]:
    """(some of the examples of a run, those that are held out if there are such, what they are)."""
    for found in reversed([one for one in records if one.paths]):
        return sequences_of_records(found.paths[0]), f"records, {found.title}"
    sequences, split = _sequences_of_features(run.features_folder, run.results.get("task_name"))
    return sequences, f"sequences of the split {split}"


def layer_charts(models: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """The charts of one model, with its heads, or of several over one another, a colour for each.

    Args:
        models: of each "name" and what `measure` returns.
    """
    charts = []
    for name, title in (*LAYER_TITLES.items(), *HEAD_TITLES.items()):
        curves = [curve for number, model in enumerate(models) for curve in _curves(model, name, number, len(models))]
        number = percent if name.endswith("share") else short_number
        charts.append(
            line_chart(
                title[0].upper() + title[1:],
                curves,
                number,
                x_title="layer",
                bounds=(0.0, None),
                from_zero=False,
                most_dots=_MOST_DOTS,
            )
        )
    return [chart for chart in charts if chart is not None]


def _curves(model: Mapping[str, Any], name: str, number: int, of: int) -> list[Curve]:
    layers = list(range(1, len(model["l2_distance"]) + 1))
    if name in LAYER_TITLES:
        values, heads = model[name], None
    else:
        of_layers = [heads_of_layer(model, name, layer - 1) for layer in layers]
        values = [statistics.fmean(of_layer) for of_layer in of_layers]
        heads = [(layer, value) for layer, of_layer in zip(layers, of_layers) for value in of_layer]
    look = {"color": number, "is_dashed": number >= COLORS, "is_smoothed": False}
    if of > 1 or heads is None:
        return [Curve(model["name"], (layers, values), (layers, values), **look)]
    alike = model["uniform"][name]
    return [
        Curve("mean of the heads", (layers, values), **look),
        Curve("a head", marks=([layer for layer, _ in heads], [value for _, value in heads]), color=1),
        Curve("all alike", (layers, [alike] * len(layers)), color=_GRAY, is_dashed=True, is_smoothed=False),
    ]


def _some(sequences: Sequences) -> Sequences:
    """The first of them that hold no more tokens together than are looked at; the first in any case."""
    lengths = itertools.accumulate(len(ids) for ids, _ in sequences)
    return sequences[: max(1, sum(length <= _MOST_TOKENS for length in lengths))]
