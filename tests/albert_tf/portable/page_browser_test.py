"""Answers of the page of examples/browser in a headless Chromium, beside those of Predictor and FillMask."""

import json
from pathlib import Path

import numpy as np
import pytest
from export_page import asked, call, status

from albert_tf.serving.embedder import Embedder
from albert_tf.serving.fill_mask import FillMask
from albert_tf.serving.predictor import Predictor

pytestmark = pytest.mark.browser

# Rounding of float32; in int8 a number at the edge between two bytes may become either.
TOLERANCES = {"float32": 1e-4, "int8": 2e-2}
SMALL_VECTORS = str(Path(__file__).resolve().parents[3] / "models" / "small_vectors")
SENTENCES = ["bado mite ro.", "Lu ra, fo 1995,", "gi", "Café 日本 😀 lu ra"]


@pytest.mark.parametrize("precision", TOLERANCES)
def test_masks_are_filled_in_as_in_python(precision, page, exported):
    folder = exported("pretraining", precision)
    texts = ["bado [MASK] ro.", "[MASK]", "lu [MASK] fo, 1995, [MASK]", "Café 日本 [mask]"]
    found = call(
        page(folder), folder, f"return Promise.all({json.dumps(texts)}.map((text) => model.fillMask(text, 120)))"
    )
    for filled, masks in zip(FillMask(folder).fill_mask(texts, 120), found, strict=True):
        assert len(masks) == len(filled.masks)
        for mask, wanted in zip(masks, filled.masks, strict=True):
            chances = {one["piece"]: one["probability"] for one in mask}
            assert chances == pytest.approx({one.piece: one.probability for one in wanted}, abs=TOLERANCES[precision])
            assert [one["probability"] for one in mask] == sorted(chances.values(), reverse=True)


@pytest.mark.parametrize("head", ["classification", "pair", "multi_label"])
@pytest.mark.parametrize("precision", TOLERANCES)
def test_classes_are_as_likely_as_in_python(head, precision, page, exported):
    folder = exported(head, precision)
    examples = [{"text": text} | ({"text_pair": "Ro gi"} if head == "pair" else {}) for text in SENTENCES]
    asked = json.dumps([list(example.values()) for example in examples])
    found = call(page(folder), folder, f"return Promise.all({asked}.map((texts) => model.classify(...texts)))")
    for answer, rows in zip(Predictor(folder).predict(examples), found, strict=True):
        chances = {row["label"]: row["probability"] for row in rows}
        assert chances == pytest.approx(answer["probabilities"], abs=TOLERANCES[precision])


@pytest.mark.parametrize("precision", TOLERANCES)
def test_vectors_are_those_of_python_and_the_nearest_come_first(precision, page, exported):
    folder = exported(SMALL_VECTORS, precision)
    texts = ["Refunds take two weeks.", "The shop opens at nine.", "", "Café 日本 😀", "The shop opens at nine."]
    question = "When can I come to the store?"
    opened = page(folder)
    found = call(opened, folder, f"return Promise.all({json.dumps([*texts, question])}.map((one) => model.embed(one)))")
    wanted = Embedder(folder).embed([*texts, question])
    np.testing.assert_allclose(found, wanted, atol=TOLERANCES[precision])
    code = f"const texts = {json.dumps(texts)}; await model.nearest('Coffee', texts.slice(1));"
    code += f" return model.nearest({json.dumps(question)}, texts)"
    nearest = call(opened, folder, code)
    cosines = (wanted @ wanted[-1])[:-1]
    assert [one["text"] for one in nearest[:2]] == [texts[1]] * 2
    assert [one["similarity"] for one in nearest] == pytest.approx(sorted(cosines, reverse=True), abs=0.05)


def test_the_nearest_sentences_are_on_the_page(page, exported):
    opened = page(exported(SMALL_VECTORS, "int8"))
    answer = asked(opened, text="When can I come to the store?", text_pair="It rains.\n\n  The shop opens at nine. \n")
    assert answer.index("The shop opens at nine.") < answer.index("It rains.")
    assert status(opened).startswith("Computed in ")
    asked(opened, text="When?", text_pair="\n ")
    assert status(opened) == "Write a text, and below it some to compare it with."


@pytest.mark.parametrize("settings", [{"batch_size": 3}, {"batch_size": 1, "fixed_length": True}])
def test_fixed_shapes_are_filled_up(settings, page, exported):
    folder = exported("classification", **settings)
    found = call(page(folder), folder, "return model.classify('bado mite')")
    (answer,) = Predictor(folder).predict(["bado mite"])
    assert {row["label"]: row["probability"] for row in found} == pytest.approx(answer["probabilities"], abs=1e-4)


def test_a_mask_is_filled_in_on_the_page(page, exported):
    folder = exported("pretraining")
    opened = page(folder)
    text = "bado <b>[MASK]</b> ro [mask]"
    answer = asked(opened, text=text)
    (filled,) = FillMask(folder).fill_mask([text])
    marks = opened.evaluate("[...document.querySelectorAll('#answer mark')].map((mark) => mark.textContent)")
    assert marks == [mask[0].piece.replace("▁", " ").strip() for mask in filled.masks]
    assert "<b>" in opened.evaluate("document.querySelector('#answer .best').textContent")
    for mask in filled.masks:
        assert f"{100 * mask[0].probability:.1f} %" in answer
    assert status(opened).startswith("Computed in ")


def test_a_pair_is_classified_on_the_page(page, exported):
    folder = exported("pair")
    opened = page(folder)
    answer = asked(opened, text="bado", text_pair="mite ro")
    (found,) = Predictor(folder).predict([{"text": "bado", "text_pair": "mite ro"}])
    assert answer.startswith(found["label"])
    assert f"{100 * max(found['probabilities'].values()):.1f} %" in answer


def test_the_page_asks_nobody_else_and_complains_of_nothing(page, exported, address, browser):
    browser.events.clear()
    opened = page(exported("pretraining"))
    asked(opened, text="bado [MASK]")
    errors, addresses = opened.complaints()
    assert errors == []
    assert len(addresses) > 5
    assert all(one.startswith((address, "data:,")) for one in addresses)
