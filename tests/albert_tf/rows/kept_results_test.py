"""A job that ends before its time goes on where it was, and its file is bitwise that of an undisturbed one."""

import errno
import os
import signal

import pytest
from stand_in_model import Lengths

from albert_tf.rows import kept_results, table_prediction
from albert_tf.rows.kept_results import KeptResults, keep_results
from albert_tf.rows.result_formats import LineForm
from albert_tf.rows.table_prediction import TablePrediction, predict_rows
from albert_tf.runtime.errors import InputError, RunStopped

COUNT = 300
ENDINGS = ["jsonl", "tsv", "parquet"]


class _Killed(BaseException):
    pass


@pytest.fixture(autouse=True)
def known_model(monkeypatch):
    monkeypatch.setattr(table_prediction, "identify_model", lambda path: {"model": path})


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in" / "a.csv"
    path.parent.mkdir()
    # A row in ten is an error.
    rows = [f"{'x' * (number * 7 % 40 + 1)},{number}" if number % 10 else "no text" for number in range(COUNT)]
    path.write_text("\n".join(["text,id", *rows, ""]))
    return path


def predict(table, output, before_batch=lambda count: None, **settings):
    model = Lengths(before_batch)
    outcome = predict_rows(model, TablePrediction(str(table), output_file=str(output), batch_size=1, **settings))
    return outcome, model


def stop_at(batch, error):
    def check(count):
        if count == batch:
            raise error

    return check


def test_the_same_command_goes_on_and_writes_the_same_bytes(table, tmp_path):
    pytest.importorskip("pyarrow")
    for ending in ENDINGS:
        whole, cut = tmp_path / f"whole.{ending}", tmp_path / f"cut.{ending}"
        outcome, model = predict(table, whole)
        assert (outcome.rows, outcome.errors) == (COUNT, COUNT // 10)
        with pytest.raises(_Killed):
            predict(table, cut, stop_at(200, _Killed()))
        partial = tmp_path / f".cut.{ending}.partial"
        assert sorted(os.listdir(partial)) == ["job.json", "progress.json", "results"]
        # A kill in the middle of a part leaves a piece of it.
        with open(partial / "results", "ab") as file:
            file.write(b"half a r")
        again, rest = predict(table, cut)
        assert again == outcome
        assert 0 < len(rest.batches) < len(model.batches)
        assert cut.read_bytes() == whole.read_bytes()
        assert not partial.exists()


def test_a_kill_before_the_last_rename_leaves_only_that_to_do(table, tmp_path, monkeypatch):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    predict(table, whole)
    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(KeptResults, "publish", lambda *_: (_ for _ in ()).throw(_Killed))
        predict(table, cut)
    _, model = predict(table, cut)
    assert model.batches == []
    assert cut.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    "change, match",
    [
        ({"output_columns": ["id"]}, r"other flags \(output_columns None, now \['id'\]\)"),
        ({"columns": ["text=id"]}, "other flags"),
        ("input", r"other input \(.*a.csv\)"),
        ("model", "another model"),
        ("version", r"another version \(albert_tf 0"),
    ],
)
def test_what_belongs_to_a_different_job_is_refused_or_started_afresh(table, tmp_path, monkeypatch, change, match):
    output = tmp_path / "b.jsonl"
    with pytest.raises(_Killed):
        predict(table, output, stop_at(100, _Killed()))
    settings = change if isinstance(change, dict) else {}
    if change == "input":
        table.write_text(table.read_text() + "more,1\n")
    if change == "model":
        monkeypatch.setattr(table_prediction, "identify_model", lambda path: {"model": "b"})
    if change == "version":
        monkeypatch.setattr("albert_tf.__version__", "9")
    with pytest.raises(InputError, match=match) as error:
        predict(table, output, **settings)
    assert "--overwrite" in error.value.args[0]
    assert (tmp_path / ".b.jsonl.partial" / "results").exists()
    outcome, _ = predict(table, output, overwrite=True, **settings)
    assert outcome.rows == COUNT + (change == "input")
    assert not (tmp_path / ".b.jsonl.partial").exists()


def test_damaged_results_are_made_anew(table, tmp_path, caplog):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    predict(table, whole)
    with pytest.raises(_Killed):
        predict(table, cut, stop_at(200, _Killed()))
    results = tmp_path / ".cut.jsonl.partial" / "results"
    contents = bytearray(results.read_bytes())
    contents[30] ^= 1
    results.write_bytes(contents)
    predict(table, cut)
    assert "is damaged" in caplog.text
    assert cut.read_bytes() == whole.read_bytes()


def test_a_signal_keeps_what_is_finished(table, tmp_path):
    output, whole = tmp_path / "b.tsv", tmp_path / "whole.tsv"

    def send(count):
        if count == 150:
            os.kill(os.getpid(), signal.SIGTERM)
        if count >= 150:
            # The thread that takes signals needs a moment.
            signal.sigtimedwait([], 0.05)

    with pytest.raises(RunStopped, match=r"stopped by SIGTERM; 128 rows are finished, in .*; the same command") as stop:
        predict(table, output, send)
    assert stop.value.exit_code == 75
    assert not output.exists()
    outcome, _ = predict(table, output)
    predict(table, whole)
    assert outcome.rows == COUNT and output.read_bytes() == whole.read_bytes()


def test_a_full_disk_loses_nothing_that_is_written(table, tmp_path, monkeypatch):
    output, whole = tmp_path / "b.jsonl", tmp_path / "whole.jsonl"
    predict(table, whole)
    fsync, calls = os.fsync, []

    def fail(descriptor):
        calls.append(descriptor)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch, pytest.raises(OSError) as error:
        patch.setattr(kept_results.os, "fsync", fail)
        predict(table, output)
    assert error.value.filename.endswith(".b.jsonl.partial/results")
    _, model = predict(table, output)
    assert 0 < len(model.batches) < COUNT * 0.9
    assert output.read_bytes() == whole.read_bytes()


def test_a_fault_of_the_input_leaves_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("text\n" + "a\n" * 200 + '"b')
    with pytest.raises(InputError, match="not CSV"):
        predict(tmp_path / "a.csv", tmp_path / "b.jsonl")
    assert os.listdir(tmp_path) == ["a.csv"]


def test_two_runs_do_not_write_one_file(tmp_path):
    given = (str(tmp_path / "a"), LineForm(str), {}, False)
    with keep_results(*given), pytest.raises(InputError, match="another run is writing"), keep_results(*given):
        pass


def test_a_path_of_another_file_system_gets_the_same_file(table, tmp_path):
    predict(table, tmp_path / "a.jsonl")
    predict_rows(Lengths(), TablePrediction(f"file://{table}", output_file=f"file://{tmp_path}/b.jsonl", batch_size=1))
    assert (tmp_path / "b.jsonl").read_bytes().replace(b"file://", b"") == (tmp_path / "a.jsonl").read_bytes()
