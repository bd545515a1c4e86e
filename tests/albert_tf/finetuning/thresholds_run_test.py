"""Thresholds of labels from the dev split on: through a run, its checkpoint, predict, and every export."""

import dataclasses
import json
from pathlib import Path

import pytest

import albert_tf
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.finetune import run
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.server.portable_model import PortableServedModel
from albert_tf.tasks.registry import TaskOptions


@pytest.mark.slow
def test_what_was_found_on_dev_decides_wherever_the_model_is_asked(finetuning_settings, tmp_path):
    folder = Path(finetuning_settings.data_dir)
    for split in ("train", "dev"):
        rows = [line.rsplit("\t", 1) for line in (folder / f"{split}.tsv").read_text().splitlines()[1:]]
        lines = [{"text": text, "label": ["rare"] * (n % 5 == 0) + ["b"] * int(x)} for n, (text, x) in enumerate(rows)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / f"{split}.tsv").unlink()
    options = TaskOptions(multi_label=True, labels=("rare", "b"), label_threshold="each")
    settings = dataclasses.replace(
        finetuning_settings, task_name="classification", task_options=options, best_metric="macro_f1"
    )
    results = run(settings)
    assert results["metric"] == "macro_f1"
    scores = results["scores"]["dev"]
    assert 0 < scores["threshold rare"] < 0.5
    texts = [json.loads(line)["text"] for line in (folder / "dev.jsonl").read_text().splitlines()]
    with open(Path(settings.output_dir, "dev_predictions.jsonl")) as file:
        written = [json.loads(line)["prediction"] for line in file]
    assert any("rare" in labels for labels in written)
    (folder / "test.tsv").unlink()
    (folder / "test.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    later = dataclasses.replace(settings, do_train=False, task_options=TaskOptions(multi_label=True))
    assert run(later)["scores"] == results["scores"]
    run(dataclasses.replace(later, do_eval=False, do_predict=True))
    with open(Path(settings.output_dir, "test_predictions.jsonl")) as file:
        assert [json.loads(line)["prediction"] for line in file] == written
    saved, onnx = str(tmp_path / "saved"), str(tmp_path / "onnx")
    export_saved_model(ExportSettings(init_checkpoint=settings.output_dir, output_dir=saved))
    export_model(ModelExportSettings(init_checkpoint=settings.output_dir, output_dir=onnx, format="onnx"))
    for model in (settings.output_dir, saved, onnx):
        assert [row["labels"] for row in albert_tf.Predictor(model).predict(texts)] == written
    assert "thresholds" in PortableServedModel(onnx).signatures["classify"].outputs
