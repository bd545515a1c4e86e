"""The peer of the learning bench is trained and measured as the recipes are."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.parity


def test_a_peer_is_trained_measured_and_put_beside_the_recipes(
    write_unmasked_records, write_records, small_config, tmp_path
):
    small_config.to_json_file(str(tmp_path / "config.json"))
    write_unmasked_records("train", 40)
    heldout = write_records("heldout", 20, seed=9)
    command = [sys.executable, "-m", "albert_tf.benchmarks.learning_peer", f"--heldout_file={heldout}"]
    command += [f"--input_file={tmp_path}/train*", f"--albert_config_file={tmp_path}/config.json", "--minutes=0.05"]
    command += ["--learning_rates=0.0001,0.001", "--train_batch_size=8", f"--output_dir={tmp_path}/out"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = ["hugging_face-0.0001", "hugging_face-0.001"]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == names
    results = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [result["recipe"] for result in results] == names
    for result in results:
        (last,) = result["checkpoints"]
        assert last["step"] > 0
        assert last["tokens"] == last["step"] * 8 * 16
        assert 0 < last["masked_lm_loss"] < 5  # of 60 pieces, ln(60) is 4.09
    assert (tmp_path / "out" / "learning.png").exists()
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == table
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2


def test_records_with_masks_in_them_are_refused(write_records, small_config, tmp_path):
    small_config.to_json_file(str(tmp_path / "config.json"))
    records = write_records("train", 8)
    command = [sys.executable, "-m", "albert_tf.benchmarks.learning_peer", f"--heldout_file={records}"]
    command += [
        f"--input_file={records}",
        f"--albert_config_file={tmp_path}/config.json",
        f"--output_dir={tmp_path}/out",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--masking=dynamic, but the records have their masks in them" in done.stderr
    assert "Traceback" not in done.stderr
