"""Folders of experiments as run_experiments leaves them."""

import dataclasses

import run_folders

from albert_tf.experiments.claims import Claim, judge
from albert_tf.experiments.findings import Findings, RowRun
from albert_tf.experiments.findings_file import write_findings
from albert_tf.experiments.table import NUMBER, PERCENT, Cell, Column, Table, TableRow

NASTY = "<script>alert('&')</script>"
COLUMNS = [Column("masked_lm_accuracy/sop", "masked LM", PERCENT), Column("masked_lm_loss/sop", "nats", NUMBER)]
CLAIM = Claim(f"narrow is worse {NASTY}", "narrow", "wide", "masked_lm", -1.5)
CHANGES = {"wide": {}, "narrow": {"config": {"hidden_size": 8}, "embeddings": None, "start_from": "wide"}, "lost": {}}


def write_experiment(parent, rows=("wide", "narrow"), **changes):
    """Writes the folder of an experiment with two seeds of each row, and their runs, into a folder; returns it.

    Args:
        parent: --output_dir of run_experiments.
        rows: names of finished ones.
        changes: fields of its Findings in place of these.
    """
    cells = [
        {COLUMNS[0].key: Cell.of_groups([[0.25, 0.27], [0.31, 0.33]]), COLUMNS[1].key: Cell.of([3.25, 3.75])},
        {COLUMNS[0].key: Cell.of([0.125, 0.375])},
    ]
    made = [
        TableRow(name, 1_250_000, 1000, cells[min(place, 1)], [80.5 if place == 0 else None])
        for place, name in enumerate(rows)
    ]
    runs = []
    for place, name in enumerate(rows):
        for seed in (7, 8):
            folder = parent / f"steps/pretraining-{place}-{seed}/model"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "run_pretraining.flags").write_text("--do_train\n--num_train_steps=1000\n")
            run_folders.write_log(folder, run_folders.pretraining_lines(1000))
            commands = "" if (place, seed) == (1, 8) else f"# {NASTY}\npython -m albert_tf.run_pretraining {seed}"
            paths = f"../steps/pretraining-{place}-{seed}/model", "../steps/records-1/records.tfrecord"
            runs.append(RowRun(name, seed, *paths, commands))
    verdict = judge(CLAIM, (0.125, 0.13), (0.26, 0.32))
    findings = Findings(
        name="which",
        question=f"Which is better? {NASTY}",
        source="table 3",
        table=Table(COLUMNS, made, ["average"], [verdict]),
        summary="1,000 steps of pre-training a row, 2 seeds",
        note_on_errors="After ±: the standard error",
        note="what the paper's figures are of",
        is_trial=False,
        asked_alike=[list(rows)],
        failures={"lost": f"no room left {NASTY}"},
        left_out=[],
        changes=CHANGES,
        runs=runs,
    )
    folder = parent / "which"
    folder.mkdir(exist_ok=True)
    write_findings(dataclasses.replace(findings, **changes), str(folder))
    return folder
