"""Experiments from settings to page: with commands that only write what real ones would, and once with real ones."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from albert_tf.experiments import run as run_module
from albert_tf.experiments.run import ExperimentRun
from albert_tf.experiments.settings import ExperimentSettings
from albert_tf.experiments.steps import Own, Step
from albert_tf.runtime import shipped_files
from albert_tf.runtime.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
WORDS = "the a cat dog sat ran on under mat tree and then it was red blue old new house garden".split()  # noqa: SIM905
# What the commands write.
_WRITTEN = {
    "pretraining": {"kind": "start", "step": 0, "parameters": 700},
    "evaluation": {"masked_lm_accuracy": 0.25, "masked_lm_loss": 3.0, "sentence_order_accuracy": 0.75},
}


@pytest.fixture
def files(tmp_path):
    """A text of documents of made-up sentences, and its vocabulary."""
    sentences = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 8)) for i in range(1, 121)]
    documents = ["\n".join(sentences[at : at + 6]) for at in range(0, 120, 6)]
    (tmp_path / "text.txt").write_text("\n\n".join(documents) + "\n")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    return tmp_path


@pytest.fixture
def settings(files, write):
    """Settings of a run of the experiment that `write` writes."""

    def make(experiment=None, **changes) -> ExperimentSettings:
        given = {"experiment": experiment or write(), "input_file": str(files / "text.txt"), "held_out_every": 5}
        given |= {"spm_model_file": str(files / "vocab.txt"), "output_dir": str(files / "out")}
        return ExperimentSettings(**{**given, **changes})

    return make


@pytest.fixture
def made_up(monkeypatch):
    """Has steps run commands that only write; those of the rows in the list that it gives fail."""
    failing: list[str] = []

    def program(step, output_dir):
        if step.kind == "pretraining" and str(step.flags["albert_config_file"].values["num_hidden_layers"]) in failing:
            return ["sh", "-c", "echo 'run_pretraining: no room left' >&2; exit 1"]
        path, written = Path(step.folder(output_dir), step.result), json.dumps(_WRITTEN.get(step.kind, {}))
        path.parent.mkdir(exist_ok=True)
        others = [value.name for value in step.flags.values() if isinstance(value, Own)]
        others += [] if step.also is None else [os.path.basename(step.also)]
        script = 'echo "$1" >> "$2"; echo "$3" > "$4"; cd "$5"; shift 5; touch "$@"'
        return ["sh", "-c", script, "", step.kind, f"{output_dir}/ran.txt", written, path, path.parent, *others]

    def draw(table, output_file, title):
        Path(output_file).parent.mkdir(exist_ok=True)
        Path(output_file).write_text(title)

    monkeypatch.setattr(Step, "program", program)
    monkeypatch.setattr(run_module, "draw_table", draw)
    monkeypatch.setattr("albert_tf.experiments.runner._SECONDS_BETWEEN_LOOKS", 0.005)
    return failing


@pytest.mark.parametrize("name", shipped_files.names(shipped_files.EXPERIMENTS))
def test_a_shipped_experiment_can_be_run(name, settings):
    assert f"{name}: " in ExperimentRun(settings(name)).describe()


def _ran(files):
    return (files / "out/ran.txt").read_text().split()


def test_a_run_ends_in_a_table_a_picture_and_a_page_and_does_nothing_twice(files, settings, made_up):
    table = ExperimentRun(settings()).run()
    folder = files / "out/which"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("page.json", "page.md", "table.json", "table.md", "table.png")
    ]
    assert (folder / "table.md").read_text() == table
    assert table.splitlines()[2] == "| first | 0.00 M | 25.0 ± 0.0 % | 3.000 ± 0.000 | 75.0 ± 0.0 % |"
    page = (folder / "page.md").read_text()
    assert table in page
    assert page.count("-m albert_tf.run_pretraining") == 4
    assert page.count("-m data_prep.create_pretraining_data") == 2
    assert '| second | `{"config": {"num_hidden_layers": 1}}` |' in page
    assert "The same steps" not in page
    # What the pages need of the runs is where they say.
    told = [run for run in json.loads((folder / "page.json").read_text())["runs"] if run["row"] == "second"]
    assert [run["seed"] for run in told] == [1, 2]
    assert all((folder / run["folder"]).name == "model" and (folder / run["held_out"]).is_file() for run in told)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(_ran(files)) == 2 + 4 + 4
    assert ExperimentRun(settings()).run() == table
    assert len(_ran(files)) == 10
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("made_up")
def test_the_page_says_which_rows_are_asked_other_things(files, settings, write):
    short, longer = {"records": {"max_seq_length": 16}}, {"budget": {"steps": 20}}
    ExperimentRun(settings(write(rows={"first": {}, "short": short, "longer": longer}))).run()
    page = (files / "out/which/page.md").read_text()
    assert "(first, longer | short). Masked words and pairs compare between rows of one part" in page
    ExperimentRun(settings()).run()
    assert "asked the same" not in (files / "out/which/page.md").read_text()


def test_the_page_says_whether_what_the_paper_says_shows_here(files, settings, made_up, write):
    claim = {"text": "one layer is worse", "rows": ["second", "first"], "measure": "masked_lm", "column": "average"}
    paper = {"columns": ["average"], "rows": {"first": [80.5], "second": [80]}, "claims": [claim]}
    ExperimentRun(settings(write(paper=paper))).run()
    page = (files / "out/which/page.md").read_text()
    row = "| one layer is worse (second less first) | masked LM | -0.5 | +0.0 ± 0.0 | within the error |"
    assert row in page
    assert "less than 2 standard errors is within the error" in page
    (told,) = json.loads((files / "out/which/table.json").read_text())["claims"]
    assert (told["verdict"], told["difference"], told["paper"]) == ("within the error", 0.0, -0.5)


def test_a_row_that_fails_is_told_of_and_the_others_are_in_the_table(files, settings, made_up):
    made_up.append("1")
    with pytest.raises(InputError, match=r"^which: row second: run_pretraining: no room left \(exit code 1; .*log.txt"):
        ExperimentRun(settings()).run()
    page = (files / "out/which/page.md").read_text()
    assert "| first |" in page
    assert "- **row second failed:** run_pretraining: no room left" in page
    made_up.clear()
    assert "| second |" in ExperimentRun(settings()).run()
    # Nothing of the first row was done again.
    assert sorted(_ran(files)) == ["evaluation"] * 4 + ["pretraining"] * 4 + ["records"] * 2


def test_tasks_of_an_array_share_the_rows_and_the_last_one_makes_the_table(files, settings, made_up):
    first = ExperimentRun(settings(num_tasks=2)).run()
    assert "not finished (first, second); the last makes the table" in first
    assert not (files / "out/which").exists()
    assert "| second |" in ExperimentRun(settings(num_tasks=2, task_index=1)).run()
    assert len(_ran(files)) == 10


def test_the_last_task_makes_the_table_without_a_row_that_failed_in_another(files, settings, write, made_up):
    made_up.append("1")
    path = write(seeds=[1])
    with pytest.raises(InputError, match="which: row second: run_pretraining: no room left"):
        ExperimentRun(settings(path, num_tasks=2, task_index=1)).run()
    assert not (files / "out/which").exists()
    assert "second" not in ExperimentRun(settings(path, num_tasks=2)).run()
    assert "- **row second failed:** run_pretraining" in (files / "out/which/page.md").read_text()
    made_up.clear()
    assert "| second |" in ExperimentRun(settings(path, num_tasks=2, task_index=1)).run()
    assert "failed" not in (files / "out/which/page.md").read_text()


def test_rows_without_a_figure_have_no_picture(files, settings, write, made_up, monkeypatch):
    monkeypatch.setitem(_WRITTEN, "evaluation", {"masked_lm_loss": 3.0, "masked_lm_accuracy": 0.25})
    ExperimentRun(settings(write(evaluations=["sentence_order"]), rows=("first",))).run()
    assert "table as a picture" not in (files / "out/which/page.md").read_text()


def test_a_part_of_the_rows_makes_a_table_of_its_own(files, settings, made_up):
    assert "second" not in ExperimentRun(settings(rows=("first",))).run()
    assert len(_ran(files)) == 2 + 2 + 2


def test_more_seeds_are_done_beside_those_that_are_finished(files, settings, made_up):
    ExperimentRun(settings(num_seeds=1)).run()
    assert _ran(files).count("pretraining") == 2
    ExperimentRun(settings(num_seeds=3)).run()
    assert _ran(files).count("pretraining") == 6
    table = json.loads((files / "out/which/table.json").read_text())
    assert [len(cell["values"]) for row in table["rows"] for cell in row["cells"].values()] == [3] * 6


def test_a_trial_takes_nothings_place(files, settings, made_up):
    ExperimentRun(settings()).run()
    page = (files / "out/which/page.md").read_text()
    ExperimentRun(settings(num_train_steps=3)).run()
    assert (files / "out/which/page.md").read_text() == page
    assert "A trial" not in page
    assert "**A trial:**" in (files / "out/which-trial/page.md").read_text()


def test_a_page_tells_of_rows_that_it_has_not(files, settings, made_up):
    ExperimentRun(settings(rows=("first",))).run()
    assert "- **row second is left out:** with these flags" in (files / "out/which/page.md").read_text()


def test_text_that_cannot_be_used_stops_a_row_before_its_training(files, settings, made_up, monkeypatch):
    usual = Step.program

    def program(step, output_dir):
        is_bad = step.kind == "records" and step.flags.get("sentence_task") == "sop"
        return ["sh", "-c", "echo 'holds no sentence' >&2; exit 1"] if is_bad else usual(step, output_dir)

    monkeypatch.setattr(Step, "program", program)
    with pytest.raises(InputError, match="row first: holds no sentence"):
        ExperimentRun(settings()).run()
    assert _ran(files) == ["records"]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"split_sentences": True, "blank_line": "paragraph"}, "row first: records: blank_line=paragraph: --held_out"),
        (
            {"split_sentences": True, "input_format": "jsonl"},
            "row first: records: input_format=jsonl: --held_out_every",
        ),
    ],
)
def test_text_whose_documents_no_blank_line_ends_is_not_split(settings, write, records, message):
    path = write(rows={"first": {"records": records}})
    with pytest.raises(InputError, match=message):
        ExperimentRun(settings(path))


def test_held_out_text_is_not_that_of_training(files, settings, write):
    (files / "other.txt").write_text("a cat\n\na dog\n")
    (files / "same.txt").write_bytes((files / "text.txt").read_bytes())
    both = f"{files}/other.txt,{files}/text.txt"
    line = f"^--input_file: {files}/text.txt has the text of {files}/same.txt, of which models are to be evaluated"
    with pytest.raises(InputError, match=line):
        ExperimentRun(settings(input_file=both, held_out_file=str(files / "same.txt")))
    more = write(rows={"first": {"more_text": str(files / "same.txt")}})
    line = f"^which: row first: more_text: {files}/same.txt has the text of {files}/text.txt, of which"
    for changes in ({"input_file": str(files / "other.txt"), "held_out_file": str(files / "text.txt")}, {}):
        with pytest.raises(InputError, match=line):
            ExperimentRun(settings(more, **changes))


def test_a_step_is_the_same_however_its_numbers_are_written(settings, write):
    def keys(**records):
        path = write(rows={"first": {"records": records}})
        return [step.key for unit in ExperimentRun(settings(path)).units for step in unit.steps()]

    assert keys(short_seq_prob=0, dupe_factor=2) == keys(short_seq_prob=0.0, dupe_factor="2")
    assert keys(short_seq_prob=0.1) != keys(short_seq_prob=0)


def test_a_changed_file_does_what_changed_anew(files, settings, write, made_up):
    ExperimentRun(settings()).run()
    rows = {"first": {}, "second": {"config": {"num_hidden_layers": 1}}, "third": {"pretraining": {"beta_2": 0.98}}}
    assert "| third |" in ExperimentRun(settings(write(rows=rows))).run()
    assert _ran(files)[10:] == ["pretraining", "evaluation"] * 2


def test_a_dry_run_tells_what_is_left_and_how_long_it_takes(files, settings, made_up):
    text = ExperimentRun(settings(dry_run=True)).describe()
    assert "first, seed 1, 10 training steps: 4 steps left: 2 records, 1 pretraining, 1 evaluation" in text
    assert "10 steps left in all: 2 records, 4 pretraining, 4 evaluation" in text
    assert "not known yet" in text
    assert not (files / "out").exists()
    ExperimentRun(settings(rows=("first",))).run()
    text = ExperimentRun(settings(dry_run=True)).describe()
    assert "first, seed 2, 10 training steps: done" in text
    assert re.search(r"time, one step after the other: about \d+ s by the steps that are finished", text)
    ExperimentRun(settings()).run()
    assert "nothing is left to do" in ExperimentRun(settings(dry_run=True)).describe()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": ("fist",)}, "--rows: which has no row 'fist'; it has first, second"),
        ({"num_seeds": 0}, "--num_seeds must be at least 1"),
        ({"task_index": 2, "num_tasks": 2}, "--task_index must be from 0 to --num_tasks - 1"),
        ({"output_dir": "gs://bucket/out"}, "steps need a folder of this machine"),
        ({"output_dir": "out,1"}, "--output_dir=out,1: a comma separates paths"),
        ({"output_dir": __file__}, "run_test.py is no folder"),
        ({"held_out_every": 50}, "holds 20 documents, too few for --held_out_every=50"),
    ],
)
def test_flags_that_cannot_be_are_one_line(settings, changes, message):
    with pytest.raises(InputError, match=message):
        ExperimentRun(settings(**changes))


@pytest.mark.parametrize("flag", ["train_file", "teacher", "spm_model_file", "albert_config_file"])
def test_a_changed_file_of_a_task_is_another_step(files, settings, write, flag):
    train = files / "train.tsv"
    (files / "dev.tsv").write_text("text\tlabel\na\tx\nb\ty\n")
    given = {"train_file": str(files / "dev.tsv"), "dev_file": str(files / "dev.tsv"), flag: str(train)}
    path = write(tasks=[{"task_name": "classification", "flags": given}])
    keys = []
    for text in ("a", "b", "a"):
        train.write_text(f"text\tlabel\n{text}\tx\nc\ty\n")
        (unit, *_) = ExperimentRun(settings(path)).units
        keys.append(unit.finetuning["classification", 12345].key)
    assert keys[0] == keys[2] != keys[1]


def test_a_changed_config_is_another_evaluation_and_a_shipped_one_is_found(files, settings, write):
    config = files / "config.json"
    path = write(evaluation={"albert_config_file": str(config)})
    keys = []
    for text in ("a", "b"):
        config.write_text(text)
        keys.append(ExperimentRun(settings(path)).units[0].evaluations["sop"].key)
    assert keys[0] != keys[1]
    (unit, *_) = ExperimentRun(settings(write(evaluation={"albert_config_file": "albert_tiny"}))).units
    assert unit.evaluations["sop"].flags["albert_config_file"].path.endswith("albert_tiny.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation": {"albert_config_file": 5}}, "which: evaluation: albert_config_file: text was expected"),
        ({"tasks": [{"task_name": "rte", "flags": {"dev_file": ["a"]}}]}, "which: task rte: dev_file: text was expect"),
        (
            {"tasks": [{"task_name": "rte", "flags": {"teacher": "no/such"}}]},
            "which: task rte: teacher: there is no no/",
        ),
        ({"tasks": [{"task_name": "rte"}]}, "which: task rte: --data_dir must say where the files"),
        ({"tasks": [{"task_name": "rte", "data_dir": ""}]}, "data_dir: a path was expected"),
        ({"evaluation": {"init_checkpoint": ""}}, "'init_checkpoint' is set by run_experiments"),
        ({"evaluation": {"albert_config_file": ""}}, "which: evaluation: albert_config_file: a path was expected"),
    ],
)
def test_what_is_no_path_is_one_line(settings, write, changes, message):
    with pytest.raises(InputError, match=message):
        ExperimentRun(settings(write(**changes)))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("steps", "steps/ is the folder of the steps; rename it"),
        ("which-trial", "-trial at the end of a name is for what trials come to"),
        ("a,b", "a comma separates names; rename it"),
    ],
)
def test_a_name_that_is_taken_is_refused(settings, write, tmp_path, name, line):
    path = Path(write()).rename(tmp_path / f"{name}.json")
    with pytest.raises(InputError, match=line):
        ExperimentRun(settings(str(path)))


def test_a_task_without_its_folder_is_one_line(settings, write):
    path = write(tasks=[{"task_name": "rte", "data_dir": "no/such"}])
    with pytest.raises(InputError, match="which: task rte: data_dir: there is no no/such; a path starts from"):
        ExperimentRun(settings(path))


_SMALL = {
    "config": {
        **{"embedding_size": 4, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2},
        **{"intermediate_size": 8, "max_position_embeddings": 32},
    },
    "records": {"max_seq_length": 32, "max_predictions_per_seq": 4, "dupe_factor": 2},
    "pretraining": {"train_batch_size": 8, "num_warmup_steps": 1, "optimizer": "adamw", "learning_rate": 0.01},
    "budget": {"steps": 4},
    "model": "albert_tiny",
}


@pytest.mark.slow
def test_real_commands_killed_on_the_way_come_to_the_same_table(files, write):
    task = files / "task"
    task.mkdir()
    for name in ("train", "dev"):
        rows = [f"{'cat' if number % 2 else 'dog'}\tthe {WORDS[number % 15]} sat" for number in range(16)]
        (task / f"{name}.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n")
    fine = {"num_train_steps": 2, "train_batch_size": 4, "num_warmup_steps": 0, "max_seq_length": 16}
    path = write(
        base=_SMALL,
        rows={"nsp": {"records": {"sentence_task": "nsp"}}},
        seeds=[1],
        evaluations=["masked_lm", "sentence_order", "next_sentence"],
        tasks=[{"task_name": "classification", "data_dir": str(task), "flags": fine}],
    )

    def command(out):
        given = [f"--experiment={path}", f"--input_file={files / 'text.txt'}", "--held_out_every=4"]
        given += [f"--spm_model_file={files / 'vocab.txt'}", f"--output_dir={files / out}"]
        return [sys.executable, "-m", "albert_tf.run_experiments", *given]

    whole = subprocess.run(command("whole"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    for seconds, number in ((6, signal.SIGKILL), (12, signal.SIGTERM), (9, signal.SIGKILL)):
        with subprocess.Popen(command("killed"), cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
            time.sleep(seconds)
            run.send_signal(number)
    subprocess.run(command("killed"), cwd=ROOT, capture_output=True, check=True)
    tables = [(files / out / "which/table.json").read_bytes() for out in ("whole", "killed")]
    assert tables[0] == tables[1]
    (row,) = json.loads(tables[0])["rows"]
    assert 100 < row["parameters"] < 2000
    # A head of one task, scored on records of both.
    scores = {"sentence_order_accuracy/sop", "next_sentence_balanced_accuracy/nsp", "task/classification"}
    assert scores <= set(row["cells"])
    assert os.path.getsize(files / "whole/which/table.png") > 10_000
