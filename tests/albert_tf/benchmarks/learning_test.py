"""The learning bench: its table and picture by hand, and a comparison of two tiny recipes from end to end."""

import json
import subprocess
import sys

import pytest

from albert_tf.benchmarks import learning
from albert_tf.runtime.errors import InputError


def _result(recipe, seed, loss, **more):
    last = {"step": 8, "tokens": 1024, "minutes": 1.5, "masked_lm_loss": loss, "masked_lm_accuracy": 0.25, **more}
    return {"recipe": recipe, "budget": {"minutes": 5.0}, "seed": seed, "checkpoints": [{**last, "step": 4}, last]}


def test_the_table_has_medians_over_the_seeds_and_a_dash_where_nothing_was_measured():
    results = [_result("a", seed, loss, sentence_order_accuracy=0.75) for seed, loss in ((1, 4.0), (2, 6.0), (3, 4.5))]
    table = learning.format_table([*results, _result("b", 1, 5.25)])
    assert table.splitlines()[2:] == [
        "| a | 5 minutes | 3 | 1.02e+03 | 1.5 | 4.500 | 25.0% | 75.0% |",
        "| b | 5 minutes | 1 | 1.02e+03 | 1.5 | 5.250 | 25.0% | - |",
    ]


def test_the_picture_is_a_png(tmp_path):
    learning.draw([_result("a", 1, 4.0), _result("b", 1, 5.0, sentence_order_accuracy=0.5)], str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("text", ["five", "0", "-1", "nan", "inf"])
def test_a_budget_that_is_no_number_is_refused(text):
    with pytest.raises(InputError, match=f"--minutes must be positive numbers, .* Received '{text}'"):
        learning.positive_number("minutes", text)


def test_recipes_are_checked_before_the_first_is_trained(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.flags").write_text("--train_batch_size=8\n--max_seq_length=16\n")
    (tmp_path / "y.flags").write_text("--train_batch_size=8\n")
    with pytest.raises(InputError, match="two flag files are named x"):
        learning._check_recipes([str(tmp_path / "a" / "x.flags"), str(tmp_path / "b" / "x.flags")])
    with pytest.raises(InputError, match="y.flags: give --train_batch_size and --max_seq_length"):
        learning._check_recipes([str(tmp_path / "y.flags")])


def test_a_recipe_of_steps_of_several_sizes_is_refused(tmp_path):
    flags = "--train_batch_size=8\n--max_seq_length=16\n--batch_schedule=8:0.5,16:0.5\n"
    (tmp_path / "x.flags").write_text(flags)
    with pytest.raises(InputError, match="x.flags: --batch_schedule: the steps are of different sizes"):
        learning._check_recipes([str(tmp_path / "x.flags")])


def test_what_was_measured_of_other_flags_or_records_is_not_put_beside_it(tmp_path):
    recipe, heldout = tmp_path / "x.flags", tmp_path / "heldout.tfrecord"
    recipe.write_text("--learning_rate=0.001\n")
    heldout.write_bytes(b"records")
    before = learning.identity_of(str(heldout), str(recipe))
    results = [{**_result("x", 1, 4.0), "identity": before}, _result("older", 1, 4.0)]
    for name in ("x", "older", "y"):
        learning.check_identity(results, name, before, "out")
    recipe.write_text("--learning_rate=0.002\n")
    changed = learning.identity_of(str(heldout), str(recipe))
    learning.check_identity(results, "y", changed, "out")
    with pytest.raises(InputError, match="out has results of x with other flags; rename the recipe, or give"):
        learning.check_identity(results, "x", changed, "out")
    heldout.write_bytes(b"others")
    with pytest.raises(InputError, match="out has results on other held-out records than --heldout_file; give"):
        learning.check_identity(results, "y", learning.identity_of(str(heldout)), "out")


def test_flag_files_that_a_recipe_names_count_as_its_own(tmp_path):
    recipe, base, heldout = (tmp_path / name for name in ("x.flags", "base.flags", "heldout.tfrecord"))
    recipe.write_text(f"--flagfile={base}\n--learning_rate=0.001\n")
    base.write_text("--train_batch_size=8\n--max_seq_length=16\n")
    heldout.write_bytes(b"records")
    learning._check_recipes([str(recipe)])
    before = learning.identity_of(str(heldout), str(recipe))
    base.write_text("--train_batch_size=16\n--max_seq_length=16\n")
    assert learning.identity_of(str(heldout), str(recipe)) != before
    base.unlink()
    with pytest.raises(InputError, match=r"x\.flags: .* No such file or directory: .*base\.flags"):
        learning._check_recipes([str(recipe)])


def test_a_result_that_was_cut_off_is_named(tmp_path):
    whole = json.dumps(_result("x", 1, 4.0))
    (tmp_path / "results.jsonl").write_text(f"{whole}\n{whole[:20]}")
    with pytest.raises(InputError, match=r"results.jsonl: line 2 was cut off; remove it"):
        learning.read_results(str(tmp_path))


@pytest.mark.slow
def test_two_recipes_are_trained_measured_and_not_done_twice(write_records, small_config, tmp_path):
    small_config.to_json_file(str(tmp_path / "config.json"))
    records, heldout = write_records("train", 50), write_records("heldout", 20, seed=9)
    common = f"--albert_config_file={tmp_path}/config.json\n--input_file={records}\n--max_seq_length=16\n"
    common += "--max_predictions_per_seq=4\n--train_batch_size=8\n--num_warmup_steps=1\n--save_checkpoints_steps=4\n"
    for name in ("adamw", "muon"):
        (tmp_path / f"{name}.flags").write_text(f"{common}--optimizer={name}\n--learning_rate=0.001\n")
    command = [sys.executable, "-m", "albert_tf.benchmarks.learning", f"--heldout_file={heldout}"]
    command += [
        f"--recipes={tmp_path}/adamw.flags,{tmp_path}/muon.flags",
        "--tokens=1024",
        f"--output_dir={tmp_path}/out",
    ]
    first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split("|")[1].strip() for line in first.splitlines()] == ["recipe", "---", "adamw", "muon"]
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    for line, name in zip(lines, ("adamw", "muon"), strict=True):
        result = json.loads(line)
        assert (result["recipe"], [one["tokens"] for one in result["checkpoints"]]) == (name, [512, 1024])
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == first
    assert (tmp_path / "out" / "results.jsonl").read_text().splitlines() == lines
    assert (tmp_path / "out" / "learning.png").exists()
    with open(tmp_path / "muon.flags", "a") as file:
        file.write("--learning_rate=0.002\n")
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "has results of muon with other flags" in again.stderr
