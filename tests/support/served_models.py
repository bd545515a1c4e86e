"""A small untrained model with a small vocabulary, exported once for all tests of export."""

import dataclasses
import signal
import sys
from pathlib import Path

import keras
import pytest
from export_fixtures import HEADS_ASKED, VOCAB_SIZE

from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LONGEST, MAX_SEQ_LENGTH = 24, 20
# Seconds, far more than any case takes.
PATIENCE = 300


@pytest.fixture(scope="session")
def export_tokenizer(export_vocabulary) -> AlbertTokenizer:
    return AlbertTokenizer(export_vocabulary)


@pytest.fixture(scope="session")
def exported_weights(small_config) -> AlbertForPretraining:
    """Weights large enough that every input gives different outputs."""
    keras.utils.set_random_seed(0)
    changes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": LONGEST, "initializer_range": 0.3}
    return AlbertForPretraining(dataclasses.replace(small_config, attention_probs_dropout_prob=0.0, **changes))


@pytest.fixture(scope="session")
def export_checkpoint(tmp_path_factory, exported_weights, export_tokenizer, save_checkpoint) -> str:
    """A run's folder that knows its vocabulary."""
    vocabulary = {"file": "small.model", "sha256": export_tokenizer.sha256, "size": VOCAB_SIZE}
    return save_checkpoint(tmp_path_factory.mktemp("run"), exported_weights, vocabulary)


@pytest.fixture(scope="session")
def exported(tmp_path_factory, export_checkpoint, export_vocabulary) -> Path:
    """The SavedModel."""
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings

    folder = tmp_path_factory.mktemp("export") / "saved_model"
    settings = ExportSettings(
        init_checkpoint=export_checkpoint,
        spm_model_file=export_vocabulary,
        output_dir=str(folder),
        max_seq_length=MAX_SEQ_LENGTH,
    )
    assert export_saved_model(settings) < 1e-5
    return folder


@pytest.fixture(scope="session")
def export_signatures(exported):
    """The signatures of the loaded SavedModel."""
    import tensorflow as tf

    return tf.saved_model.load(str(exported)).signatures


@pytest.fixture(scope="session")
def predictors(tmp_path_factory, save_finetuned):
    """{head: Predictor of an untrained model}."""
    from albert_tf.serving.predictor import Predictor

    folder = tmp_path_factory.mktemp("hostile")
    for name, asked in HEADS_ASKED.items():
        save_finetuned(folder / name, *asked)
    return {name: Predictor(str(folder / name)) for name in HEADS_ASKED}


@pytest.fixture(scope="session")
def exports(tmp_path_factory, save_finetuned, exported):
    """An export of a fine-tuned model, and one of a pre-trained model."""
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings

    folder = tmp_path_factory.mktemp("hostile_export")
    save_finetuned(folder / "run", *HEADS_ASKED["classification"])
    saved = str(folder / "saved_model")
    export_saved_model(ExportSettings(init_checkpoint=str(folder / "run"), output_dir=saved))
    return {"finetuned": saved, "pretrained": str(exported)}


@pytest.fixture(scope="session")
def portable_export(tmp_path_factory, predictors, export_checkpoint, export_vocabulary):
    """A function of a model's head (or "pretraining"), a format and settings, to the folder of an export.

    With `chosen` the export has this head.
    """
    from albert_tf.portable.export import export_model
    from albert_tf.portable.settings import ModelExportSettings

    folder, made = tmp_path_factory.mktemp("portable"), {}

    def make(head: str, format_name: str, chosen: str | None = None, **settings) -> str:
        key = (head, format_name, chosen, *sorted(settings.items()))
        if key not in made:
            source = export_checkpoint if head == "pretraining" else predictors[head].path
            made[key] = str(folder / f"export_{len(made)}")
            given = {"precision": "float32", "head": chosen, **settings}
            given |= {"max_seq_length": MAX_SEQ_LENGTH} if head == "pretraining" else {}
            export_model(
                ModelExportSettings(
                    init_checkpoint=source,
                    spm_model_file=export_vocabulary,
                    output_dir=made[key],
                    format=format_name,
                    **given,
                )
            )
        return made[key]

    return make


class _Cases:
    """Counts cases. Each must end in time, in a result or in an error of one line."""

    def __init__(self, title):
        self.title, self.answered, self.refused = title, 0, 0

    def run(self, function, *arguments):
        signal.signal(signal.SIGALRM, self._hang)
        signal.alarm(PATIENCE)
        try:
            result = function(*arguments)
        except (InputError, OSError) as error:
            # The command shows an OSError by its number and the file's name.
            assert "\n" not in str(error) and len(str(error)) < 1000, error
            self.refused += 1
            return None
        finally:
            signal.alarm(0)
        self.answered += 1
        return result

    def _hang(self, *_):
        raise AssertionError(f"{self.title}: a case goes on for more than {PATIENCE} seconds")

    def end(self, fewest, fewest_refused=1):
        answered, total = self.answered, self.answered + self.refused
        sys.stdout.write(f"\n{self.title}: {total} cases, {answered} answered, {self.refused} refused in one line\n")
        assert total >= fewest
        assert self.refused >= fewest_refused


@pytest.fixture
def count_cases():
    """A function of a title that returns a counter of a test's cases; `pytest -s` shows the counts."""
    return _Cases
