"""FillMask and the fill_mask command against the SavedModel's own serving, and what they say of bad input."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.runtime.errors import InputError
from albert_tf.serving.fill_mask import FillMask


@pytest.fixture(scope="module")
def served(exported):
    return FillMask(str(exported))


def test_pieces_and_probabilities_are_those_of_the_signature(served, export_signatures):
    texts = ["Babe [MASK] dika", "[MASK] tuko [mask]."]
    outputs = export_signatures["fill_mask"](text=tf.constant(texts), top_k=tf.constant(3))
    one, two = served.fill_mask(texts, top_k=3)
    assert [len(one.masks), len(two.masks)] == [1, 2]
    for at, filled in enumerate((one, two)):
        for mask, candidates in enumerate(filled.masks):
            assert [c.piece.encode() for c in candidates] == outputs["pieces"][at, mask].numpy().tolist()
            assert np.allclose([c.probability for c in candidates], outputs["probabilities"][at, mask], atol=1e-6)


def test_the_text_keeps_its_spelling_around_the_piece(served):
    (filled,) = served.fill_mask(["Ba-Be [MASK], DIKA [MASK]"], top_k=120)
    first, second = ({c.piece: c.text for c in candidates} for candidates in filled.masks)
    word = next(piece for piece in first if re.fullmatch("▁[a-z]+", piece))
    assert first[word] == f"Ba-Be {word[1:]}, DIKA [MASK]"
    assert first["."] == "Ba-Be., DIKA [MASK]"
    assert second[word] == f"Ba-Be [MASK], DIKA {word[1:]}"
    best = [candidates[0].piece for candidates in filled.masks]
    assert filled.best == f"Ba-Be{best[0]}, DIKA{best[1]}".replace("▁", " ")
    (start,) = served.fill_mask(["[MASK] dika"], top_k=120)
    assert {c.piece: c.text for c in start.masks[0]}[word] == f"{word[1:]} dika"


def test_order_gives_both_probabilities(served, export_signatures):
    outputs = export_signatures["sop_from_text"](first=tf.constant(["babe"]), second=tf.constant(["dika"]))
    in_order, swapped = served.order("babe", "dika")
    assert in_order + swapped == pytest.approx(1, abs=1e-6)
    assert in_order == pytest.approx(float(outputs["in_order"][0]), abs=1e-6)


@pytest.mark.parametrize(
    ("texts", "top_k", "message"),
    [
        (["[MASK]", "babe dika"], 5, r"no \[MASK\] in 'babe dika'"),
        (["babe " * 30 + "[MASK]"], 5, r"1 \[MASK\] in 'babe .*but the model read 0: the text is longer"),
        (["[MASK]"], 0, "`top_k` must be a whole number of at least 1. Received 0"),
        (["[MASK] \udcff"], 5, "not UTF-8"),
    ],
)
def test_texts_that_cannot_be_filled_are_one_line(served, texts, top_k, message):
    with pytest.raises(InputError, match=message) as error:
        served.fill_mask(texts, top_k)
    assert "\n" not in str(error.value)


def test_no_texts_give_nothing(served):
    assert served.fill_mask([]) == []


def refusal(folder):
    with pytest.raises(InputError) as error:
        FillMask(str(folder))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_folders_that_are_no_export_are_one_line(tmp_path, exported):
    assert "no model here: there is nothing" in refusal(tmp_path / "none")
    assert "no model here: there is an empty folder" in refusal(tmp_path)
    assert "no checkpoint here" in refusal(exported / "saved_model.pb")
    (tmp_path / "notes.txt").write_text("")
    assert "no checkpoint here (there is notes.txt); give" in refusal(tmp_path)
    foreign = tf.Module()
    foreign.double = tf.function(lambda x: {"y": 2 * x}, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(foreign, str(tmp_path / "foreign"), signatures={"double": foreign.double})
    assert "is no export of albert_tf (assets.extra/export.json is missing)" in refusal(tmp_path / "foreign")


def test_a_checkpoint_without_its_vocabulary_says_so(export_checkpoint):
    assert "no vocabulary (.model, vocab.txt) lies with it" in refusal(export_checkpoint)


@pytest.mark.slow
def test_a_checkpoint_answers_as_its_export_does(served, export_checkpoint, export_vocabulary, tmp_path):
    run = shutil.copytree(export_checkpoint, tmp_path / "run")
    shutil.copy(export_vocabulary, run)
    asked = FillMask(run)
    (found,), (wanted,) = asked(["Babe [MASK] dika"], 3), served(["Babe [MASK] dika"], 3)
    assert [one.piece for one in found.masks[0]] == [one.piece for one in wanted.masks[0]]
    assert np.allclose([one.probability for one in found.masks[0]], [one.probability for one in wanted.masks[0]])
    assert asked.order("babe", "dika") == pytest.approx(served.order("babe", "dika"), abs=1e-6)
    tf.random.set_seed(1)
    assert asked("Babe [MASK] dika")[0].text == "Babe [MASK] dika"


def test_a_fine_tuned_checkpoint_says_what_asks_it(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "tuned", "classification", ("bad", "good"))
    assert "it fills in no masks; Predictor asks it" in refusal(tmp_path / "tuned")


def test_one_text_is_a_list_of_one(served):
    assert served.fill_mask("babe [MASK]") == served.fill_mask(["babe [MASK]"])


@pytest.mark.parametrize("texts", [5, [5], [None], [b"[MASK]"], [["[MASK]"]]])
def test_what_is_no_text_is_one_line(served, texts):
    with pytest.raises(InputError, match="text was expected; received|list of texts was expected; received"):
        served.fill_mask(texts)


def run_fill_mask(exported, *arguments, stdin=None):
    command = [sys.executable, "-m", "albert_tf.fill_mask", f"--saved_model={exported}", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True)


@pytest.mark.slow
def test_the_command_gives_a_result_for_each_line_of_stdin(served, exported):
    result = run_fill_mask(exported, "--top_k=2", stdin="Babe [MASK].\n\ntuko [MASK] dika [MASK]\n")
    assert result.returncode == 1
    assert result.stderr == (
        "fill_mask: 1 texts without an answer, each with its error; the first: "
        "no [MASK] in ''; write [MASK] where a word is to be filled in\n"
    )
    one, error, two = map(json.loads, result.stdout.splitlines())
    assert [one["row"], error["row"], two["row"]] == [1, 2, 3]
    assert error["error"].startswith("no [MASK] in ''")
    wanted = served.fill_mask(["Babe [MASK]."], 2) + served.fill_mask(["tuko [MASK] dika [MASK]"], 2)
    for found, filled in zip((one, two), wanted, strict=True):
        expected = json.loads(json.dumps(dataclasses.asdict(filled)))
        assert {name: found[name] for name in ("text", "best")} == {"text": filled.text, "best": filled.best}
        for candidates, masks in zip(found["masks"], expected["masks"], strict=True):
            assert [one["piece"] for one in candidates] == [one["piece"] for one in masks]


@pytest.mark.slow
def test_a_table_shows_each_mask_and_the_best_of_all(served, exported):
    result = run_fill_mask(exported, "--top_k=2", "--format=table", "Babe [MASK].", "tuko [MASK] dika [MASK]")
    assert (result.returncode, result.stderr) == (0, "")
    one, two = served.fill_mask(["Babe [MASK]."], 2) + served.fill_mask(["tuko [MASK] dika [MASK]"], 2)
    lines = result.stdout.splitlines()
    assert lines[0] == "Babe [MASK]."
    assert [line.split()[0] for line in lines[1:3]] == [f"{c.probability:.4f}" for c in one.masks[0]]
    assert [line.endswith(c.text) for line, c in zip(lines[1:3], one.masks[0])] == [True, True]
    assert lines[4:6] == ["tuko [MASK] dika [MASK]", "  [MASK] 1"]
    assert lines[8] == "  [MASK] 2"
    assert lines[11] == f"  => {two.best}"
