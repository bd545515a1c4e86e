"""The page of an experiment: its figures are those of the table, its curves those of the runs, its texts stay texts."""

import shutil

import pytest
from experiment_folders import COLUMNS, NASTY

from albert_tf.experiments.table import Cell, Table, TableRow
from albert_tf.reports.report import write_report
from albert_tf.runtime.errors import InputError


def test_the_page_has_the_table_the_paper_the_changes_and_the_commands(experiment, show):
    folder = experiment()
    page = show(folder)
    assert page.texts[1:3] == [f"Experiment which in {folder}", f"Which is better? {NASTY}"]
    assert page.row("rows", 2) == ["2", "of 3"]
    assert page.row("steps a row", 1) == ["1k"]
    assert page.row("claims with the paper's sign", 2) == ["1", "of 1"]
    assert f"row lost failed: no room left {NASTY}" in page.texts
    at = page.texts.index("paper: average")
    # Means of 26 and 32 %, of 3.25 and 3.75 nats.
    assert page.texts[at + 1 : at + 6] == ["wide", "1.25 M", "29.0 ± 3.0 %", "3.500 ± 0.250", "80.5"]
    assert page.texts[at + 6 : at + 9] == ["narrow", "1.25 M", "25.0 ± 12.5 %"]
    at = page.texts.index("The values of each seed")
    assert page.texts[at + 1 : at + 6] == ["masked LM", "nats", "wide", "(25.0, 27.0), (31.0, 33.0)", "3.250, 3.750"]
    assert page.row(f"narrow is worse {NASTY} (narrow less wide)", 4)[:3] == ["masked LM", "same sign", "-1.5"]
    assert page.row("changes to the base", 4) == [
        *("wide", "none", "narrow", "config: hidden_size=8; no embeddings; start_from wide")
    ]
    assert page.row("wide, seed 7", 1) == [f"# {NASTY} python -m albert_tf.run_pretraining 7"]
    assert "narrow, seed 8: the same steps as a row above." in page.texts
    assert "<script>" not in page.source


def test_a_panel_has_a_dot_for_each_row_and_a_tick_for_each_value(experiment, show):
    page = show(experiment())
    assert {"masked LM, %", "nats"} <= set(page.texts)
    # What a pointer shows.
    assert {"wide: 29.0", "narrow: 25.0", "wide: 3.500"} <= set(page.texts)
    kinds = [attributes.get("class") for tag, attributes in page.tags if tag == "line"]
    # Two values and an error for each of three cells.
    assert (kinds.count("mark"), kinds.count("error")) == (6, 3)


def test_a_single_seed_has_neither_errors_nor_a_table_of_values(experiment, show):
    row = TableRow("wide", None, 10, {COLUMNS[0].key: Cell.of([0.25])}, [])
    page = show(experiment(rows=("wide",), table=Table(COLUMNS, [row], [])))
    assert "The values of each seed" not in page.texts
    assert "Beside the paper" not in page.texts
    kinds = [attributes.get("class") for tag, attributes in page.tags if tag == "line"]
    assert (kinds.count("mark"), kinds.count("error")) == (0, 0)
    assert "wide: 25.0" in page.texts


def test_curves_are_those_of_the_first_seed_of_each_row(experiment, show, tmp_path):
    folder = experiment()
    page = show(folder)
    assert "Loss of masked LM (nats)" in page.texts
    assert any(text.startswith("Of pre-training with seed 7,") for text in page.texts)
    assert page.row("time in steps", 2) == ["20 s", "20 s"]
    log = tmp_path / "out/steps/pretraining-0-7/model/train_log.jsonl"
    whole = log.read_text()
    log.write_text(f"{whole}garbage\n{whole}")
    page = show(folder)
    assert any(text.startswith("Row wide: ") and "train_log.jsonl" in text for text in page.texts)
    shutil.rmtree(tmp_path / "out/steps/pretraining-0-7")
    page = show(folder)
    assert any(text.startswith("Row wide has no curve: ") and "no such folder" in text for text in page.texts)
    assert "Loss of masked LM (nats)" in page.texts
    shutil.rmtree(tmp_path / "out/steps")
    page = show(folder)
    assert "Loss of masked LM (nats)" not in page.texts
    assert any(text.startswith("The runs of the rows are not there (") for text in page.texts)
    assert "29.0 ± 3.0 %" in page.texts


def test_more_rows_than_colours_are_dashed_and_then_left_out(experiment, show):
    names = [f"row-{number}" for number in range(18)]
    page = show(experiment(rows=names))
    assert "Of the first 16 rows: a page has no more colours." in page.texts
    lines = [attributes["class"] for tag, attributes in page.tags if tag == "polyline"]
    assert {"c0", "dashed c0", "c7", "dashed c7"} <= set(lines)
    assert len(lines) % 16 == 0


def test_an_experiment_has_a_page_of_its_own(experiment, pretrained, tmp_path):
    folder, target = str(experiment()), str(tmp_path / "page.html")
    (tmp_path / "texts.txt").write_text("a [MASK]\n")
    cases = [
        (([folder, str(pretrained)],), "which is an experiment, with a page of its own; received 2 folders"),
        (([str(pretrained), folder],), "which is an experiment, with a page of its own; received 2 folders"),
        (([folder], target, str(tmp_path / "texts.txt")), "--texts is for one run of pre-training; .* an experiment"),
        (([str(tmp_path / "out")],), f"out holds experiments; name the folder of one: {folder}"),
    ]
    for (folders, *rest), message in cases:
        with pytest.raises(InputError, match=message):
            write_report(folders, *(rest or [target]))
    assert not (tmp_path / "page.html").exists()


def test_a_damaged_table_is_one_line(experiment, tmp_path):
    folder = experiment()
    (folder / "table.json").write_text("{")
    with pytest.raises(InputError, match=r"table\.json"):
        write_report([str(folder)], str(tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()
