"""FillMask on exports as ONNX and LiteRT: the candidates and orders of the SavedModel, and no TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.serving.fill_mask import FillMask
from albert_tf.serving.portable_masks import _likeliest

ROOT = Path(__file__).resolve().parents[3]
WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('tensorflow', 'keras', 'tensorflow_text')));"
TEXTS = ["Babe [MASK] dika", "[MASK] tuko [mask].", "[MASK]", "babe dika [MASK]", "un[MASK]able, 1995,"]


def test_the_likeliest_come_first_and_of_equals_the_smaller_id():
    probabilities = np.array([0.1, 0.3, 0.1, 0.3, 0.1, 0.1])
    assert _likeliest(probabilities, 3)[0].tolist() == [1, 3, 0]
    ids, chances = _likeliest(probabilities, 99)
    assert (ids.tolist(), chances[:2].tolist()) == ([1, 3, 0, 2, 4, 5], [0.3, 0.3])


@pytest.mark.parity
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_masks_and_orders_are_those_of_the_saved_model(format_name, portable_export, exported):
    asked, served = FillMask(portable_export("pretraining", format_name)), FillMask(exported)
    for found, wanted in zip(asked(TEXTS, 4), served(TEXTS, 4), strict=True):
        assert (found.text, found.best) == (wanted.text, wanted.best)
        for ours, theirs in zip(found.masks, wanted.masks, strict=True):
            assert [one.piece for one in ours] == [one.piece for one in theirs]
            np.testing.assert_allclose(
                [one.probability for one in ours], [one.probability for one in theirs], atol=1e-4
            )
        (alone,) = asked(found.text, 4)
        assert [one.piece for one in alone.masks[0]] == [one.piece for one in found.masks[0]]
    assert asked.order("babe", "dika") == pytest.approx(served.order("babe", "dika"), abs=1e-4)
    with pytest.raises(InputError, match=r"1 \[MASK\] in 'babe .*but the model read 0: the text is longer"):
        asked("babe " * 30 + "[MASK]")


@pytest.mark.parity
def test_the_command_needs_neither_tensorflow_nor_keras(portable_export):
    folder = portable_export("pretraining", "litert")
    code = "sys.argv[0] = 'fill_mask'; from albert_tf.fill_mask import main; main()"
    command = [sys.executable, "-c", f"{WITHOUT}\n{code}", f"--model={folder}"]
    done = subprocess.run([*command, *TEXTS], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["best"] for line in done.stdout.splitlines()] == [
        one.best for one in FillMask(folder)(TEXTS)
    ]
    done = subprocess.run([*command, "--first=babe", "--second=dika"], capture_output=True, text=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert (found["in_order"], found["swapped"]) == pytest.approx(FillMask(folder).order("babe", "dika"), abs=1e-6)


@pytest.mark.parity
def test_a_portable_model_that_fills_in_no_masks_is_one_line(portable_export):
    for head, settings, message in [
        ("classification", {}, r"fine-tuned for mine|classification .*it fills in no masks; predict asks it"),
        ("pretraining", {"chosen": "encoder"}, "of the head encoder, which fills in no masks"),
    ]:
        with pytest.raises(InputError, match=message):
            FillMask(portable_export(head, "onnx", **settings))
