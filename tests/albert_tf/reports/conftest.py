"""Folders of runs to report on, and pages as a reader sees them."""

import functools
import json
import re

import experiment_folders
import pytest
import run_folders

from albert_tf.reports.report import write_report


@pytest.fixture
def show(tmp_path):
    """A function of folders and options of write_report, to the page that comes of them."""

    def make(*folders, **options):
        target = tmp_path / "page.html"
        write_report([str(folder) for folder in folders], str(target), **{"num_samples": 0, **options})
        source = target.read_text()
        reader = run_folders.PageReader()
        reader.feed(source)
        reader.close()
        outside = [tag for tag in reader.tags if tag[0] in ("script", "link", "img", "iframe") or "src" in tag[1]]
        assert outside == []
        assert all(tag[1]["href"].startswith("#") for tag in reader.tags if "href" in tag[1])
        assert not re.search(r"url\(|@import|https?:", source)
        assert len(source) < 1_000_000
        return run_folders.Shown(source, reader.texts, reader.tags)

    return make


@pytest.fixture
def pretrained(tmp_path):
    """The folder of a finished pre-training of 1,000 steps with two checkpoints."""
    folder = tmp_path / "pretrained"
    folder.mkdir()
    flags = ("--output_dir=runs/pretrained", "--input_file=gone-*", "--num_train_steps=1000", "--learning_rate=0.5")
    (folder / "run_pretraining.flags").write_text("\n".join((*flags, "--num_warmup_steps=10", "--do_train")) + "\n")
    run_folders.CONFIG.to_json_file(str(folder / "albert_config.json"))
    scores = {"masked_lm_accuracy": 0.125, "masked_lm_loss": 5.4321, "num_examples": 50}
    lines = [*run_folders.pretraining_lines(1000), {"kind": "eval", "step": 500, **scores}]
    run_folders.write_log(folder, lines)
    run_folders.add_checkpoint(folder, 500, scores)
    run_folders.add_checkpoint(folder, 1000, {**scores, "masked_lm_accuracy": 0.0625})
    return folder


@pytest.fixture
def experiment(tmp_path):
    """A function that writes the folder of an experiment, with its runs beside it."""
    return functools.partial(experiment_folders.write_experiment, tmp_path / "out")


@pytest.fixture
def write_finetuned(tmp_path):
    """A function that writes the folder of a fine-tuning: (its name, the report of its dev split, files besides)."""

    def write(name, report, scores, **files):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "run_finetuning.flags").write_text("--task_name=classification\n--do_train\n--num_train_steps=20\n")
        run_folders.CONFIG.to_json_file(str(folder / "albert_config.json"))
        train = {"kind": "train", "step": 10, "loss": 0.5, "accuracy": 0.75, "learning_rate": 1e-4, "seconds": 1.0}
        evaluations = [{"kind": "eval", "step": step, **scores, "num_examples": 4} for step in (10, 20)]
        run_folders.write_log(folder, [{"kind": "start", "step": 0, "parameters": 5000}, train, *evaluations])
        results = {"task_name": "classification", "metric": next(iter(scores)), "scores": {"dev": scores}}
        (folder / "results.json").write_text(json.dumps(results))
        (folder / "dev_report.json").write_text(json.dumps(report))
        for file, text in files.items():
            (folder / f"{file}.jsonl").write_text(text)
        return folder

    return write


@pytest.fixture
def write_vectors(tmp_path):
    """A function that writes the folder of a training of vectors: (its command, flags, figures of a report)."""

    def write(command, flags, **figures):
        folder = tmp_path / command
        folder.mkdir()
        (folder / f"{command}.flags").write_text("\n".join(("--num_train_steps=20", "--do_eval", *flags)) + "\n")
        run_folders.CONFIG.to_json_file(str(folder / "albert_config.json"))
        train = {"kind": "train", "step": 10, "loss": 0.5, **figures, "learning_rate": 1e-4, "seconds": 1.0}
        scores = {"spearman": 0.75, "pearson": 0.625}
        evaluations = [{"kind": "eval", "step": step, **scores, "num_examples": 4} for step in (10, 20)]
        start = {"kind": "start", "step": 0, "parameters": 3000}
        run_folders.write_log(folder, [start, train, {**train, "step": 20}, *evaluations])
        judged = {**scores, "best_metric": "spearman", "dev_set": "ab" * 32}
        run_folders.add_checkpoint(folder, 20, judged, pooling={"mode": "mean", "normalize": True})
        (folder / "results.json").write_text(json.dumps({"metric": "spearman", "scores": {"dev": scores}}))
        for split, count in (("train", 1234), ("dev", 56)):
            (folder / "features" / split).mkdir(parents=True)
            (folder / "features" / split / "manifest.json").write_text(json.dumps({"examples": count}))
        return folder

    return write
