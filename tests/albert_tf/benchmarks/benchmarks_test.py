"""The benchmarks run and print one JSON line with positive figures; a peer that is not installed is passed over."""

import dataclasses
import json
import subprocess
import sys

import pytest
from absl import flags

from albert_tf.benchmarks import compare_serving
from albert_tf.benchmarks.compare_peers import Contestant, format_table, ratios_to
from albert_tf.benchmarks.train_step import ragged_batch
from albert_tf.runtime.errors import InputError


def _run(name, *arguments):
    command = [sys.executable, "-m", f"albert_tf.benchmarks.{name}", *arguments]
    (line,) = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    result = json.loads(line)
    assert result["benchmark"] == name
    return result


@pytest.fixture
def config_file(small_config, tmp_path):
    small_config.to_json_file(str(tmp_path / "config.json"))
    return f"--albert_config_file={tmp_path / 'config.json'}"


def _write_sst2(folder):
    for split in ("train", "dev"):
        rows = [f"{'ba ' * (number % 9 + 1)}\t{number % 2}" for number in range(40)]
        (folder / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows, ""]))


def _assert_positive(result):
    numbers = [value for value in result.values() if not isinstance(value, str | bool)]
    assert len(numbers) > 3
    assert all(value > 0 for value in numbers)


@pytest.mark.slow
def test_input_pipeline_prints_one_json_line():
    _assert_positive(_run("input_pipeline", "--num_examples=400", "--max_seq_length=16", "--max_predictions_per_seq=4"))


@pytest.mark.slow
def test_data_creation_prints_one_json_line():
    result = _run("data_creation", "--max_seq_length=64", "--dupe_factor=2", "--repeats=1")
    assert result["examples_per_second"] > 0


@pytest.mark.slow
def test_train_step_prints_one_json_line(config_file):
    arguments = ["--max_seq_length=16", "--train_batch_size=2", "--max_predictions_per_seq=4", "--steps=1"]
    _assert_positive(_run("train_step", config_file, *arguments, "--repeats=2", "--precision=bfloat16", "--remat"))


@pytest.mark.slow
def test_models_are_compared_by_the_same_step(config_file, small_config, tmp_path):
    unshared = tmp_path / "unshared.json"
    dataclasses.replace(small_config, parameter_sharing="none").to_json_file(str(unshared))
    table = tmp_path / "table.md"
    shared = config_file.removeprefix("--albert_config_file=")
    arguments = ["--max_seq_length=16", "--batch_size=2", "--max_predictions_per_seq=4", "--rounds=2"]
    result = _run("compare_models", f"--models={unshared},{shared}", *arguments, f"--output_file={table}")
    more, fewer = (result[name]["parameters"] for name in ("unshared", "config"))
    assert more > fewer > 0
    _, _, _, _, _, last = table.read_text().splitlines()
    assert last.startswith(f"| config | {fewer:,} | {more / fewer:.1f} |")


@pytest.mark.slow
def test_inference_prints_one_json_line(config_file):
    arguments = ["--max_seq_length=16", "--batch_sizes=1,2", "--ragged_batch_size=3", "--repeats=2"]
    _assert_positive(_run("inference", config_file, *arguments))


@pytest.mark.slow
def test_predicting_compares_the_command_with_the_signature_alone(config_file):
    arguments = ["--rows=300", "--batch_size=8", "--rounds=2", "--formats=jsonl,tsv", "--max_seq_length=16"]
    result = _run("predicting", config_file, *arguments)
    assert 0 < result["predict_to_signature"] < 2
    assert result["sorted_to_unsorted"] > 0


@pytest.mark.slow
def test_finetuning_compares_batches_of_like_lengths_with_padded_ones(config_file, small_vocabulary, tmp_path):
    _write_sst2(tmp_path)
    arguments = [f"--data_dir={tmp_path}", f"--spm_model_file={small_vocabulary}", f"--output_dir={tmp_path / 'out'}"]
    steps = ["--max_seq_length=16", "--train_batch_size=4", "--num_train_steps=4", "--rounds=2"]
    result = _run("finetuning", config_file, *arguments, *steps)
    assert result["ratio"] > 0
    assert result["bucketed"]["positions_per_example"] < result["padded"]["positions_per_example"] == 16


@pytest.mark.slow
def test_compare_peers_takes_turns_and_keeps_a_table(config_file, tmp_path):
    table = tmp_path / "table.md"
    arguments = ["--max_seq_length=16", "--batch_size=2", "--max_predictions_per_seq=4", "--rounds=2"]
    result = _run("compare_peers", config_file, *arguments, "--contestants=albert_tf", f"--output_file={table}")
    assert len(result["albert_tf"]["turns"]) == 2
    assert "| albert_tf |" in table.read_text()


@pytest.mark.slow
def test_compare_peers_classifies(config_file):
    arguments = ["--task=classify", "--max_seq_length=16", "--shortest=4", "--batch_size=5", "--rounds=2"]
    result = _run("compare_peers", config_file, *arguments, "--contestants=albert_tf")
    assert len(result["albert_tf"]["turns"]) == 2


@pytest.mark.parity
def test_compare_serving_runs_every_form_of_ours_in_turns(config_file, tmp_path):
    table = tmp_path / "table.md"
    names = ["albert_tf", "albert_tf_bfloat16", "albert_tf_onnx", "albert_tf_onnx_int8", "albert_tf_litert_int8"]
    arguments = ["--task=classify", "--threads=1", "--max_seq_length=16", "--shortest=4", "--batch_sizes=1,3"]
    named = f"--contestants={','.join(names)}"
    result = _run(
        "compare_serving", config_file, *arguments, "--rounds=2", "--texts=3", named, f"--output_file={table}"
    )
    for name in names:
        assert {kind: len(turns) for kind, turns in result["threads_1"][name].items() if kind != "start"} == {
            "1 x 16": 2,
            "3 x 16": 2,
            "3 x 4 to 16": 2,
        }
        assert f"| {name} |" in table.read_text()


def test_the_table_of_serving_compares_round_by_round_with_the_first():
    ours, theirs = (
        _Measured("ours", [], {"ready": 0.25, "memory_mb": 90.0}),
        _Measured("theirs", [], {"skipped": "gone"}),
    )
    quick = _Measured("quick", [], {"ready": 1.0, "memory_mb": 50.0})
    kinds = compare_serving.kinds_of_batches([1, 4], 8, 2)
    assert kinds == {"1 x 8": (1, 8), "4 x 8": (4, 8), "4 x 2 to 8": (4, 2)}
    rounds = {("ours", kind): [{"seconds": 0.4}, {"seconds": 0.8}] for kind in kinds}
    rounds |= {("quick", kind): [{"seconds": 0.2}, {"seconds": 0.4}] for kind in kinds}
    table = compare_serving.format_table("a title", [ours, theirs, quick], kinds, rounds)
    assert "| ours | 600.00 (1.00) | 150.00 (1.00) | 150.00 (1.00) | 90 MB | 0.2 s |" in table
    assert "| quick | 300.00 (2.00) | 75.00 (2.00) | 75.00 (2.00) | 50 MB | 1.0 s |" in table
    assert "| theirs | gone |" in table


def test_a_contestant_that_ends_between_two_turns_has_no_more_of_them(monkeypatch):
    class Ending(_Measured):
        def __init__(self, name, arguments, python, module):
            super().__init__(name, [])

        def take_turn(self, task):
            if self.name == "short-lived" and len(self.turns) == 2:
                self.start = {"skipped": "no memory left"}
            else:
                self.turns.append({"seconds": 1.0 + len(self.turns)})

        def close(self):
            pass

    monkeypatch.setattr(compare_serving, "Contestant", Ending)
    given = {"max_seq_length": 8, "albert_config_file": "", "task": "encode", "shortest": 2, "texts": 4}
    values = flags.FlagValues()
    compare_serving.define_flags(values)
    values(
        [
            "compare_serving",
            "--contestants=lasting,short-lived",
            "--rounds=3",
            *(f"--{n}={v}" for n, v in given.items()),
        ]
    )
    kinds = compare_serving.kinds_of_batches([1], 8, 2)
    contestants, rounds = compare_serving._compare(values, "", "python", 1, kinds)
    assert [[turn["seconds"] for turn in rounds[name, "1 x 8"]] for name in ("lasting", "short-lived")] == [
        [1.0, 2.0, 3.0],
        [1.0, 2.0],
    ]
    assert "| short-lived | no memory left |" in compare_serving.format_table("a title", contestants, kinds, rounds)


def test_a_shortest_text_that_is_longer_than_the_longest_is_refused(small_config):
    with pytest.raises(InputError, match="--shortest=9 is more than --max_seq_length=8"):
        ragged_batch(small_config, 2, 8, 9)


class _Measured(Contestant):
    def __init__(self, name, seconds, start=None):
        self.name = name
        self.start = start or {"ready": 9.0, "memory_mb": 100.0}
        self.turns = [{"seconds": each, "processor_seconds": 2 * each, "memory_mb": 100.0} for each in seconds]


def test_ratios_are_taken_round_by_round():
    # The machine was twice as slow in the second round: the ratio of every round is 3 all the same.
    assert ratios_to(_Measured("ours", [1, 2, 1]), _Measured("theirs", [3, 6, 3]), "seconds") == 3


def test_the_table_says_who_was_passed_over():
    ours, absent = _Measured("ours", [2.0]), _Measured("theirs", [], {"skipped": "torch not installed"})
    table = format_table("a title", [ours, absent], sequences=16, gflop=1000)
    assert "| ours | 8.00 | 500 | 1.00 | 1.00 | 100 MB | 9 s |" in table
    assert "| theirs | torch not installed |" in table
    # Who comes first among those that take part is what the others are compared with.
    table = format_table("a title", [absent, ours, _Measured("slow", [4.0])], sequences=16, gflop=1000)
    assert "| slow | 4.00 | 250 | 2.00 | 2.00 |" in table


def test_a_contestant_that_ends_says_why():
    gone = Contestant("albert_tf", ["--no_such_flag"], sys.executable)
    gone.close()
    assert gone.start["skipped"].startswith("ended with exit code 2: ")
    assert "no_such_flag" in gone.start["skipped"]


def test_the_table_says_how_near_to_bare_products_the_work_is_done():
    ours = _Measured("ours", [2.0], {"ready": 9.0, "products_gflops": 2000.0})
    theirs = _Measured("theirs", [4.0])
    table = format_table("a title", [ours, theirs], sequences=16, gflop=1000)
    assert "| ours | 8.00 | 500 (25.0% of 2000) | 1.00 |" in table
    assert "| theirs | 4.00 | 250 (12.5% of 2000) | 2.00 |" in table


@pytest.mark.parity
def test_peers_are_prepared_together_and_products_measured(config_file):
    pytest.importorskip("jax", reason="jax is not installed: the extra [jax]")
    shape = ["--max_seq_length=16", "--batch_size=2", "--max_predictions_per_seq=4", "--rounds=2", "--steps=2"]
    result = _run("compare_peers", config_file, *shape, "--contestants=albert_tf_jax,albert_tf", "--prepare_together")
    for name in ("albert_tf_jax", "albert_tf"):
        assert result[name]["start"]["products_gflops"] > 0
        assert len(result[name]["turns"]) == 2


@pytest.mark.parity
def test_every_head_is_measured_in_every_form(small_config, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed: the extra [litert]")
    pytest.importorskip("onnx", reason="onnx is not installed: the extra [onnx]")
    table = tmp_path / "table.md"
    # With so many words that weights take more of a file than nodes.
    wordy = tmp_path / "wordy.json"
    dataclasses.replace(small_config, vocab_size=4000).to_json_file(str(wordy))
    config = f"--albert_config_file={wordy}"
    result = _run("export_table", config, "--heads=encoder,span_beam", "--max_seq_length=16", f"--output_file={table}")
    for head in ("encoder", "span_beam"):
        assert len(result[head]) == 7
        for figures in result[head].values():
            assert figures["bytes"] > 1000
            assert 0 <= figures["largest_error"] < 0.5
            assert figures["milliseconds"] > 0
    assert result["encoder"]["onnx_int8"]["bytes"] < result["encoder"]["onnx_float32"]["bytes"]
    _, _, first, second = table.read_text().splitlines()
    assert first.startswith("| `encoder` | ")
    assert second.count(" MB, ") == 7


@pytest.mark.parity
def test_a_run_is_scored_in_every_form_as_it_was_scored_itself(config_file, small_vocabulary, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed: the extra [litert]")
    pytest.importorskip("onnx", reason="onnx is not installed: the extra [onnx]")
    _write_sst2(tmp_path)
    run, table = tmp_path / "run", tmp_path / "table.md"
    of_task = ["--task_name=sst-2", f"--data_dir={tmp_path}", f"--spm_model_file={small_vocabulary}", config_file]
    steps = ["--max_seq_length=16", "--train_batch_size=4", "--num_train_steps=4", f"--output_dir={run}"]
    command = [sys.executable, "-m", "albert_tf.run_finetuning", *of_task, *steps, "--do_train", "--do_eval"]
    subprocess.run(command, check=True, capture_output=True)
    arguments = [f"--init_checkpoint={run}", f"--data_dir={tmp_path}", f"--output_file={table}"]
    result = _run("export_scores", *arguments)
    assert result["task"] == "sst-2"
    scored = json.loads((run / "results.json").read_text())
    assert result["onnx_float32"]["accuracy"] == scored["scores"]["dev"]["accuracy"]
    assert [line.split(" | ")[0] for line in table.read_text().splitlines()[2:]] == [
        f"| {form}" for form in ("onnx_float32", "onnx_int8", "litert_int8")
    ]


@pytest.mark.parity
def test_early_exit_is_scored_and_timed_by_its_exports(config_file, small_vocabulary, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: the extra [onnx]")
    _write_sst2(tmp_path)
    run, table = tmp_path / "run", tmp_path / "table.md"
    of_task = ["--task_name=sst-2", f"--data_dir={tmp_path}", f"--spm_model_file={small_vocabulary}", config_file]
    steps = ["--max_seq_length=16", "--train_batch_size=4", "--num_train_steps=4", f"--output_dir={run}"]
    how = ["--early_exit", "--do_train", "--do_eval"]
    command = [sys.executable, "-m", "albert_tf.run_finetuning", *of_task, *steps, *how]
    subprocess.run(command, check=True, capture_output=True)
    forms = ["saved_model_float32", "onnx_float32"]
    arguments = [f"--init_checkpoint={run}", f"--data_dir={tmp_path}", f"--output_file={table}", "--texts=8"]
    rules = ["exit_confidence=0.9", "exit_confidence=0.9+min_layers=1", "num_layers=1"]
    how = [f"--forms={','.join(forms)}", "--rounds=1", f"--rules={','.join(rules)}"]
    result = _run("exit_speed", *arguments, *how)
    scored = json.loads((run / "results.json").read_text())
    for form in forms:
        assert result[form]["all"]["accuracy"] == pytest.approx(scored["scores"]["dev"]["accuracy"])
        assert (result[form]["all"]["layers"], result[form]["num_layers=1"]["layers"]) == (2, 1)
        assert result[form]["exit_confidence=0.9"]["layers"] <= 2
        assert all(result[form][rule]["batch_32"]["wall"] > 0 for rule in result[form])
    assert [line.split(" | ")[0] for line in table.read_text().splitlines()[2:]] == [
        f"| {form.replace('_', ' ')}, {rule}" for form in forms for rule in ("all", *rules)
    ]
    command = [sys.executable, "-m", "albert_tf.benchmarks.exit_speed", *arguments, "--rules=patience"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--rules: 'patience' is none of chosen, patience=..." in done.stderr.splitlines()[-1]


@pytest.mark.parity
def test_weights_without_a_task_have_no_score(config_file, tmp_path):
    command = [sys.executable, "-m", "albert_tf.benchmarks.export_scores", f"--init_checkpoint={tmp_path}"]
    done = subprocess.run([*command, f"--data_dir={tmp_path}"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("is no fine-tuned run; run_finetuning makes one")
