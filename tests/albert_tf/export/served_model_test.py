"""ServedModel and the fill_mask command against the SavedModel's own serving, and what they say of bad input."""

import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import InputError
from albert_tf.export.served_model import ServedModel


@pytest.fixture(scope="module")
def served(exported):
    return ServedModel(str(exported))


def test_pieces_and_probabilities_are_those_of_the_signature(served, serving):
    texts = ["Babe [MASK] dika", "[MASK] tuko [mask]."]
    outputs = serving["fill_mask"](text=tf.constant(texts), top_k=tf.constant(3))
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


def test_order_gives_both_probabilities(served, serving):
    outputs = serving["sop_from_text"](first=tf.constant(["babe"]), second=tf.constant(["dika"]))
    in_order, swapped = served.order("babe", "dika")
    assert in_order + swapped == pytest.approx(1, abs=1e-6)
    assert in_order == pytest.approx(float(outputs["in_order"][0]), abs=1e-6)


@pytest.mark.parametrize(
    ("texts", "top_k", "message"),
    [
        (["[MASK]", "babe dika"], 5, r"no \[MASK\] in 'babe dika'"),
        (["babe " * 30 + "[MASK]"], 5, r"1 \[MASK\] in 'babe .*but the model read 0: the text is longer"),
        (["[MASK]"], 0, "--top_k must be at least 1. Received 0"),
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
        ServedModel(str(folder))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_folders_that_are_no_export_are_one_line(tmp_path, exported):
    assert "no folder" in refusal(tmp_path / "none")
    assert "is no SavedModel" in refusal(tmp_path)
    assert "is no SavedModel" in refusal(exported / "saved_model.pb")
    foreign = tf.Module()
    foreign.double = tf.function(lambda x: {"y": 2 * x}, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(foreign, str(tmp_path / "foreign"), signatures={"double": foreign.double})
    assert "no signature fill_mask, only double" in refusal(tmp_path / "foreign")


def test_damaged_exports_are_one_line(tmp_path, exported):
    for name, damage in {
        "saved_model.pb": lambda data: data[: len(data) // 2],
        "variables/variables.index": lambda data: data[: len(data) // 2],
    }.items():
        folder = tmp_path / name.replace("/", "_")
        (folder / "variables").mkdir(parents=True)
        for part in ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"):
            data = (exported / part).read_bytes()
            (folder / part).write_bytes(damage(data) if part == name else data)
        assert "is damaged" in refusal(folder)


def test_the_command_fills_each_line_of_stdin_until_one_has_no_mask(served, exported):
    result = subprocess.run(
        [sys.executable, "-m", "albert_tf.fill_mask", f"--saved_model={exported}", "--top_k=2"],
        input="Babe [MASK].\n\ntuko [MASK] dika [MASK]\nbabe\nbabe [MASK]\n",
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "fill_mask: no [MASK] in 'babe'; write [MASK] where a word is to be filled in"
    ]
    one, two = served.fill_mask(["Babe [MASK]."], 2) + served.fill_mask(["tuko [MASK] dika [MASK]"], 2)
    lines = result.stdout.splitlines()
    assert lines[0] == "Babe [MASK]."
    assert [line.split()[0] for line in lines[1:3]] == [f"{c.probability:.4f}" for c in one.masks[0]]
    assert [line.endswith(c.text) for line, c in zip(lines[1:3], one.masks[0])] == [True, True]
    assert lines[4:6] == ["tuko [MASK] dika [MASK]", "  [MASK] 1"]
    assert lines[8] == "  [MASK] 2"
    assert lines[11] == f"  => {two.best}"
