"""Experiments as files: what a row makes of the base, what is refused and how, and that every shipped one is good."""

import json
from pathlib import Path

import pytest

from albert_tf.experiments.experiment import read_experiment
from albert_tf.runtime import shipped_files
from albert_tf.runtime.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted((ROOT / "configs/experiments").glob("*.json"))
BASE = {"model": "albert_tiny", "pretraining": {"num_warmup_steps": 1}, "budget": {"steps": 10}}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_experiment_is_found_by_name_and_names_flags_that_exist(path):
    experiment = read_experiment(path.stem)
    assert experiment.name == path.stem
    assert len(experiment.rows) > 1
    # No two rows are the same.
    assert len({json.dumps(row.changes, sort_keys=True) for row in experiment.rows}) == len(experiment.rows)
    assert set(experiment.paper.rows) == set(json.loads(path.read_text()).get("paper", {}).get("rows", {}))


def test_the_shipped_experiments_are_those_of_the_folder():
    assert shipped_files.names(shipped_files.EXPERIMENTS) == [path.stem for path in SHIPPED]


def test_the_papers_averages_follow_from_its_tables():
    # Table 5: F1 and EM of SQuAD 1.1 and 2.0, MNLI, SST-2, RACE; an average of SQuAD's two counts as one task.
    tables = {
        "none": ((88.6, 81.5), (78.1, 75.3), 81.5, 89.9, 61.7),
        "nsp": ((88.4, 81.5), (77.2, 74.6), 81.6, 91.1, 62.3),
        "sop": ((89.3, 82.3), (80.0, 77.1), 82.0, 90.3, 64.0),
    }
    paper = read_experiment("sentence_task").paper
    for name, scores in tables.items():
        tasks = [sum(score) / 2 if isinstance(score, tuple) else score for score in scores]
        assert paper.rows[name][-1] == pytest.approx(sum(tasks) / 5, abs=0.051)


def test_a_row_is_the_base_with_its_changes_and_null_takes_a_flag_out(write):
    base = {
        **BASE,
        "config": {"hidden_size": 64},
        "records": {"max_seq_length": 64, "ngram": 2},
        "pretraining": {"muon_rate": 3.0, "train_batch_size": 4, "num_warmup_steps": 1},
    }
    rows = {
        "same": {},
        "other": {"records": {"ngram": 1}, "pretraining": {"muon_rate": None}, "budget": {"tokens": 999}},
    }
    same, other = read_experiment(write(base=base, rows=rows)).rows
    assert same.records == {"max_seq_length": 64, "ngram": 2}
    rest = {"max_seq_length": 64, "train_batch_size": 4, "num_warmup_steps": 1}
    assert same.pretraining == {**rest, "muon_rate": 3.0}
    assert (same.config["hidden_size"], same.config["num_hidden_layers"]) == (64, 2)
    assert "vocab_size" not in same.config
    assert (other.records["ngram"], other.pretraining) == (1, rest)
    # 999 tokens in steps of 4 x 64.
    assert (same.num_train_steps, other.num_train_steps) == (10, 4)
    assert same.embeddings is None


def test_counted_embeddings_are_of_the_base_unless_a_row_goes_without(write):
    rows = {"counted": {}, "wider": {"embeddings": {"window": 5}}, "random": {"embeddings": None}}
    found = read_experiment(write(base={**BASE, "embeddings": {"window": 3}}, rows=rows)).rows
    assert [row.embeddings for row in found] == [{"window": 3}, {"window": 5}, None]
    (row,) = read_experiment(write(base=BASE, rows={"counted": {"embeddings": {}}})).rows
    assert row.embeddings == {}


@pytest.mark.parametrize(("number", "seeds"), [(None, (7, 3)), (1, (7,)), (2, (7, 3)), (4, (7, 3, 8, 9))], ids=str)
def test_seeds_are_those_of_the_file_or_so_many_of_them_and_more(write, number, seeds):
    assert read_experiment(write(seeds=[7, 3]), num_seeds=number).seeds == seeds


def test_null_stands_for_a_flag_that_is_left_out(write):
    tasks = [{"task_name": "rte", "flags": {"dev_file": None, "learning_rate": "1e-5"}}]
    found = read_experiment(write(tasks=tasks, evaluation={"max_eval_steps": None}, held_out={"ngram": None}))
    assert (found.tasks[0].flags, found.evaluation, found.held_out) == ({"learning_rate": "1e-5"}, {}, {})


def test_a_trial_gives_every_row_as_many_steps(write):
    rows = {"short": {}, "long": {"budget": {"steps": 500}}}
    trial = read_experiment(write(base=BASE, rows=rows), num_train_steps=3)
    assert [row.num_train_steps for row in trial.rows] == [3, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rwos": {}}, r"which.json: unknown key 'rwos'; did you mean rows\?"),
        ({"rows": {}}, "rows: give at least one"),
        ({"base": {"model": "albert_tiny"}}, "base: lacks budget"),
        ({"rows": {"a,b": {}}}, "row a,b: a row's name"),
        ({"rows": {"x": {"pretrain": {}}}}, r"row x: unknown key 'pretrain'; did you mean pretraining\?"),
        ({"rows": {"x": {"config": {"hiden_size": 8}}}}, "row x: config: unknown keys: hiden_size"),
        ({"rows": {"x": {"config": {"hidden_size": 63}}}}, "row x: config: `hidden_size` must be a multiple"),
        ({"rows": {"x": {"model": "albert_tinny"}}}, "albert_tinny: no such config file"),
        (
            {"rows": {"x": {"records": {"n_gram": 1}}}},
            r"row x: records: create_pretraining_data has no flag 'n_gram'; did you mean ngram\?",
        ),
        ({"rows": {"x": {"records": {"ngram": "many"}}}}, "row x: records: 'ngram' cannot be 'many'"),
        ({"rows": {"x": {"embeddings": {"windows": 2}}}}, "row x: embeddings: count_embeddings has no flag 'windows'"),
        ({"rows": {"x": {"pretraining": {"optimizer": "sgd"}}}}, "row x: pretraining: 'optimizer' cannot be 'sgd'"),
        (
            {"rows": {"x": {"pretraining": {"lenght_schedule": None}}}},
            r"row x: pretraining: run_pretraining has no flag 'lenght_schedule'; did you mean length_schedule\?",
        ),
        (
            {"rows": {"x": {"config": {"hiden_size": None}}}},
            "row x: config: unknown key 'hiden_size'; did you mean",
        ),
        (
            {"base": {**BASE, "records": {"n_gram": None}}},
            "base: records: .* has no flag 'n_gram'",
        ),
        ({"base": {**BASE, "config": {"hiden_size": None}}}, "base: config: unknown key 'hiden_size'"),
        ({"rows": {"x": {"pretraining": {"length_schedule": None}}}}, "x: pretraining: 'length_schedule' is null"),
        (
            {"rows": {"x": {"config": {"hidden_size": None}}}},
            "config: 'hidden_size' is null, but the base has none",
        ),
        ({"rows": {"x": {"pretraining": None}}}, "row x: pretraining: null takes out one flag, not all; name each"),
        ({"base": {**BASE, "config": None}}, "base: config: null takes out one flag, not all"),
        ({"rows": {"x": {"pretraining": {"random_seed": 1}}}}, "'random_seed' is set by run_experiments"),
        ({"rows": {"x": {"pretraining": {"beta_2": 2.0}}}}, "row x: pretraining: .beta_2. must lie in"),
        ({"rows": {"x": {"pretraining": {"beta_2": {}}}}}, "row x: pretraining: 'beta_2' must be a value"),
        ({"rows": {"x": {"budget": {"steps": 0}}}}, "row x: budget: give one of steps and tokens"),
        ({"rows": {"x": {"budget": {"steps": 1, "tokens": 1}}}}, "row x: budget: give one of"),
        (
            {"rows": {"x": {"budget": {"tokens": 999}, "pretraining": {"batch_schedule": "4:0.5,8:0.5"}}}},
            "row x: budget: with pretraining's batch_schedule the steps are of different sizes; give steps, not tokens",
        ),
        ({"rows": {"x": {"start_from": "y"}, "y": {}}}, "row x: start_from: no row 'y' comes before it"),
        ({"rows": {"y": {}, "x": {"start_from": ["y"]}}}, "row x: start_from: text was expected"),
        ({"rows": {"x": {"vocabulary": {}}}}, "row x: vocabulary: give vocab_size"),
        ({"rows": {"x": {"vocabulary": {"kind": "wordpiece"}}}}, "'kind' is set by run_experiments"),
        ({"rows": {"x": {"more_text": 3}}}, "row x: more_text: text was expected"),
        (
            {"rows": {"y": {}, "x": {"start_from": "y", "pretraining": {"init_checkpoint": "z"}}}},
            "row x: give start_from or pretraining's init_checkpoint, not both",
        ),
        ({"rows": {"y": {}, "x": {"start_from": "y", "embeddings": {}}}}, "brings the word embeddings; leave"),
        (
            {"rows": {"x": {"vocabulary": {"vocab_size": 99, "keep_accents": True}}}},
            "row x: give 'keep_accents' in records, by which vocabulary goes too",
        ),
        ({"rows": {"x": 3}}, "row x: a JSON object was expected. Received 3"),
        ({"rows": {"x": {"embeddings": False}}}, "row x: embeddings: a JSON object was expected. Received False"),
        ({"rows": {".x": {}}}, r"none of \. \+ = - at its beginning"),
        ({"rows": {"x": {"model": "nope"}}}, "row x: model: "),
        ({"rows": {"x": {"records": {"dupe_factor": 0}}}}, "row x: records: 'dupe_factor' must be at least 1"),
        ({"rows": {"x": {"records": {"max_seq_length": 1024}}}}, "row x: records: max_seq_length is 1024, more than"),
        ({"rows": {"x": {"embeddings": {"window": 0}}}}, "row x: embeddings: 'window' must be at least 1"),
        ({"rows": {"x": {"budget": {"tokens": 10**400}}}}, "row x: pretraining: --num_train_steps must be at most"),
        (
            {"rows": {"x": {"pretraining": {"num_warmup_steps": 3, "warmup_proportion": 0.1}}}},
            "row x: pretraining: give warmup_proportion or num_warmup_steps, not both",
        ),
        ({"rows": {"x": {"records": {"random_seed": 3}}}}, "row x: records: 'random_seed' is set by run_experiments"),
        ({"held_out": {"masked_lm_prob": 3}}, "held_out: records: 'masked_lm_prob' must lie in"),
        ({"evaluation": {"max_eval_steps": -3}}, "evaluation: 'max_eval_steps' must be at least 0"),
        (
            {"tasks": [{"task_name": "rte", "flags": {"num_train_epochs": -3}}]},
            r"tasks\[0\]: finetuning: 'num_train_epochs' must lie in",
        ),
        ({"paper": {"columns": ["a", "a"]}}, "paper: columns: each name may stand once"),
        ({"seeds": [1, 1]}, "seeds: a list of different integers"),
        ({"seeds": [True]}, "seeds: a list of different integers"),
        ({"evaluations": ["order"]}, "evaluations: a list of masked_lm, sentence_order, next_sentence"),
        ({"evaluation": {"batch": 1}}, "which.json: evaluation: run_evaluation has no flag 'batch'"),
        ({"held_out": {"sentence_task": "sop"}}, "held_out: 'sentence_task' follows from evaluations"),
        ({"tasks": [{"task_name": "sst-3"}]}, r"tasks\[0\]: task_name must be one of"),
        (
            {"tasks": [{"task_name": "rte", "flags": {"epochs": 3}}]},
            r"tasks\[0\]: finetuning: run_finetuning has no flag 'epochs'",
        ),
        ({"tasks": [{"task_name": "rte", "flags": {"num_folds": 3}}]}, "'num_folds' is set by run_experiments"),
        (
            {"tasks": [{"task_name": "rte", "flags": {"learning_rate": [1e-5, 2e-5]}}]},
            r"tasks\[0\]: finetuning: 'learning_rate' must be one rate",
        ),
        ({"tasks": [{"task_name": "rte"}, {"task_name": "rte"}]}, "two tasks have one name"),
        ({"tasks": [{"task_name": "rte", "name": "masked_lm"}]}, "tasks: a task cannot have the name 'masked_lm'"),
        ({"tasks": [{"task_name": "rte", "name": " "}]}, "tasks: a task cannot have the name ' '"),
        ({"paper": {"columns": ["a"], "rows": {"third": [1]}}}, "paper: rows: the grid has no row 'third'"),
        ({"paper": {"columns": ["a"], "rows": {"first": [1, 2]}}}, "paper: row first: a number or null for each of 1"),
        ({"paper": {"columns": ["a"], "rows": {"first": [float("nan")]}}}, "row first: a number .*, numbers below 1e"),
        ({"paper": {"columns": ["a"], "rows": {"first": [10**400]}}}, "row first: a number .*, numbers below 1e"),
    ],
)
def test_what_is_wrong_is_one_line_that_says_where(write, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        read_experiment(write(**changes))
    assert "\n" not in str(caught.value)


def test_a_file_of_tasks_adds_columns_to_any_experiment(write, tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text('[{"task_name": "rte", "data_dir": "glue/RTE", "seeds": [1, 2]}, {"task_name": "cola"}]')
    found = read_experiment(write(tasks=[{"task_name": "mrpc"}]), tasks_file=str(path)).tasks
    assert [task.name for task in found] == ["mrpc", "rte", "cola"]
    assert (found[1].data_dir, found[1].seeds) == ("glue/RTE", (1, 2))
    assert [task.name for task in read_experiment("sharing", tasks_file=str(path)).tasks] == ["rte", "cola"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "tasks.json: no such file"),
        ("[", "tasks.json: not JSON"),
        ('{"task_name": "rte"}', "tasks.json: a list of tasks was expected"),
        ('[{"task_name": "rte", "data_dirs": "x"}]', r"tasks.json\[0\]: unknown key 'data_dirs'; did you mean"),
        ('[{"task_name": "mrpc"}]', "tasks.json: two tasks have one name"),
    ],
)
def test_what_is_wrong_in_a_file_of_tasks_is_one_line(write, tmp_path, text, message):
    if text is not None:
        (tmp_path / "tasks.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_experiment(write(tasks=[{"task_name": "mrpc"}]), tasks_file=str(tmp_path / "tasks.json"))


def test_files_that_are_no_experiments_are_refused(tmp_path):
    path = tmp_path / "broken.json"
    with pytest.raises(InputError, match="no such experiment; shipped ones are .*sentence_task"):
        read_experiment(str(path))
    for text, message in (("{", "not JSON"), ("[]", "a JSON object"), ('{"rows": {}, "rows": {}}', "stands twice")):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_experiment(str(path))
