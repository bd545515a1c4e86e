"""The arithmetic of the table, by hand, and the table as Markdown and as JSON."""

import json
import math
from pathlib import Path

import pytest

from albert_tf.experiments.experiment import read_experiment
from albert_tf.experiments.table import NUMBER, PERCENT, Cell, Column, Table, TableRow, columns_of, make_table
from albert_tf.runtime.errors import InputError


@pytest.fixture
def fill(tmp_path):
    """Writes what the steps of units would have written."""

    def write(units, score=lambda unit, seed: 0.5):
        for unit in units:
            log = Path(unit.pretraining.folder(str(tmp_path)), unit.pretraining.result)
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(json.dumps({"kind": "start", "step": 0, "parameters": 1_250_000}) + "\n")
            for task, step in unit.evaluations.items():
                figures = {"masked_lm_accuracy": unit.seed / 10, "masked_lm_loss": 3.0 + unit.seed, "num_examples": 9}
                if "none" not in (task, unit.row.records.get("sentence_task", "sop")):
                    name = {"sop": "sentence_order", "nsp": "next_sentence"}[task]
                    figures[f"{name}_accuracy"] = 0.5 + unit.seed / 10
                _write(step, tmp_path, figures)
            for (_, seed), step in unit.finetuning.items():
                results = {"metric": "f1", "scores": {"dev": {"accuracy": 0.0, "f1": score(unit, seed)}}}
                _write(step, tmp_path, results)
        return str(tmp_path)

    return write


def _write(step, folder, values):
    path = Path(step.folder(str(folder)), step.result)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def test_a_cell_is_the_mean_and_its_standard_error():
    cell = Cell.of([0.2, 0.4, 0.9])
    assert cell.mean == pytest.approx(0.5)
    # Deviations -0.3, -0.1, 0.4: squares 0.26, over n - 1 = 2 is 0.13; by the root of 3.
    assert cell.standard_error == pytest.approx(math.sqrt(0.13 / 3))
    assert Cell.of([0.2]).standard_error is None


def test_seeds_of_fine_tuning_are_no_seeds_of_pre_training():
    assert Cell.of_groups([[0.1], [0.3]]) == Cell.of([0.1, 0.3])
    alone = Cell.of_groups([[0.1, 0.3]])
    assert (alone.values, alone.groups) == ((0.1, 0.3), ((0.1, 0.3),))
    # Means 0.2 and 0.6: their standard error is half of their distance.
    cell = Cell.of_groups([[0.1, 0.3], [0.6, 0.6]])
    assert (cell.mean, cell.standard_error) == (pytest.approx(0.4), pytest.approx(0.2))


def test_the_table_of_finished_rows(units, write, fill):
    rows = {"none": {"records": {"sentence_task": "none"}}, "sop": {}}
    tasks = [{"task_name": "rte", "seeds": [1, 2]}, {"task_name": "mrpc"}]
    paper = {"columns": ["F1"], "rows": {"sop": [86.5]}}
    changes = {"rows": rows, "tasks": tasks, "paper": paper, "evaluations": ["masked_lm", "sentence_order"]}
    made = units(**changes)
    experiment = read_experiment(write(**changes))
    output_dir = fill(made, score=lambda unit, seed: 0.4 + seed / 10 if seed < 3 else 0.9)
    table = make_table(experiment, made, output_dir)
    none, sop = table.rows
    assert (sop.parameters, sop.num_train_steps, sop.paper) == (1_250_000, 10, (86.5,))
    assert sop.cells["masked_lm_accuracy/sop"].values == (0.1, 0.2)
    assert sop.cells["sentence_order_accuracy/sop"].mean == pytest.approx(0.65)
    assert "sentence_order_accuracy/sop" not in none.cells
    # Scores 0.5 and 0.6 of rte with each of two seeds, 0.9 of mrpc.
    assert sop.cells["task/rte"].values == (pytest.approx(0.55),) * 2
    assert sop.cells["task_average"].mean == pytest.approx((0.55 + 0.9) / 2)
    lines = table.to_markdown().splitlines()
    assert lines[0] == (
        "|  | parameters | masked LM, SOP records | nats, SOP records | masked LM, single segments | "
        "nats, single segments | sentence order | rte | mrpc | average of tasks | paper: F1 |"
    )
    words = "15.0 ± 5.0 % | 4.500 ± 0.500"
    assert lines[2] == (f"| none | 1.25 M | {words} | {words} |  | 55.0 ± 0.0 % | 90.0 ± 0.0 % | 72.5 ± 0.0 % |  |")
    assert lines[3].endswith("| 65.0 ± 5.0 % | 55.0 ± 0.0 % | 90.0 ± 0.0 % | 72.5 ± 0.0 % | 86.5 |")
    values = json.loads(json.dumps(table.to_json()))
    assert values["rows"][1]["cells"]["masked_lm_loss/sop"] == {
        "values": [4.0, 5.0],
        "mean": 4.5,
        "standard_error": pytest.approx(0.5),
        "groups": [],
    }
    # What each fine-tuning came to, by the seeds of pre-training.
    assert values["rows"][1]["cells"]["task/rte"]["groups"] == [pytest.approx([0.5, 0.6])] * 2
    assert values["rows"][1]["paper"] == {"F1": 86.5}
    # A row whose seeds are not all there is left out.
    assert [row.name for row in make_table(experiment, made[2:], output_dir).rows] == ["sop"]


def test_fine_tunings_that_learned_nothing_are_told_of(units, write, fill):
    changes = {"tasks": [{"task_name": "rte", "seeds": [1, 2]}]}
    made, experiment = units(**changes), read_experiment(write(**changes))
    output_dir = fill(made)
    assert [row.warnings for row in make_table(experiment, made, output_dir).rows] == [[], []]
    step = made[0].finetuning["rte", 2]
    _write(step, output_dir, {**step.read_result(output_dir), "stuck": True})
    (warning,) = make_table(experiment, made, output_dir).rows[0].warnings
    # Two seeds of pre-training, two of fine-tuning.
    assert warning.startswith("row first: 1 of 4 fine-tunings on rte learned nothing")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("evaluation", {}),
        ("evaluation", {"masked_lm_loss": None}),
        ("evaluation", {"masked_lm_loss": 3.0, "masked_lm_accuracy": "0.5"}),
        ("evaluation", {"masked_lm_loss": 3.0, "masked_lm_accuracy": 0.5, "sentence_order_loss": float("nan")}),
        ("evaluation", []),
        ("finetuning", {"scores": {}}),
        ("finetuning", {"metric": "f1", "scores": {"dev": {"f1": None}}}),
        ("finetuning", {"metric": "f1", "scores": [1]}),
    ],
)
def test_what_no_command_writes_is_refused(units, write, fill, kind, values):
    changes = {"tasks": [{"task_name": "rte"}]}
    made, experiment = units(**changes), read_experiment(write(**changes))
    output_dir = fill(made)
    step = next(step for step in made[0].steps() if step.kind == kind)
    _write(step, output_dir, values)
    with pytest.raises(InputError, match=f"is not what {kind} writes; remove .*{step.key} to do it again"):
        make_table(experiment, made, output_dir)


def test_a_bar_in_a_name_ends_no_cell(units, write, fill):
    changes = {"tasks": [{"task_name": "rte", "name": "a|b"}]}
    made, experiment = units(**changes), read_experiment(write(**changes))
    head = make_table(experiment, made, fill(made)).to_markdown().splitlines()[0]
    assert "| a\\|b |" in head


def test_masked_words_of_both_kinds_of_records_have_columns_of_their_own(write):
    experiment = read_experiment(write(evaluations=["masked_lm", "sentence_order", "next_sentence"]))
    assert [column.title for column in columns_of(experiment)] == [
        *("masked LM, SOP records", "nats, SOP records", "masked LM, NSP records", "nats, NSP records"),
        *("sentence order", "next sentence, balanced"),
    ]


def test_a_column_without_a_figure_is_left_out():
    columns = [Column("a", "a", PERCENT), Column("b", "b", NUMBER)]
    table = Table(columns, [TableRow("x", None, 1, {"b": Cell.of([2.0])}, ())], ())
    assert table.to_markdown() == "|  | parameters | b |\n| --- | --- | --- |\n| x |  | 2.000 |\n"
