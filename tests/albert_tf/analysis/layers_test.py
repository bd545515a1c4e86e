"""analyse_layers: figures of real models against the model itself, text by text; records; more applications; errors."""

import dataclasses
import re

import numpy as np
import pytest

from albert_tf import analyse_layers as command
from albert_tf.analysis.layer_plot import draw_layers
from albert_tf.analysis.layer_settings import LayerSettings
from albert_tf.analysis.layer_sums import OF_HEADS
from albert_tf.analysis.layer_table import format_layers
from albert_tf.analysis.layers import analyse_layers, measure_sequences
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

TEXTS = ("bade fuda", "ki", "moda bade fuda ki")


@pytest.fixture
def settings(export_checkpoint, export_vocabulary) -> LayerSettings:
    return LayerSettings(
        init_checkpoint=(export_checkpoint,),
        spm_model_file=export_vocabulary,
        max_seq_length=20,
        input_file="texts.txt",
    )


@pytest.fixture
def untrained(tmp_path, save_checkpoint, small_config):
    """A function that writes the checkpoint of a model of `small_config` with changes."""

    def save(name, **changes):
        return save_checkpoint(
            tmp_path / name, AlbertForPretraining(dataclasses.replace(small_config, **changes)), None
        )

    return save


def test_figures_are_those_of_the_model_text_by_text(settings, exported_weights, export_tokenizer):
    distances, entropies = [], []
    for text in TEXTS:
        outputs = exported_weights.albert(export_tokenizer(text), output_attentions=True)
        states = np.asarray(outputs["hidden_states"])[:, 0]
        distances.append(np.linalg.norm(states[1:] - states[:-1], axis=-1))
        heads = np.asarray(outputs["attentions"])[:, 0]
        entropies.append(-(heads * np.log(heads)).sum(axis=-1))
    (model,) = analyse_layers(settings, TEXTS)["models"]
    assert model["num_tokens"] == sum(part.shape[1] for part in distances)
    np.testing.assert_allclose(model["l2_distance"], np.concatenate(distances, axis=1).mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(model["heads"]["entropy"], np.concatenate(entropies, axis=2).mean(axis=2), rtol=1e-5)


def test_sequences_of_pieces_are_measured_as_texts_are(settings, exported_weights, export_tokenizer):
    (model,) = analyse_layers(settings, TEXTS)["models"]
    batches = [export_tokenizer(text) for text in TEXTS]
    sequences = [(batch["input_ids"][0].tolist(), batch["segment_ids"][0].tolist()) for batch in batches]
    found = measure_sequences(exported_weights.albert, sequences)
    assert found["num_tokens"] == model["num_tokens"] and found["num_sequences"] == len(TEXTS)
    for name in ("l2_distance", "angle"):
        np.testing.assert_allclose(found[name], model[name], rtol=1e-5)
    for name in OF_HEADS:
        np.testing.assert_allclose(found["heads"][name], model["heads"][name], rtol=1e-4, atol=1e-6)


def test_the_shared_layer_is_applied_more_often(settings):
    (trained,) = analyse_layers(settings, TEXTS)["models"]
    result = analyse_layers(dataclasses.replace(settings, applications=5), TEXTS)
    (longer,) = result["models"]
    assert (longer["num_hidden_layers"], len(longer["l2_distance"])) == (2, 5)
    np.testing.assert_allclose(longer["l2_distance"][:2], trained["l2_distance"], rtol=1e-5)


def test_records_are_read_to_the_number_asked_for(untrained, write_records):
    records = write_records("heldout", 9)
    path = untrained("two_blocks", inner_group_num=2, parameter_sharing="none")
    result = analyse_layers(LayerSettings(init_checkpoint=(path,), input_file=records, num_examples=7))
    (model,) = result["models"]
    assert model["num_sequences"] == 7 and len(model["heads"]["distance"]) == 4
    title, headings, *rows = format_layers(result).splitlines()
    assert title.startswith("two_blocks: ") and title.endswith(" tokens of 7 sequences")
    assert headings.split()[-2:] == ["[CLS]", "[SEP]"] and [row.split()[0] for row in rows] == ["1", "2"]


def test_a_model_that_shares_too_little_is_refused_before_any_is_measured(untrained):
    path = untrained("groups", num_hidden_groups=2)
    asked = LayerSettings(init_checkpoint=(path,), input_file="a.txt", applications=3, names=("mine",))
    with pytest.raises(InputError, match="^--applications wants models with one layer .*; mine has param.*groups=2$"):
        analyse_layers(asked)


def test_texts_longer_than_a_model_takes_are_refused(settings):
    message = "--max_seq_length: sequences of 25 pieces are longer than .* takes: max_position_embeddings=24"
    with pytest.raises(InputError, match=message):
        analyse_layers(dataclasses.replace(settings, max_seq_length=25), TEXTS)
    with pytest.raises(InputError, match="^--input_file: texts.txt holds no text$"):
        analyse_layers(settings, [])


def test_names_are_as_many_as_models_and_no_two_alike(settings):
    alike = dataclasses.replace(settings, init_checkpoint=("a/run", "b/run/"))
    assert alike.titles == ["a/run", "b/run"]
    alike = dataclasses.replace(settings, init_checkpoint=("a/run", "a/run"))
    assert len(set(alike.titles)) == 2
    assert dataclasses.replace(alike, names=("x", "y")).titles == ["x", "y"]
    message = "--names must be as many as --init_checkpoint: 1. Received 2: a, b."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        dataclasses.replace(settings, names=("a", "b"))
    with pytest.raises(InputError, match="^--names: one of them is empty"):
        dataclasses.replace(alike, names=("", "y"))
    with pytest.raises(InputError, match="^--init_checkpoint must name models"):
        dataclasses.replace(settings, init_checkpoint=("a", ""))


def test_lines_that_are_not_empty_are_texts_and_records_are_records(tmp_path, write_records):
    (tmp_path / "a.txt").write_text("one\n\n two \r\n")
    (tmp_path / "b.txt").write_bytes(b"three\n\xff\n")
    read = command._texts
    assert read(f"{tmp_path}/a.txt,{tmp_path}/b.txt", 3) == ["one", " two ", "three"]
    with pytest.raises(InputError, match="b.txt, line 2: no UTF-8"):
        read(f"{tmp_path}/*.txt", 9)
    assert read(write_records("heldout", 2), 9) is None


def test_a_figure_tells_models_and_heads_apart(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    seen = []
    monkeypatch.setattr(pyplot, "close", seen.append)
    heads = {name: [[0.1, 0.3], [0.2, 0.4]] for name in OF_HEADS}
    model = {"l2_distance": [3.0, 2.0], "angle": [60.0, 30.0], "heads": heads, "num_hidden_layers": 1}
    model["uniform"] = dict.fromkeys(heads, 0.5)
    models = [{**model, "name": name} for name in ("$x_1$", "_hidden")]
    draw_layers({"models": models, "applications": 2}, str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (figure,) = seen
    explained = [text.get_text() for text in figure.legends[0].get_texts()]
    assert explained == ["$x_1$", " _hidden", "one head", "if every token looked at all alike"]
    looks = {(line.get_color(), line.get_marker()) for line in figure.axes[0].lines if line.get_label() in explained}
    assert len(looks) == 2
