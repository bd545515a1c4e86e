"""Pages of every kind of run: the numbers on them are those of the run's files, and every text stays text."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import run_folders

from albert_tf.reports.report import write_report
from albert_tf.runtime.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
NASTY = "<script>alert('&')</script>"
ERROR = {"example": 3, "label": NASTY, "prediction": "b", "probability": 0.9876, "text": f"a text {NASTY}"}
CLASSES = {
    "labels": [NASTY, "b"],
    "classes": [{"label": NASTY, "precision": None, "recall": 0.25, "f1": 0.5, "examples": 4, "predicted": 0}],
    "confusion_matrix": [[11, 22], [33, 44]],
    "wrong": 55,
    "errors": [ERROR],
}
TAGS = {
    "kinds": [{"kind": "PER", "precision": 0.75, "recall": 0.5, "f1": 0.6, "entities": 8}],
    "errors": [{"kind": "missed", "entity": "PER", "text": "Ann", "sentence": "Ann sees"}],
}
SQUAD = {
    "counts": {"right": 1602, "wrong": 680},
    "errors": [{"id": "q1", "question": "Who?", "prediction": "HIV", "gold": ["Watt", "Watt"], "f1": 0.0}],
}
REGRESSION = {
    "mean_absolute_difference": 0.5,
    "errors": [{"label": 0.5, "prediction": 3.25, "text": "t"}],
}


def test_a_pretraining_page_has_the_numbers_of_the_run(pretrained, show):
    page = show(pretrained)
    assert page.row("steps", 2) == ["1,000", "of 1,000"]
    # 10 examples a step, 32 tokens each.
    assert page.row("tokens", 1) == ["320k"]
    assert page.row("time in steps", 1) == ["20 s"]
    assert page.row("masked pieces right", 2) == ["12.50 %", "held out, step 500"]
    # Below its title: learning_rate, num_train_steps and so on, each beside its default.
    assert page.row("--learning_rate", 2) == ["0.5", "0.00176"]
    assert page.row("hidden_size", 1) == ["16"]
    assert page.row("together", 1) == ["3,526"]
    assert page.row("By checkpoint", 100)[5:9] == ["500", "12.50 %", "5.4321", "50"]
    assert {"best", "kept", "Loss of masked LM (nats)", "Gradient norm, before clipping"} <= set(page.texts)
    # The records are gone, and nothing is guessed of them.
    assert any("no file matches 'gone-*'" in text for text in page.texts)


def test_a_run_that_did_not_learn_is_told_of_with_the_warning_it_gave(pretrained, show):
    lines = [dict(line) for line in run_folders.pretraining_lines(600)]
    for line in lines[1:]:
        line |= {"masked_lm_loss": 6.9, "position_similarity": 0.991}
    run_folders.write_log(pretrained, [*lines, {"kind": "start", "step": 600, "precision": "bfloat16", "replicas": 1}])
    page = show(pretrained)
    told = [text for text in page.texts if text.startswith("At ")]
    assert [text.split(":")[0] for text in told] == ["At 5 of 5 reports after the warm-up, from step 200 to 600"] * 2
    assert "position_similarity 0.991: all positions of a text have nearly the same vector" in told[1]
    # It was taken up again.
    assert page.row("Processes that trained it", 9)[5:7] == ["0", "float32"]
    assert "600" in page.texts
    # It left the plateau after step 300.
    run_folders.write_log(pretrained, run_folders.pretraining_lines(1000))
    told = [text for text in show(pretrained).texts if text.startswith("At ")]
    assert [text.split(":")[0] for text in told] == ["At 2 of 9 reports after the warm-up, from step 200 to 300"]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (CLASSES, [NASTY, "11", "22", "33", "44", "0.988", "0.250", f"a text {NASTY}", "The surest errors"]),
        (TAGS, ["PER", "0.750", "0.600", "8", "Ann", "Ann sees", "By kind of entity"]),
        (SQUAD, ["right", "1,602", "680", "Who?", "HIV", "Watt", "q1"]),
        (REGRESSION, ["0.500", "3.250", "t"]),
    ],
    ids=["classes", "tags", "squad", "regression"],
)
def test_a_finetuning_page_has_scores_and_errors(write_finetuned, show, report, expected):
    page = show(write_finetuned("run", report, {"accuracy": 0.41625, "macro_f1": 0.4185}))
    assert [text for text in expected if text not in page.texts] == []
    assert page.row("accuracy, dev", 1) == ["41.62 %"]
    assert page.texts.count("0.4185") >= 3
    assert page.row("parameters", 1) == ["5k"]
    assert "Scores on held-out examples" in page.texts


def test_a_finetuning_that_learned_nothing_is_told_at_the_top(write_finetuned, show):
    folder = write_finetuned("run", {"classes": []}, {"accuracy": 0.5})
    assert not any("nothing was learned" in text for text in show(folder).texts)
    path = folder / "results.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "stuck": True}))
    assert any("nothing was learned" in text for text in show(folder).texts)


@pytest.mark.parametrize(
    ("command", "flags", "figures", "lead", "told"),
    [
        (
            *("train_embeddings", ("--objective=simcse",), {"accuracy": 0.5}, "Training of vectors of texts"),
            ("Right text is the nearest of the batch", "--objective", "simcse"),
        ),
        (
            *(
                "distil_vectors",
                ("--teacher=large",),
                {"cosine": 0.5, "relation": 1.5},
                "Distillation of vectors of texts",
            ),
            ("teacher", "Cosine with the teacher's vectors", "Divergence of relations from the teacher's (nats)"),
        ),
    ],
)
def test_a_page_of_vectors_has_settings_scores_and_curves(write_vectors, show, command, flags, figures, lead, told):
    folder = write_vectors(command, flags, **figures)
    page = show(folder)
    assert f"{lead} in {folder}" in page.texts
    assert not any(".flags" in text for text in page.texts)
    assert page.row("steps", 2) == ["20", "of 20"]
    assert page.row("spearman, dev", 1) == ["0.7500"]
    assert page.row("--num_train_steps", 2) == ["20", "–"]
    assert [page.row(name, 1)[0] for name in ("rows to learn from", "texts to be judged by, each once")] == [
        "1,234",
        "56",
    ]
    assert {"Loss", "Scores on held-out examples", "best", *told} <= set(page.texts)
    assert not {"Examples right", "Loss (nats)", "task"} & set(page.texts)
    # Without its flags it is known by what it learned.
    (folder / f"{command}.flags").unlink()
    page = show(folder)
    assert f"{lead} in {folder}" in page.texts
    assert f"{command}.flags is not there: the settings are not known." in page.texts


def test_runs_of_vectors_beside_one_another(write_vectors, show):
    page = show(write_vectors("train_embeddings", (), accuracy=0.5), write_vectors("distil_vectors", (), cosine=0.5))
    assert page.row("spearman, held out", 2) == ["0.7500", "0.7500"]
    assert {"Loss", "Right text is the nearest of the batch", "Cosine with the teacher's vectors"} <= set(page.texts)


def test_a_loss_has_a_unit_where_answers_are_right_or_wrong(write_finetuned, show):
    folder = write_finetuned("run", REGRESSION, {"pearson": 0.5})
    assert "Loss (nats)" in show(folder).texts
    log = folder / "train_log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    run_folders.write_log(folder, [{key: line[key] for key in line if key != "accuracy"} for line in lines])
    texts = show(folder).texts
    assert "Loss" in texts
    assert "Loss (nats)" not in texts


def test_an_empty_flag_file_is_no_run_of_defaults(write_finetuned, show):
    folder = write_finetuned("run", {"classes": []}, {"accuracy": 0.5})
    (folder / "run_finetuning.flags").write_text("")
    page = show(folder)
    told = "run_finetuning.flags is empty: the settings are not known."
    assert told in page.texts
    assert "Settings" not in page.texts


def test_many_classes_are_the_pairs_that_are_confused_most(write_finetuned, show):
    labels = [f"class {number}" for number in range(31)]
    counts = [[0] * 31 for _ in labels]
    counts[3][7], counts[8][2], counts[5][5] = 12, 34, 99
    page = show(write_finetuned("run", {"labels": labels, "confusion_matrix": counts}, {"accuracy": 1.0, "f1": 1.0}))
    cells = ["true class", "taken for", "examples", "class 8", "class 2", "34", "class 3", "class 7", "12"]
    assert page.row("The most frequent confusions", 9) == cells
    assert "99" not in page.texts
    assert page.row("dev", 2) == ["100.00 %", "1.0000"]


def test_thresholds_of_multi_label_predictions(write_finetuned, show):
    rows = [
        {"guid": "0", "prediction": ["a"], "label": ["a", "b"], "probabilities": {"a": 0.9, "b": 0.35}},
        {"guid": "1", "prediction": [], "label": [], "probabilities": {"a": 0.2, "b": 0.45}},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    page = show(write_finetuned("run", {"classes": [], "errors": []}, {"micro_f1": 0.5}, dev_predictions=text))
    cells = page.row("By threshold", 50)[5:]
    rows = {cells[at]: cells[at + 1 : at + 5] for at in range(0, 45, 5)}
    # By hand: at 0.1 all four are chosen, two of them rightly; at 0.3 three; at 0.5 only the first "a".
    assert rows["0.1"] == ["0.500", "1.000", "0.667", "0.500"]
    assert rows["0.3"] == ["0.667", "1.000", "0.800", "0.500"]
    assert rows["0.5"] == ["1.000", "0.500", "0.667", "0.500"]
    assert rows["0.9"] == rows["0.5"]
    assert "Over all classes together. The run's own predictions have 0.5." in page.texts


@pytest.mark.parametrize(
    ("given", "scores", "told"),
    [
        ("0.3", {}, "0.3"),
        ("0.3,0.25", {}, "0.3, 0.25"),
        ("one", {"threshold": 0.41237}, "0.4124"),
        ("each", {"threshold a": 0.25, "threshold b c": 0.5}, "0.25 for a, 0.5 for b c"),
    ],
)
def test_thresholds_of_the_run_are_those_it_was_given_or_found(write_finetuned, show, given, scores, told):
    row = {"guid": "0", "prediction": ["a"], "label": ["a"], "probabilities": {"a": 0.9, "b c": 0.35}}
    text = json.dumps(row) + "\n"
    folder = write_finetuned("run", {"classes": []}, {"micro_f1": 0.5, **scores}, dev_predictions=text)
    path = folder / "run_finetuning.flags"
    path.write_text(f"{path.read_text()}--multi_label\n--label_threshold={given}\n")
    page = show(folder)
    assert f"Over all classes together. The run's own predictions have {told}." in page.texts
    at = page.texts.index("Scores on held-out examples")
    assert not any("threshold" in text for text in page.texts[at : page.texts.index("By threshold")])


def test_seeds_have_a_row_each_with_median_and_spread(write_finetuned, show, tmp_path):
    seeds = []
    for seed, accuracy in ((1, 0.5), (2, 0.9), (3, 0.6)):
        write_finetuned(f"seeds/seed-{seed}", CLASSES, {"accuracy": accuracy})
        seeds.append({"random_seed": seed, "scores": {"dev": {"accuracy": accuracy}}})
    scores = {"scores": {"dev": {"accuracy": 0.6}}, "best": seeds[1]["scores"], "spread": {"dev": {"accuracy": 0.4}}}
    checkpoint = "elsewhere/seeds/seed-2/checkpoint-00000020"
    summary = {"task_name": "sst-2", "metric": "accuracy", "checkpoint": checkpoint, "seeds": seeds, **scores}
    summary["ensemble"] = {"scores": {"dev": {"accuracy": 0.8125}}}
    # It learned nothing, and seed 3 stands in its place.
    write_finetuned("seeds/seed-4", CLASSES, {"accuracy": 0.125})
    (tmp_path / "seeds" / "results.json").write_text(json.dumps(summary))
    page = show(tmp_path / "seeds")
    rows = [page.row(name, 1)[0] for name in ("seed 1", "seed 2", "seed 3", "median", "best", "spread")]
    assert rows == ["50.00 %", "90.00 %", "60.00 %", "60.00 %", "90.00 %", "40.00 %"]
    assert page.row("ensemble of 3", 1) == ["81.25 %"]
    assert "3 seeds; what is not of all of them is of seed 2." in page.texts
    assert "Scores of the chosen checkpoint" not in page.texts
    # Unfinished: no summary yet.
    (tmp_path / "seeds" / "results.json").unlink()
    assert any("did not come to its end" in text for text in show(tmp_path / "seeds").texts)


@pytest.mark.parametrize(
    ("folders", "varying", "names", "summaries"),
    [
        (
            ("rate-1e-05-seed-1", "rate-2e-05-seed-1"),
            [{"learning_rate": 1e-05}, {"learning_rate": 2e-05}],
            ("rate 1e-05, seed 1", "rate 2e-05, seed 1"),
            ("median of rate 1e-05", "spread of rate 1e-05", "best"),
        ),
        (
            ("seed-1-fold-1-of-2", "seed-1-fold-2-of-2"),
            [{"fold": 1}, {"fold": 2}],
            ("seed 1, fold 1", "seed 1, fold 2"),
            ("mean", "spread", "best"),
        ),
    ],
    ids=["rates", "folds"],
)
def test_runs_of_several_rates_or_folds_are_found(write_finetuned, show, tmp_path, folders, varying, names, summaries):
    runs = []
    for folder, told, accuracy in zip(folders, varying, (0.5, 0.9)):
        write_finetuned(f"several/{folder}", CLASSES, {"accuracy": accuracy})
        runs.append({"random_seed": 1, "scores": {"dev": {"accuracy": accuracy}}, **told})
    # Unfinished: no summary yet.
    page = show(tmp_path / "several")
    assert f"2 runs; what is not of all of them is of {names[0]}." in page.texts
    assert any("did not come to its end" in text for text in page.texts)
    assert not any("the log is lost" in text for text in page.texts)
    results = {
        **{"task_name": "rte", "metric": "accuracy", "runs": runs},
        **{"checkpoint": f"several/{folders[1]}/checkpoint-00000020", "best": runs[1]["scores"]},
        **{"scores": {"dev": {"accuracy": 0.7}}, "spread": {"dev": {"accuracy": 0.0}}},
    }
    if "learning_rate" in runs[0]:
        rates = [{"learning_rate": run["learning_rate"], "scores": run["scores"], "spread": {}} for run in runs]
        results |= {"rates": rates, "best_learning_rate": 2e-05}
    (tmp_path / "several" / "results.json").write_text(json.dumps(results))
    # What an earlier command left, which cut the training split into more parts.
    write_finetuned("several/seed-1-fold-1-of-3", CLASSES, {"accuracy": 0.1})
    page = show(tmp_path / "several")
    assert [page.row(name, 1)[0] for name in names] == ["50.00 %", "90.00 %"]
    assert set(summaries) <= set(page.texts)
    assert f"2 runs; what is not of all of them is of {names[1]}." in page.texts
    assert "Scores of the chosen checkpoint" not in page.texts
    assert "Split dev" in page.texts


def test_runs_beside_one_another_show_what_differs(pretrained, show, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(pretrained, other)
    path = other / "run_pretraining.flags"
    path.write_text(path.read_text().replace("--learning_rate=0.5", "--learning_rate=0.25\n--optimizer=adamw"))
    page = show(pretrained, other)
    at = page.texts.index("Different settings", page.texts.index("Different settings") + 1)
    assert page.texts[at + 1 :] == [
        *("pretrained", "other"),
        *("--optimizer", "lamb", "adamw"),
        *("--learning_rate", "0.5", "0.25"),
    ]
    assert page.texts.count("12.50 %") == 2
    # Two of the same name are told apart by the folders above them.
    shutil.copytree(pretrained, tmp_path / "deeper" / "pretrained")
    assert "deeper/pretrained" in show(pretrained, tmp_path / "deeper" / "pretrained").texts


def test_runs_of_several_seeds_beside_one_another_are_their_best_ones(write_finetuned, show, tmp_path):
    for run, accuracy in (("first", 0.5), ("second", 0.25)):
        seeds = [{"random_seed": seed, "scores": {"dev": {"accuracy": seed * accuracy}}} for seed in (1, 2)]
        for seed in seeds:
            write_finetuned(f"{run}/seed-{seed['random_seed']}", CLASSES, seed["scores"]["dev"])
        checkpoint = f"{run}/seed-2/checkpoint-00000020"
        results = {"task_name": "rte", "metric": "accuracy", "seeds": seeds, "checkpoint": checkpoint}
        results["scores"] = {"dev": {"accuracy": 1.5 * accuracy}}
        (tmp_path / run / "results.json").write_text(json.dumps(results))
    page = show(tmp_path / "first", tmp_path / "second")
    assert page.row("accuracy, dev", 2) == ["75.00 % (median of the seeds)", "37.50 % (median of the seeds)"]
    assert page.row("steps", 2) == ["10 (of 20)", "10 (of 20)"]
    assert "second: what is not of all its runs is of seed 2." in page.texts
    assert "No run has reported a step yet." not in page.texts
    assert {"first: 1 at 20", "second: 0.5 at 20"} <= set(page.texts)


def test_curves_of_unlike_sentence_tasks_have_the_names_of_both(pretrained, show, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(pretrained, other)
    run_folders.write_log(other, run_folders.pretraining_lines(1000, {"sentence_task": "nsp"}))
    page = show(pretrained, other)
    assert "Loss of sentence order and next sentence (nats)" in page.texts
    assert "Sentence order and next sentence: pairs right" in page.texts
    assert "Loss of next sentence (nats)" in show(other).texts


def test_a_run_that_just_began_says_what_there_is_not(pretrained, show):
    for step in (500, 1000):
        shutil.rmtree(pretrained / f"checkpoint-{step:08d}")
    (pretrained / "train_log.jsonl").unlink()
    (pretrained / "run.lock").write_text("")
    page = show(pretrained)
    assert "No step was reported yet." in page.texts
    assert page.texts[1].endswith("going on, or killed: its run.lock is there")
    assert page.row("steps", 2) == ["0", "of 1,000"]
    # The parameters are known by the config.
    assert page.row("together", 1) == ["3,526"]


def test_a_damaged_run_shows_the_rest(pretrained, show):
    log = pretrained / "train_log.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:6], "not JSON <b>", *lines[6:]]) + "\n")
    (pretrained / "albert_config.json").write_text("{")
    (pretrained / "run_pretraining.flags").write_text("--learning_rate=much\n--no_such_flag=<i>\n--do_train\n\xff\n")
    (pretrained / "checkpoint-00000500" / "evaluation.json").write_text("{}")
    (pretrained / "checkpoint-00000700").mkdir()
    (pretrained / "checkpoint-00001000" / "checkpoint.json").write_text("[]")
    (pretrained / "nonfinite-00000400.json").write_text('{"step": 400, "loss": null, "learning_rate": 0.125}')
    page = show(pretrained)
    text = "\n".join(page.texts)
    for part in (
        "line 7: not a line of a training log: 'not JSON <b>",
        "albert_config.json: not a JSON config",
        "checkpoint-00000500/evaluation.json is damaged",
        "checkpoint-00000700 is not complete",
        "checkpoint-00001000/checkpoint.json",
        "nonfinite-00000400.json: a loss that was not finite (step 400, learning_rate 0.125)",
    ):
        assert part in text
    # What no flag of this version is stands there as it was written.
    assert page.row("--learning_rate", 1) == ["much"]
    assert page.row("--no_such_flag", 1) == ["<i>"]
    # Five reports came before the line that is none.
    assert page.row("steps", 1) == ["1,000"]
    assert page.row("time in steps", 1) == ["10 s"]


@pytest.mark.parametrize(
    "report", [{"confusion_matrix": [[1]], "labels": ["a", "b"]}, {"classes": [3]}, {"errors": [1]}]
)
def test_a_report_that_no_run_writes_is_a_note(write_finetuned, show, report):
    page = show(write_finetuned("run", report, {"accuracy": 0.5}, dev_predictions="{}\n[\n"))
    assert "dev_report.json is not what a run writes; the rest of it is not shown." in page.texts


@pytest.mark.parametrize(
    ("folder", "message"),
    [("nothing", "no such folder"), ("empty", "no run in it"), ("file", "is no folder")],
)
def test_what_is_no_run_is_one_line_and_writes_nothing(tmp_path, folder, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=message) as caught:
        write_report([str(tmp_path / folder)], str(tmp_path / "page.html"))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "page.html").exists()


def test_texts_and_too_many_runs_are_refused(pretrained, tmp_path, write_finetuned):
    target, texts = str(tmp_path / "page.html"), tmp_path / "texts.txt"
    cases = {
        "holds no text": "\n\n",
        "line 2: no \\[MASK\\] in it": "a [MASK]\nb\n",
        "101 texts": "a [MASK]\n" * 101,
    }
    for message, text in cases.items():
        texts.write_text(text)
        with pytest.raises(InputError, match=message):
            write_report([str(pretrained)], target, str(texts))
    for path, message in ((tmp_path / "missing", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=message):
            write_report([str(pretrained)], target, str(path))
    texts.write_text("a [mask]")
    run = write_finetuned("run", CLASSES, {"accuracy": 0.5})
    for folders in ([str(run)], [str(pretrained)] * 2):
        with pytest.raises(InputError, match="--texts is for one run of pre-training"):
            write_report(folders, target, str(texts))
    with pytest.raises(InputError, match="9 runs; a page compares at most 8"):
        write_report([str(pretrained)] * 9, target)


def test_without_jinja2_the_pip_line_is_named(pretrained, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"a report needs jinja2: pip install 'albert_tf\[report\]'"):
        write_report([str(pretrained)], str(tmp_path / "page.html"), num_samples=0)


def test_the_command_loads_no_model_unless_it_is_asked_to(pretrained, tmp_path):
    target = tmp_path / "page.html"
    program = (
        "import sys; from albert_tf.write_report import main\n"
        "try: main()\n"
        "finally: print(sorted({'tensorflow', 'keras', 'matplotlib'} & set(sys.modules)))"
    )
    given = [f"--output_dir={pretrained}", f"--output_file={target}", "--num_samples=0"]
    command = [sys.executable, "-c", program, *given]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
    assert target.read_bytes().startswith(b"<!DOCTYPE html>")
