"""Texts of a file with their masks filled in: one result a line, batches of like lengths, jobs that go on."""

import dataclasses
import json

import pytest

from albert_tf.rows import mask_prediction
from albert_tf.rows.mask_prediction import MaskPrediction, fill_rows
from albert_tf.runtime.errors import InputError
from albert_tf.serving.fill_mask import FillMask

TEXTS = ["Babe [MASK].", "", "tuko [MASK] dika [MASK]", "{no JSON", "[MASK] " * 50, "babe [mask]"]


@pytest.fixture(scope="module")
def asked(exported):
    return FillMask(exported)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


def test_every_line_has_its_result_in_order(asked, file, tmp_path):
    outcome = fill_rows(asked, MaskPrediction(str(file), 2, str(tmp_path / "b.jsonl"), batch_size=3))
    assert (outcome.rows, outcome.errors) == (6, 3)
    with pytest.raises(InputError, match=r"3 texts without an answer, each with its error; the first: no \[MASK\]"):
        outcome.check("texts")
    results = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [result["row"] for result in results] == [1, 2, 3, 4, 5, 6]
    assert [result["text"] for result in results] == TEXTS
    assert ["error" in result for result in results] == [False, True, False, True, True, False]
    for at in (0, 2, 5):
        (alone,) = json.loads(json.dumps([dataclasses.asdict(one) for one in asked.fill_mask(TEXTS[at], 2)]))
        assert results[at]["best"] == alone["best"]
        found, wanted = (
            [[one["piece"] for one in candidates] for candidates in each["masks"]] for each in (results[at], alone)
        )
        assert found == wanted


def test_a_job_goes_on_where_it_was(asked, file, tmp_path, monkeypatch):
    file.write_text("Babe [MASK].\n" * 200)
    settings = {"batch_size": 1, "top_k": 2}
    fill_rows(asked, MaskPrediction(str(file), output_file=str(tmp_path / "whole.jsonl"), **settings))
    calls, answer = [], mask_prediction.MaskAsker.answer

    def count(self, examples):
        calls.append(1)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return answer(self, examples)

    monkeypatch.setattr(mask_prediction.MaskAsker, "answer", count)
    wanted = MaskPrediction(str(file), output_file=str(tmp_path / "b.jsonl"), **settings)
    with pytest.raises(KeyboardInterrupt):
        fill_rows(asked, wanted)
    fill_rows(asked, wanted)
    assert len(calls) == 100 + 200 - 64
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_form_that_masks_have_not_is_refused(asked, file, tmp_path):
    with pytest.raises(InputError, match="masks are written as jsonl, not as tsv; give --format=jsonl"):
        fill_rows(asked, MaskPrediction(str(file), output_file=str(tmp_path / "b.tsv")))
