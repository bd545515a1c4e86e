"""Layers on a page: what they are measured on, and how the figures become charts."""

import hashlib
import json
import re

import numpy as np
import pytest
import run_folders
import safetensors.numpy

from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.records.pretraining_records import PretrainingInstance, to_example
from albert_tf.records.record_files import frame
from albert_tf.reports import experiment_report, layer_figure
from albert_tf.reports.layer_figure import layer_charts, layer_section, measure, sequences_of_records
from albert_tf.reports.records_facts import Records
from albert_tf.reports.run_folder import read_run
from albert_tf.runtime.errors import InputError

# Two layers of two heads.
_HEADS = {name: [[0.25, 0.75], [0.125, 0.375]] for name in ("entropy", "distance", "cls_share", "sep_share")}
MODEL = {
    **{"name": "a run", "num_tokens": 1234, "num_sequences": 5, "l2_distance": [3.0, 2.0], "angle": [60.0, 30.0]},
    **{"heads": _HEADS, "uniform": dict.fromkeys(_HEADS, 0.5)},
}


@pytest.fixture
def measured(monkeypatch):
    """A list of what is asked for: (checkpoint, name, sequences) of each call; the answer is MODEL."""
    asked = []

    def answer(path, name, sequences):
        asked.append((path, name, [(list(ids), list(segments)) for ids, segments in sequences]))
        return {**MODEL, "name": name}

    for module in (layer_figure, experiment_report):
        monkeypatch.setattr(module, "measure", answer)
    return asked


def _write_records(path, count, length=4):
    path.parent.mkdir(parents=True, exist_ok=True)
    instance = PretrainingInstance([1] * length, [0] * length, [1] * length, [1], [2], 0)
    path.write_bytes(frame(to_example(instance, length, 1)) * count)


def _write_features(folder, split, features):
    (folder / split).mkdir(parents=True)
    contents = safetensors.numpy.save(FeatureSet.from_features(features, "classification").to_arrays())
    (folder / split / "features.safetensors").write_bytes(contents)
    key = {"task": {"task_name": "classification"}}
    manifest = {"sha256": hashlib.sha256(contents).hexdigest(), "key": key}
    (folder / split / "manifest.json").write_text(json.dumps(manifest))


def test_so_many_records_are_looked_at_as_hold_the_tokens(tmp_path):
    _write_records(tmp_path / "few", 3)
    assert sequences_of_records(str(tmp_path / "few")) == [([1] * 4, [0] * 4)] * 3
    _write_records(tmp_path / "many", 100)
    assert len(sequences_of_records(str(tmp_path / "many"))) == 64
    _write_records(tmp_path / "long", 5, length=1500)
    assert len(sequences_of_records(str(tmp_path / "long"))) == 2
    _write_records(tmp_path / "longer", 2, length=5000)
    assert len(sequences_of_records(str(tmp_path / "longer"))) == 1


def test_a_run_of_pre_training_is_measured_on_its_held_out_records(pretrained, tmp_path, measured):
    run = read_run(str(pretrained))
    for name, count in (("train", 2), ("heldout", 3)):
        _write_records(tmp_path / name, count)
    records = [Records("training", [str(tmp_path / "train")]), Records("held out", [str(tmp_path / "heldout")])]
    section = layer_section(run, records)
    ((path, _, sequences),) = measured
    assert path.endswith("checkpoint-00001000") and len(sequences) == 3
    notes, charts = section.blocks
    assert notes.texts[0].startswith("By the checkpoint of step 1,000, over 1,234 tokens of 5 records, held out.")
    assert len(charts.parts) == 6
    assert layer_section(run, records[:1]) is not None
    assert len(measured[-1][2]) == 2
    assert layer_section(run, []) is None


def test_a_fine_tuning_is_measured_on_the_examples_of_its_dev_split(write_finetuned, measured):
    report = {"labels": ["a"], "classes": [], "confusion_matrix": [[1]]}
    folder = write_finetuned("run", report, {"accuracy": 0.5})
    run_folders.add_checkpoint(folder, 20)
    assert layer_section(read_run(str(folder)), []) is None
    features = [Feature(number, [1, 5 + number, 2], [0, 0, 1], 0) for number in range(2)]
    _write_features(folder / "features", "train", features[:1])
    _write_features(folder / "features", "dev", features)
    section = layer_section(read_run(str(folder)), [])
    assert measured[0][2] == [([1, 5, 2], [0, 0, 1]), ([1, 6, 2], [0, 0, 1])]
    assert "of 5 sequences of the split dev." in section.blocks[0].texts[0]
    # One of several runs shares the features of all.
    member = write_finetuned("run/seed-1", report, {"accuracy": 0.5})
    run_folders.add_checkpoint(member, 20)
    assert layer_section(read_run(str(member)), []) is not None
    (folder / "features/dev/features.safetensors").write_bytes(b"\x01")
    section = layer_section(read_run(str(folder)), [])
    (told,) = section.blocks[0].texts
    assert re.fullmatch(r"Nothing is said of the layers: .*dev/features\.safetensors is damaged\.", told)


def test_features_of_another_task_are_not_those_of_the_run(write_finetuned, measured):
    folder = write_finetuned("run", {"labels": []}, {"accuracy": 0.5})
    run_folders.add_checkpoint(folder, 20)
    _write_features(folder / "features", "dev", [Feature(0, [1, 2], [0, 0], 0)])
    path = folder / "features/dev/manifest.json"
    path.write_text(path.read_text().replace("classification", "race"))
    (told,) = layer_section(read_run(str(folder)), []).blocks[0].texts
    assert told.endswith("dev/features.safetensors is of the task race.")
    assert measured == []


def test_features_of_another_folder_are_found_by_the_flag(write_finetuned, measured, tmp_path):
    folder = write_finetuned("run", {"labels": []}, {"accuracy": 0.5})
    (folder / "run_finetuning.flags").write_text(f"--do_train\n--cache_dir={tmp_path / 'elsewhere'}\n")
    run_folders.add_checkpoint(folder, 20)
    _write_features(tmp_path / "elsewhere", "dev", [Feature(0, [1, 2], [0, 0], 0)])
    assert layer_section(read_run(str(folder)), []) is not None


def test_one_model_has_its_heads_and_several_have_a_line_each():
    charts = {chart.title: chart for chart in layer_charts([MODEL])}
    assert list(charts)[:3] == [
        *("L2 distance of input and output", "Angle of input and output (degrees)", "Entropy of attention (nats)"),
    ]
    entropy = charts["Entropy of attention (nats)"]
    assert [line.label for line in entropy.lines] == ["mean of the heads", "a head", "all alike"]
    assert [dot.text for dot in entropy.lines[1].dots] == [
        *("a head: 0.25 at 1", "a head: 0.75 at 1", "a head: 0.125 at 2", "a head: 0.375 at 2"),
    ]
    assert [tick.text for tick in entropy.x_ticks] == ["1", "2"]
    assert charts["Share of attention to [CLS]"].y_ticks[-1].text.endswith(" %")
    several = {chart.title: chart for chart in layer_charts([MODEL, {**MODEL, "name": "another"}])}
    lines = several["Entropy of attention (nats)"].lines
    assert [line.label for line in lines] == ["a run", "another"]
    assert [dot.text for dot in lines[0].dots] == ["a run: 0.5 at 1", "a run: 0.25 at 2"]


def test_a_page_of_an_experiment_has_the_layers_of_each_row(experiment, show, tmp_path, measured):
    folder = experiment()
    for place in range(2):
        run_folders.add_checkpoint(tmp_path / f"out/steps/pretraining-{place}-7/model", 1000)
    _write_records(tmp_path / "out/steps/records-1/records.tfrecord", 3)
    page = show(folder, num_samples=1)
    assert [name for _, name, _ in measured] == ["wide", "narrow"]
    assert [len(sequences) for _, _, sequences in measured] == [3, 3]
    assert "Of the same seed, over 1,234 tokens of held-out records; heads by their mean." in page.texts
    page = show(experiment(asked_alike=[["wide"], ["narrow"]]), num_samples=1)
    assert "Rows whose records differ, as is said above, are measured on their own." in page.texts
    (tmp_path / "out/steps/records-1/records.tfrecord").unlink()
    page = show(folder, num_samples=1)
    assert any(text.startswith("Of row wide nothing is said: ") for text in page.texts)
    assert "Entropy of attention (nats)" not in page.texts
    assert "Layers" not in show(folder).texts


def test_sequences_that_are_none_of_a_models_own_are_refused(export_checkpoint, monkeypatch):
    for ids in ([1] * 10_000, [1, 10_000_000, 2]):
        with pytest.raises(InputError, match="was not trained on examples like these"):
            measure(export_checkpoint, "mine", [(ids, [0] * len(ids))])
    monkeypatch.setattr("albert_tf.analysis.layers.LayerSums.means", lambda sums: {"l2_distance": [1.0, float("nan")]})
    with pytest.raises(InputError, match="gives values that are not finite"):
        measure(export_checkpoint, "mine", [([2, 3], [0, 0])])
    monkeypatch.undo()
    model = measure(export_checkpoint, "mine", [([2, 5, 6, 3], [0] * 4), (np.array([2, 7, 3]), np.zeros(3))])
    assert (model["name"], model["num_tokens"], model["num_sequences"]) == ("mine", 7, 2)
