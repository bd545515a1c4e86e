"""The steps of an experiment, their command lines, and that a step is known by all that decides its output alone."""

import dataclasses

import pytest
from absl import flags

from albert_tf import run_evaluation, run_pretraining
from albert_tf.experiments.command_lines import READING
from albert_tf.experiments.corpus import Corpus
from albert_tf.experiments.experiment import read_experiment
from albert_tf.experiments.grid import distinct, held_out_tasks
from albert_tf.experiments.steps import Given
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.flops import train_step_flops
from data_prep.text.text_reading import TextReading

CORPUS = Corpus(Given("train.txt", "t"), Given("held_out.txt", "h"), Given("v.model", "v"), 100)


def _keys(units):
    return {step.key for unit in units for step in unit.steps()}


def test_records_are_made_once_for_all_rows_and_seeds_that_share_them(units):
    steps = distinct(step for unit in units() for step in unit.steps())
    kinds = [step.kind for step in steps]
    # To train on and held out; two rows with two seeds.
    assert {kind: kinds.count(kind) for kind in kinds} == {"records": 2, "pretraining": 4, "evaluation": 4}
    # Each after those that it needs.
    places = {step.key: place for place, step in enumerate(steps)}
    assert all(places[made.key] < places[step.key] for step in steps for made in step.inputs())


def test_each_sentence_task_has_held_out_records_on_which_every_row_is_scored(units):
    rows = {name: {"records": {"sentence_task": name}} for name in ("none", "nsp", "sop")}
    found = units(rows=rows, seeds=[1], evaluations=["masked_lm", "next_sentence", "sentence_order"])
    steps = distinct(step for unit in found for step in unit.steps())
    records = [step for step in steps if step.kind == "records"]
    texts = [(step.flags["input_file"].path, step.flags["sentence_task"]) for step in records]
    assert sorted(texts) == [
        *(("held_out.txt", "none"), ("held_out.txt", "nsp"), ("held_out.txt", "sop")),
        *(("train.txt", "none"), ("train.txt", "nsp"), ("train.txt", "sop")),
    ]
    assert all(list(unit.evaluations) == ["sop", "nsp", "none"] for unit in found)
    assert all(
        "--across_sentence_tasks=true" in step.words("o") for unit in found for step in unit.evaluations.values()
    )


@pytest.mark.parametrize(
    ("evaluations", "tasks"),
    [
        (["masked_lm"], ("sop",)),
        (["next_sentence"], ("nsp",)),
        (["masked_lm", "next_sentence"], ("nsp",)),
        (["masked_lm", "sentence_order", "next_sentence"], ("sop", "nsp")),
    ],
)
def test_held_out_records_are_of_the_tasks_that_are_asked_for(write, evaluations, tasks):
    assert held_out_tasks(read_experiment(write(evaluations=evaluations))) == tasks


def test_a_row_without_a_sentence_task_has_held_out_records_of_its_kind(write):
    rows = {"sop": {}, "none": {"records": {"sentence_task": "none"}}}
    assert held_out_tasks(read_experiment(write(rows=rows))) == ("sop", "none")
    assert held_out_tasks(read_experiment(write(rows=rows, evaluations=["sentence_order"]))) == ("sop",)


def test_held_out_records_read_text_as_the_rows_do_and_hide_single_words(units):
    (unit, *_) = units(held_out={"masked_lm_prob": 0.2}, evaluation={"max_eval_steps": 3})
    assert "--max_eval_steps=3" in unit.evaluations["sop"].words("out")
    made = [step for step in unit.evaluations["sop"].inputs() if step.kind == "records"]
    given = made[0].flags
    assert (given["do_lower_case"], given["max_seq_length"], given["max_predictions_per_seq"]) == (False, 32, 5)
    assert (given["masked_lm_prob"], given["ngram"], given["dupe_factor"]) == (0.2, 1, 1)


def test_a_row_starts_from_the_weights_of_another_with_the_same_seed(units):
    pretraining = {"num_warmup_steps": 1, "init_output_bias": True}
    base = {"model": "albert_tiny", "embeddings": {}, "pretraining": pretraining, "budget": {"steps": 10}}
    found = units(base=base, rows={"first": {}, "on": {"start_from": "first", "budget": {"steps": 3}}})
    by_name = {(unit.row.name, unit.seed): unit.pretraining for unit in found}
    for seed in (1, 2):
        before, after = by_name["first", seed], by_name["on", seed]
        assert after.flags["init_checkpoint"].step.key == before.key
        assert "init_embeddings" in before.flags
        assert not {"init_embeddings", "init_output_bias"} & after.flags.keys()
    assert found[-1].names()[by_name["first", 2].key] == "row on, seed 2: pretraining of a row before"


def test_a_row_may_have_more_text_and_a_vocabulary_of_its_own(units, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novels.txt").write_text("Once.")
    rows = {"plain": {}, "both": {"more_text": "novels.txt", "vocabulary": {"vocab_size": 50}}}
    plain, both = units(rows=rows, seeds=[1])
    assert (plain.config.vocab_size, both.config.vocab_size) == (100, 50)
    (vocabulary,) = distinct(step for step in both.steps() if step.kind == "vocabulary")
    assert "--input_file=train.txt,novels.txt" in vocabulary.words("out")
    assert "--do_lower_case=false" in vocabulary.words("out")
    made = f"--spm_model_file={vocabulary.folder('out')}/vocabulary.model"
    records = distinct(step for step in both.steps() if step.kind == "records")
    assert all(made in step.words("out") for step in (*records, both.pretraining))
    # The held-out text stays.
    assert sorted(step.flags["input_file"].path for step in records) == ["held_out.txt", "train.txt,novels.txt"]
    assert not _keys([plain]) & _keys([both])
    (tmp_path / "novels.txt").write_text("Twice.")
    assert _keys(units(rows=rows, seeds=[1])[1:]) != _keys([both])
    (tmp_path / "novels.txt").unlink()
    with pytest.raises(InputError, match="row both: .*novels.txt"):
        units(rows=rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": {"vocab_size": 50}}, "row first has another vocabulary"),
        ({"config": {"num_attention_heads": 1}}, "row first has another num_attention_heads"),
        (
            {"config": {"num_hidden_layers": 1, "parameter_sharing": "none"}},
            "row first has another num_hidden_layers, parameter_sharing",
        ),
    ],
)
def test_weights_to_start_from_are_of_the_same_model_and_vocabulary(units, changes, message):
    with pytest.raises(InputError, match=f"row on: start_from: {message}"):
        units(rows={"first": {}, "on": {"start_from": "first", **changes}})


def test_a_deeper_model_starts_from_a_shallower_one_where_all_layers_share(units):
    deep = {"start_from": "first", "config": {"num_hidden_layers": 12}}
    first, on = units(rows={"first": {}, "on": deep}, seeds=[1])
    assert first.pretraining in on.pretraining.chain()
    assert on.config.num_hidden_layers == 12
    unshared = {"config": {"parameter_sharing": "attention"}}
    deep["config"]["parameter_sharing"] = "attention"
    with pytest.raises(InputError, match="row on: start_from: row first has another num_hidden_layers"):
        units(rows={"first": unshared, "on": deep}, seeds=[1])


def test_what_is_made_of_the_text_reads_and_cleans_it_alike():
    fields = (*dataclasses.fields(TextReading), *dataclasses.fields(TextCleaning))
    assert set(READING) == {field.name for field in fields}


def test_a_changed_row_is_done_anew_and_no_other(units):
    before = units()
    rows = {"first": {}, "second": {"config": {"num_hidden_layers": 2, "num_hidden_groups": 2}}}
    after = units(rows=rows)
    assert _keys(before[:2]) == _keys(after[:2])
    new = _keys(after) - _keys(before)
    # Pre-training and evaluation of two seeds; the records stay.
    assert sorted(key.split("-")[0] for key in new) == ["evaluation", "evaluation", "pretraining", "pretraining"]


def test_names_order_and_places_do_not_count_but_settings_text_and_vocabulary_do(units):
    first = units()
    rows = {"renamed": {"config": {"num_hidden_layers": 1}}, "first": {}}
    moved = dataclasses.replace(CORPUS, train=Given("elsewhere/train.txt", "t"))
    assert _keys(units(rows=rows, question="Another?", corpus=moved)) == _keys(first)
    for changed in ({"train": Given("train.txt", "u")}, {"vocabulary": Given("v.model", "w")}):
        assert not _keys(units(corpus=dataclasses.replace(CORPUS, **changed))) & {
            unit.pretraining.key for unit in first
        }
    assert not {unit.pretraining.key for unit in units(num_train_steps=11)} & _keys(first)
    # Held-out text decides no training.
    held_out = units(corpus=dataclasses.replace(CORPUS, held_out=Given("h.txt", "i")))
    assert [unit.pretraining.key for unit in held_out] == [unit.pretraining.key for unit in first]
    assert not {unit.evaluations["sop"].key for unit in held_out} & _keys(first)


def test_the_command_lines_are_those_of_the_commands(units):
    unit = units(
        tasks=[{"task_name": "rte", "data_dir": "glue/RTE", "flags": {"learning_rate": 1e-4}, "seeds": [7]}],
        data={"glue/RTE": Given("glue/RTE", "d")},
    )[1]
    values = flags.FlagValues()
    run_pretraining.define_flags(values)
    module, command, *words = unit.pretraining.words("out")
    assert (module, command) == ("-m", "albert_tf.run_pretraining")
    values(["", *words])
    folder = unit.pretraining.folder("out")
    assert (values.output_dir, values.albert_config_file) == (f"{folder}/model", f"{folder}/albert_config.json")
    assert (values.num_train_steps, values.random_seed, values.max_seq_length) == (10, 2, 32)
    assert values.input_file.endswith("records.tfrecord")
    # The run keeps a copy of the vocabulary, which fine-tuning wants.
    assert values.spm_model_file == "v.model"
    assert values.do_train
    values = flags.FlagValues()
    run_evaluation.define_flags(values)
    values(["", *unit.evaluations["sop"].words("out")[2:]])
    assert (values.output_dir, values.overwrite) == (f"{folder}/model", True)
    step = unit.finetuning["rte", 7]
    words = step.words("out")
    for word in ("--task_name=rte", "--data_dir=glue/RTE", f"--init_checkpoint={folder}/model", "--random_seed=7"):
        assert word in words
    assert "--learning_rate=0.0001" in words


def test_a_longer_or_deeper_row_is_more_work(units):
    first, _, second, _ = units()
    assert first.pretraining.work == 10 * train_step_flops(first.config, 8, 32, 5)
    assert second.pretraining.work < first.pretraining.work
    assert first.config.vocab_size == 100
    assert PretrainingSettings.max_predictions_per_seq != 5


def test_counted_embeddings_are_as_wide_as_the_rows(units):
    rows = {"narrow": {"embeddings": {}, "config": {"embedding_size": 8}}, "random": {}}
    narrow, random = units(rows=rows, seeds=[1])
    (counted,) = [step for step in narrow.pretraining.inputs() if step.kind == "embeddings"]
    assert counted.flags["embedding_size"] == 8
    assert narrow.pretraining.flags["init_embeddings"].step is counted
    assert "init_embeddings" not in random.pretraining.flags


def test_a_vocab_size_that_is_not_the_vocabularys_is_refused(units):
    with pytest.raises(InputError, match=r"row x: config: vocab_size is 7, v.model has 100 pieces"):
        units(rows={"x": {"config": {"vocab_size": 7}}})
