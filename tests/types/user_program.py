"""A user's program, as `make types` checks it in mypy's strict mode; it is never run.

`assert_type` says what a checker must know; a line that it must refuse has a `type: ignore`, which strict mode
complains of where nothing is wrong.
"""

from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import assert_type

import albert_tf

FOLDER = Path("work")
Arrays = dict[str, np.ndarray]


def load_and_encode() -> None:
    config = albert_tf.AlbertConfig.from_name("albert_base_v2")
    assert_type(config, albert_tf.AlbertConfig)
    assert_type(config.hidden_size, int)
    assert_type(albert_tf.AlbertConfig.from_json_file(FOLDER / "albert_config.json").to_dict(), dict[str, Any])
    tokenizer = albert_tf.load_tokenizer(FOLDER, do_lower_case=False)
    assert_type(tokenizer, albert_tf.AlbertTokenizer | albert_tf.WordPieceTokenizer)
    batch = albert_tf.AlbertTokenizer(FOLDER / "spiece.model")(["One.", "Two."], pairs=["A.", "B."], max_length=64)
    assert_type(batch, Arrays)
    assert_type(tokenizer.encode("One."), list[int])
    model = albert_tf.load(FOLDER / "model", config_file=FOLDER / "albert_config.json", dtype="mixed_bfloat16")
    assert_type(model.config, albert_tf.AlbertConfig)
    assert_type(model(batch), dict[str, Any] | Arrays)
    if isinstance(model, albert_tf.AlbertForPretraining):
        assert_type(model(batch), dict[str, Any])
        assert_type(model.albert, albert_tf.AlbertModel)
        albert_tf.save(model, FOLDER / "again", format="hugging_face", vocabulary_file=model.vocabulary_file)
    albert_tf.load(5)  # type: ignore[arg-type]
    albert_tf.load("model", vocabulary="spiece.model")  # type: ignore[call-arg]
    albert_tf.no_such_name  # type: ignore[attr-defined]


def ask() -> None:
    fill_mask = albert_tf.FillMask(FOLDER / "model")
    answer = fill_mask("The road was [MASK].", top_k=3)[0]
    assert_type(answer.best, str)
    assert_type([one.probability for one in answer.masks[0]], list[float])
    assert_type(fill_mask.order("One.", "Two."), tuple[float, float])
    predictor = albert_tf.Predictor(FOLDER / "sst-2")
    assert_type(predictor.predict(["A charming film."]), list[dict[str, Any]])
    assert_type(predictor.predict({"text": "One.", "text_pair": "Two."}), list[dict[str, Any]])
    assert_type(predictor.task, albert_tf.FinetunedTask)
    predictor.predict(5)  # type: ignore[arg-type]


def train_with_fit(config: albert_tf.AlbertConfig, batch: Arrays) -> None:
    files = sorted(FOLDER.glob("train.tfrecord-*"))
    batches = albert_tf.make_dataset(files, batch_size=8, max_seq_length=128, max_predictions_per_seq=20)
    model = albert_tf.AlbertForPretraining(config)
    model.compile(albert_tf.LAMB(1e-3, weight_decay_rate=0.01), loss=["masked_lm", "sentence_order"])
    model.fit(batches, steps_per_epoch=4, epochs=2, shuffle=False)
    classifier = albert_tf.AlbertForSequenceClassification(config, num_labels=3, classifier_dropout_prob=0.1)
    classifier.compile(albert_tf.AdamW(1e-4))
    classifier.fit(batch, np.array([0, 1]))
    assert_type(classifier(batch), dict[str, Any])
    task = albert_tf.FinetunedTask("classification", 3, labels=("a", "b", "c"), input_fields=("text",))
    albert_tf.save(classifier, FOLDER / "classifier", task=task)
    albert_tf.Muon(1e-3, momentum="fast")  # type: ignore[arg-type]
    albert_tf.AlbertForSpan("albert_base_v2")  # type: ignore[arg-type]


def train_with_settings() -> None:
    cleaning = albert_tf.TextCleaning(do_lower_case=False)
    pretraining = albert_tf.PretrainingSettings(
        albert_config_file=FOLDER / "albert_config.json",
        input_file=FOLDER / "train.tfrecord-*",
        output_dir=FOLDER / "model",
        num_train_steps=1000,
    )
    assert_type(pretraining.learning_rate, float)
    albert_tf.pretrain(pretraining)
    finetuning = albert_tf.FinetuningSettings(
        task_name="sst-2", data_dir=FOLDER / "SST-2", output_dir="out", init_checkpoint=FOLDER, cleaning=cleaning
    )
    assert_type(albert_tf.finetune(finetuning), dict[str, Any])
    evaluation = albert_tf.EvaluationSettings(input_file=FOLDER / "dev.tfrecord", init_checkpoint=FOLDER / "model")
    assert_type(albert_tf.evaluate(evaluation), dict[str, Any])
    exporting = albert_tf.ExportSettings(init_checkpoint=FOLDER / "model", output_dir=FOLDER / "saved")
    assert_type(albert_tf.export(exporting), float)
    albert_tf.pretrain(finetuning)  # type: ignore[arg-type]
    albert_tf.ExportSettings(output_dir="saved")  # type: ignore[call-arg]


def errors() -> str:
    try:
        albert_tf.load("nothing there")
    except albert_tf.InputError as error:
        assert_type(error, albert_tf.InputError)
        return str(error)
    return ""
