"""The names at the top of the package: lazy, and what docs/python.md says of them."""

import functools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime import allocator

ROOT = Path(__file__).resolve().parents[2]


def in_a_fresh_process(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def work(tmp_path_factory, small_vocabulary):
    """A folder with all that docs/python.md names."""
    folder = tmp_path_factory.mktemp("door")
    config = albert_tf.AlbertConfig(
        **{"vocab_size": 60, "embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 2},
        **{"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 128},
    )
    albert_tf.save(albert_tf.AlbertForPretraining(config), folder / "work/model", vocabulary_file=small_vocabulary)
    classifier = albert_tf.AlbertForSequenceClassification(config, num_labels=2)
    classifier.finetuned_task = FinetunedTask("classification", 2, ("0", "1"), "sst-2", ("text",))
    albert_tf.save(classifier, folder / "work/sst-2", vocabulary_file=small_vocabulary)
    rng = random.Random(0)
    words = [first + vowel for first in "bdfgklmn" for vowel in "aeiou"]
    text = "\n\n".join("\n".join(" ".join(rng.choices(words, k=9)) for _ in range(20)) for _ in range(6))
    (folder / "text.txt").write_text(text, encoding="utf-8")
    arguments = ["--input_file=text.txt", "--output_file=work/train.tfrecord@2", "--max_seq_length=128"]
    arguments += [f"--spm_model_file={small_vocabulary}", "--dupe_factor=4", "--num_workers=1"]
    command = [sys.executable, "-m", "data_prep.create_pretraining_data", *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return folder


@pytest.fixture(scope="module")
def exported(work):
    """A function of a model's name to its SavedModel, made once, by Path objects and names that end in a slash."""

    @functools.cache
    def export(name):
        settings = albert_tf.ExportSettings(init_checkpoint=f"{work}/work/{name}/", output_dir=work / f"{name}-saved")
        assert albert_tf.export(settings) < 1e-4
        return work / f"{name}-saved"

    return export


@pytest.fixture
def in_work(work, monkeypatch):
    monkeypatch.chdir(work)


def test_importing_the_package_loads_nothing():
    program = "import albert_tf, sys; dir(albert_tf); print(*sys.modules)"
    assert not {"keras", "tensorflow", "numpy", "absl"} & set(in_a_fresh_process(program))


def test_every_name_is_there_and_no_folder_takes_its_place():
    program = (
        "import albert_tf; [getattr(albert_tf, name) for name in albert_tf.__all__]\n"
        "print(*(name for name in albert_tf.__all__ if type(getattr(albert_tf, name)).__name__ == 'module'), 'done')"
    )
    assert in_a_fresh_process(program) == ["done"]


def test_what_type_checkers_see_are_the_same_names():
    seen = set(re.findall(r"import \w+ as (\w+)", (ROOT / "albert_tf/__init__.py").read_text()))
    assert seen == set(albert_tf.__all__) - {"__version__"}


def test_the_modules_of_all_names_are_type_checked():
    listed = re.search(r"^files = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)[1]
    homes = {f"albert_tf/{home.replace('.', '/')}.py" for home in albert_tf._HOMES}
    assert {*homes, "albert_tf/__init__.py", "tests/types"} <= set(re.findall(r'"(.*)"', listed))


def test_a_name_that_is_not_there_is_told_of():
    with pytest.raises(AttributeError, match="no attribute 'lod'; it has .*load"):
        albert_tf.lod


@pytest.mark.golden
def test_the_document_runs_from_top_to_bottom(in_work):
    document = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", document, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert names["outputs"]["sequence_output"].shape[0] == 2
    assert names["scores"].shape == (1, 3)
    assert len(names["answer"].masks[0]) == 3
    assert sorted(names["history"].history) == ["loss", "masked_lm_accuracy", "sentence_order_accuracy"]
    assert names["history"].history["loss"][-1] < names["history"].history["loss"][0]
    model, again, small, batch = (names[name] for name in ("model", "again", "small", "batch"))
    np.testing.assert_allclose(again(batch)["pooled_output"], model(batch)["pooled_output"], atol=1e-6)
    assert names["student"].hidden_size == 16
    assert small.dtype_policy.name == "mixed_bfloat16"
    assert os.path.exists("work/hugging_face/spiece.model")


@pytest.mark.parametrize("format_name", ["albert_tf", "official", "hugging_face", "keras_hub"])
def test_what_is_saved_is_loaded_in_every_format(in_work, tmp_path, format_name):
    model = albert_tf.load("work/model")
    albert_tf.save(model, tmp_path / "there", format=format_name)
    found = named_weights(albert_tf.load(tmp_path / "there"))
    for name, variable in named_weights(model).items():
        if format_name != "keras_hub" or not name.startswith("sentence_order/"):
            np.testing.assert_array_equal(found[name], variable, err_msg=name)
    assert albert_tf.load_tokenizer(tmp_path / "there").vocab_size == 60


def test_a_slash_at_the_end_changes_nothing(in_work, exported):
    assert albert_tf.load_tokenizer("work/model/").vocab_size == 60
    assert albert_tf.load("work/model/").vocabulary_file == os.path.abspath("work/model/small.model")
    assert albert_tf.FillMask("work/model/")("[MASK]")[0].masks
    assert albert_tf.load(f"{exported('sst-2')}/").task == albert_tf.load("work/sst-2/").finetuned_task


@pytest.mark.slow
def test_path_objects_are_taken_wherever_a_path_is(in_work, tmp_path):
    work = Path("work")
    albert_tf.save(albert_tf.load(work / "model"), tmp_path / "there", vocabulary_file=work / "model/small.model")
    assert albert_tf.AlbertTokenizer(work / "model/small.model").vocab_size == 60
    assert albert_tf.FillMask(work / "model")("[MASK]")[0].masks
    assert albert_tf.Predictor(work / "sst-2").predict("babe")[0]["label"] in ("0", "1")
    lengths = {"batch_size": 2, "max_seq_length": 128, "max_predictions_per_seq": 20}
    ids = [
        next(iter(albert_tf.make_dataset(paths, **lengths)))["input_ids"].numpy()
        for paths in (work / "train.tfrecord-*", sorted(work.glob("train.tfrecord-*-of-*")), "work/train.tfrecord-*")
    ]
    np.testing.assert_array_equal(ids[0], ids[2])
    np.testing.assert_array_equal(ids[1], ids[2])
    written = tmp_path / "figures.json"
    figures = albert_tf.evaluate(
        albert_tf.EvaluationSettings(
            input_file=work / "train.tfrecord-*", init_checkpoint=work / "model", max_eval_steps=1, output_file=written
        )
    )
    assert json.loads(written.read_text()) == figures


def test_a_task_that_is_given_is_kept(in_work, tmp_path):
    model = albert_tf.load("work/sst-2")
    task = albert_tf.FinetunedTask("classification", 2, ("no", "yes"), input_fields=("text", "text_pair"))
    albert_tf.save(model, tmp_path / "pairs", task=task)
    predictor = albert_tf.Predictor(str(tmp_path / "pairs"))
    answers = predictor.predict([{"text": "babe", "text_pair": pair} for pair in ("dika", "tuko dika")])
    assert {answer["label"] for answer in answers} <= {"no", "yes"}
    assert answers[0]["probabilities"] != answers[1]["probabilities"]


@pytest.mark.parametrize("labels", [("x", "y", "z"), ("x",)])
def test_a_model_of_several_labels_is_saved_as_one(labels, in_work, save_finetuned, tmp_path):
    save_finetuned(tmp_path / "run", "multi_label", labels)
    model = albert_tf.load(tmp_path / "run")
    for name in ("albert_tf", "hugging_face"):
        albert_tf.save(model, tmp_path / name, name)
        found = albert_tf.load(tmp_path / name).finetuned_task
        assert (found.head, found.labels) == ("multi_label", labels)


def test_what_a_format_has_no_place_for_is_told(in_work, tmp_path, caplog):
    albert_tf.save(albert_tf.load("work/model"), tmp_path / "there", format="keras_hub")
    assert "has no place for sentence_order/classifier/kernel" in caplog.text


def test_texts_of_a_saved_model_are_cleaned_as_those_of_the_loaded_one(in_work, tmp_path, caplog):
    kept = albert_tf.TextCleaning(do_lower_case=False, normalization="NFKC")
    albert_tf.save(albert_tf.load("work/model"), tmp_path / "cased", format="hugging_face", cleaning=kept)
    model = albert_tf.load(tmp_path / "cased")
    for name in ("albert_tf", "hugging_face", "sentence_transformers"):
        albert_tf.save(model, tmp_path / name, format=name)
        assert albert_tf.load_tokenizer(tmp_path / name).cleaning == kept
    albert_tf.save(model, tmp_path / "usual", format="hugging_face", cleaning=albert_tf.TextCleaning())
    assert albert_tf.load_tokenizer(tmp_path / "usual").cleaning == albert_tf.TextCleaning()
    assert "does not say how texts are cleaned" not in caplog.text
    albert_tf.save(model, tmp_path / "official", format="official")
    assert "an official checkpoint does not say how texts are cleaned: TextCleaning(do_lower_case=False" in caplog.text


def test_a_mask_in_a_text_is_one_piece_if_asked_for(in_work):
    tokenizer = albert_tf.load_tokenizer("work/model")
    assert tokenizer.mask_id not in tokenizer("babe [MASK]")["input_ids"]
    assert tokenizer.mask_id in tokenizer("babe [MASK]", with_masks=True)["input_ids"]


def test_frozen_weights_are_saved_too(in_work, tmp_path):
    model = albert_tf.load("work/model")
    model.albert.trainable = False
    albert_tf.save(model, tmp_path / "frozen")
    found = named_weights(albert_tf.load(tmp_path / "frozen"))
    np.testing.assert_array_equal(
        found["albert/pooler/kernel"], named_weights(model)["albert/pooler/kernel"], strict=True
    )


def test_a_fine_tuned_model_keeps_its_task(in_work, tmp_path):
    model = albert_tf.load("work/sst-2")
    assert type(model) is albert_tf.AlbertForSequenceClassification
    albert_tf.save(model, tmp_path / "again")
    assert albert_tf.load(tmp_path / "again").finetuned_task == model.finetuned_task
    assert albert_tf.Predictor(str(tmp_path / "again")).predict("babe")[0]["label"] in ("0", "1")


@pytest.mark.parametrize("name", [pytest.param("model", marks=pytest.mark.slow), "sst-2"])
def test_an_export_is_called_like_the_model(in_work, exported, name):
    folder = exported(name)
    exported, model = albert_tf.load(folder), albert_tf.load(f"work/{name}")
    batch = albert_tf.load_tokenizer(folder)(["babe", "dika babe dika"], max_length=20)
    if name == "model":
        outputs, wanted = exported(batch), model(batch)
        np.testing.assert_allclose(outputs["pooled_output"], wanted["pooled_output"], atol=1e-5)
        positions = np.array([[1], [2]])
        scored = exported(batch | {"masked_lm_positions": positions})["masked_lm_logits"]
        wanted = model(batch | {"masked_lm_positions": positions})["masked_lm_logits"]
        np.testing.assert_allclose(scored, wanted, atol=1e-5)
    else:
        assert exported.task == model.finetuned_task
        names = {"attention_mask": batch["input_mask"], "input_ids": batch["input_ids"]}
        assert set(exported(names)) == set(exported(batch))
    with pytest.raises(albert_tf.InputError, match="no positions"):
        exported({"input_ids": [[2, 5, 3]], "position_ids": [[4, 5, 6]]})
    with pytest.raises(albert_tf.InputError, match="sequences of 128 positions at most. Received 129"):
        exported(np.ones((1, 129), np.int32))
    with pytest.raises(albert_tf.InputError, match="cannot be trained"):
        exported(batch, training=True)
    with pytest.raises(albert_tf.InputError, match=r"must lie in \[0, vocab_size=60\)"):
        exported([[99]])
    with pytest.raises(albert_tf.InputError, match="leave config_file and dtype out"):
        albert_tf.load(folder, dtype="mixed_bfloat16")


@pytest.mark.slow
def test_an_export_takes_what_its_model_takes(in_work, exported, save_finetuned, tmp_path):
    batch = {"input_ids": [[2, 5, 3, 0]], "input_mask": [[1, 1, 1, 0]], "masked_lm_positions": [[1]]}
    assert albert_tf.load(exported("sst-2"))(batch)["logits"].shape == (1, 2)
    model = save_finetuned(tmp_path / "beam", "span_beam", (), ("question", "context"), "squad_v2")
    places = {"init_checkpoint": tmp_path / "beam", "output_dir": tmp_path / "saved"}
    assert albert_tf.export(albert_tf.ExportSettings(**places)) < 1e-4
    loaded = albert_tf.load(tmp_path / "saved")
    for given in (batch, batch | {"p_mask": [[0, 1, 0, 1]]}):
        wanted = model({name: np.array(values) for name, values in given.items()}, skip_padding=True)
        np.testing.assert_allclose(loaded(given)["start_top_log_probs"], wanted["start_top_log_probs"], atol=1e-4)
    # As of an encoder alone.
    loaded.task = None
    with pytest.raises(albert_tf.InputError, match="has no head for masked words; leave `masked_lm_positions` out"):
        loaded(batch)


def test_bad_paths_and_formats_are_one_line(in_work, tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "saved_model.pb").write_bytes(b"")
    for call, message in [
        (lambda: albert_tf.load(tmp_path / "none"), "no model here: there is nothing"),
        (lambda: albert_tf.load(""), "a path was expected"),
        (lambda: albert_tf.load(None), "a path was expected. Received None"),
        (lambda: albert_tf.load("work/model", dtype="fp16"), "`dtype` must be one of float32, mixed_bfloat16"),
        (
            lambda: albert_tf.save(albert_tf.load("work/model").albert, tmp_path / "x"),
            "must be an AlbertForPretraining",
        ),
        (lambda: albert_tf.save(albert_tf.load("work/model"), tmp_path / "x", vocabulary_file="no"), "no is not there"),
        (lambda: albert_tf.make_dataset([], 2, 8, 2), "names no record file"),
        (lambda: albert_tf.make_dataset("none*", 2, 8, 2), "no file matches"),
        (lambda: albert_tf.load_tokenizer(tmp_path / "none"), "no checkpoint here"),
        (lambda: albert_tf.load_tokenizer(tmp_path / "foreign"), "is no export of albert_tf"),
        (lambda: albert_tf.load_tokenizer(tmp_path / "none.model"), "does not exist"),
        (lambda: albert_tf.save(albert_tf.load("work/model"), "work/model"), "is there already"),
        (lambda: albert_tf.save(albert_tf.load("work/model"), tmp_path / "x", format="onnx"), "must be one of"),
    ]:
        with pytest.raises(albert_tf.InputError, match=message) as error:
            call()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            FinetunedTask("classification", 3, ("a", "b", "c")),
            "with 3 outputs; the model has a head for classification",
        ),
        (FinetunedTask("span", 2), "`task` is span with 2 outputs"),
    ],
)
def test_a_task_of_another_head_is_not_saved(in_work, tmp_path, task, message):
    with pytest.raises(albert_tf.InputError, match=message):
        albert_tf.save(albert_tf.load("work/sst-2"), tmp_path / "saved", task=task)
    with pytest.raises(albert_tf.InputError, match="the model has heads of pre-training"):
        albert_tf.save(albert_tf.load("work/model"), tmp_path / "saved", task=task)
    assert not (tmp_path / "saved").exists()


def test_a_vocabulary_of_another_size_is_not_saved(in_work, tmp_path, train_pieces):
    rng = random.Random(1)
    words = [first + vowel for first in "bdfgklmn" for vowel in "aeiou"]
    other = train_pieces([" ".join(rng.choices(words, k=8)) for _ in range(300)], 50)
    with pytest.raises(albert_tf.InputError, match="has 50 pieces, the model's vocab_size is 60"):
        albert_tf.save(albert_tf.load("work/model"), tmp_path / "saved", "hugging_face", vocabulary_file=other)
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("head", "num_labels", "labels"), [("classify", 2, ()), ("classification", 2, ("a",)), ("classification", 0, ())]
)
def test_a_task_that_cannot_be_is_refused(head, num_labels, labels):
    with pytest.raises(albert_tf.InputError, match="task"):
        FinetunedTask(head, num_labels, labels)


@pytest.mark.parametrize("name", ["pretrain", "finetune", "evaluate", "export"])
def test_settings_of_another_kind_are_one_line(name):
    for given in ({"output_dir": "x"}, "x"):
        with pytest.raises(albert_tf.InputError, match=rf"must be \w+Settings. Received {type(given).__name__}"):
            getattr(albert_tf, name)(given)


@pytest.mark.parametrize("release_memory", [False, True])
@pytest.mark.parametrize(
    ("name", "door", "given"),
    [
        ("PretrainingSettings", "pretrain", {"albert_config_file": "gone", "input_file": "gone"}),
        ("FinetuningSettings", "finetune", {"task_name": "sst-2", "data_dir": "gone"}),
        ("EmbeddingSettings", "train_embedder", {"train_file": "gone"}),
        ("DistillationSettings", "distil_embedder", {"train_file": "gone", "teacher": "gone"}),
    ],
)
def test_memory_is_given_back_where_settings_say_so(monkeypatch, tmp_path, name, door, given, release_memory):
    asked = []
    monkeypatch.setattr(allocator, "set_up_memory", lambda release: asked.append(release))
    settings = getattr(albert_tf, name)(output_dir=str(tmp_path / "run"), release_memory=release_memory, **given)
    with pytest.raises(albert_tf.InputError):
        getattr(albert_tf, door)(settings)
    assert asked == [True] * release_memory


def test_records_that_are_not_there_are_one_line():
    with pytest.raises(albert_tf.InputError, match="nope: no such record file"):
        albert_tf.make_dataset(["nope"], 8, 16, 4)


def test_texts_and_ids_that_are_none_are_one_line(in_work):
    tokenizer = albert_tf.load_tokenizer("work/model")
    with pytest.raises(albert_tf.InputError, match="`text` must be a text. Received None"):
        tokenizer.encode(None)
    for wrong in (-1, 60):
        with pytest.raises(albert_tf.InputError, match=f"`ids` must lie between 0 and 59. Received {wrong}"):
            tokenizer.decode([2, wrong])


@pytest.mark.parity
def test_models_load_on_jax_without_tensorflow(in_work, tmp_path):
    pytest.importorskip("jax")
    folder = tmp_path / "there"
    albert_tf.save(albert_tf.load("work/model"), folder, format="hugging_face")
    program = (
        f"import albert_tf, sys; model = albert_tf.load({str(folder)!r})\n"
        f"batch = albert_tf.load_tokenizer({str(folder)!r})(['babe dika'])\n"
        "print(model(batch)['pooled_output'].shape, 'tensorflow' in sys.modules)"
    )
    assert in_a_fresh_process(program, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")[-1] == "False"
