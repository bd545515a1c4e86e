"""Requests that run together get the answers that they get alone, whatever their sizes; others do not run together."""

import numpy as np
import pytest
from word_model import VOCAB_SIZE, WordModel

from albert_tf.portable.interface import TensorForm
from albert_tf.server.joining import MOST_CANDIDATES, MOST_LOGITS, explain_size, join, make_rows, take_apart
from albert_tf.server.served_model import Signature

MODEL = WordModel()


def texts(*values):
    array = np.empty(len(values), object)
    array[:] = [value.encode() for value in values]
    return array


def ids(rows, mask=None):
    array = np.array(rows, np.int32)
    mask = np.ones_like(array) if mask is None else np.array(mask, np.int32)
    return {"input_ids": array, "input_mask": mask, "segment_ids": np.zeros_like(array)}


def words(*rows):
    return {"words": np.stack([texts(*row) for row in rows])}


def run_together(signature, *inputs):
    parts = [make_rows(MODEL, signature, each) for each in inputs]
    assert len({part.key for part in parts}) == 1
    assert parts[0].key is not None
    return take_apart(parts, MODEL.run(parts[0].signature, join(parts)))


TOP_2 = {"top_k": np.array(2, np.int32)}


@pytest.mark.parametrize(
    ("signature", "inputs"),
    [
        ("serving_default", [{"text": texts("abc", "d")}, {"text": texts("e")}, {"text": texts("fghijk", "")}]),
        ("tokens", [ids([[1, 2, 3], [4, 5, 0]], [[1, 1, 1], [1, 1, 0]]), ids([[6]]), ids([[7, 8, 9, 1, 2]])]),
        ("tag", [words(["a", "b"], ["c", ""]), words(["d"]), words(["e", "f", "g"])]),
        ("fill_mask", [{"text": texts("a [MASK]"), **TOP_2}, {"text": texts("b", "[MASK] [MASK] c"), **TOP_2}]),
        (
            "classify",
            [{"text": texts("a"), "text_pair": texts("b")}, {"text": texts("c", "d"), "text_pair": texts("e", "f")}],
        ),
        ("from_ids", [ids([[1, 2]]), ids([[3, 4], [5, 6]])]),
    ],
)
def test_together_is_as_alone(signature, inputs):
    for own, together in zip(inputs, run_together(signature, *inputs), strict=True):
        alone = MODEL.run(signature, own)
        assert together.keys() == alone.keys()
        for name, array in alone.items():
            assert array.shape == together[name].shape, name
            assert array.tolist() == together[name].tolist(), name


def test_the_default_runs_with_the_signature_that_it_stands_for():
    keys = {make_rows(MODEL, name, {"text": texts("a")}).key for name in ("serving_default", "tokens_from_text")}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("signature", "first", "second"),
    [
        ("from_ids", ids([[1, 2]]), ids([[1, 2, 3]])),
        # Nothing masked in, or an odd mask: padding would be seen.
        ("tokens", ids([[1, 2]], [[0, 0]]), ids([[1, 2, 3]])),
        ("tokens", ids([[1, 2]], [[-1, -1]]), ids([[1, 2, 3]])),
        ("fill_mask", {"text": texts("[MASK]"), **TOP_2}, {"text": texts("[MASK]"), "top_k": np.array(3, np.int32)}),
    ],
)
def test_what_would_change_an_answer_does_not_run_together(signature, first, second):
    assert make_rows(MODEL, signature, first).key != make_rows(MODEL, signature, second).key


def test_no_rows_run_alone_and_so_do_all_of_a_model_whose_rows_change_each_other():
    assert make_rows(MODEL, "length", {"text": texts()}).key is None
    assert make_rows(MODEL, "info", {}).key is None
    alone = WordModel()
    alone.runs_alone = True
    assert make_rows(alone, "length", {"text": texts("a")}).key is None


def test_options_count_as_rows_of_the_encoder():
    class Choosing(WordModel):
        pass

    model = Choosing()
    model.signatures["choose"] = model.signatures["tag"]
    options = {"options": np.stack([texts("a", "b", "c")] * 2)}
    form = model.signatures["tag"].inputs["words"]
    model.signatures["choose"] = type(model.signatures["tag"])(
        {"options": type(form)("options", "string", form.axes)}, {}
    )
    assert make_rows(model, "choose", options).sequences == 6


def test_masks_are_bounded_by_the_memory_of_their_scores():
    text = "[MASK] " * 100
    most = MOST_LOGITS // VOCAB_SIZE // 100
    few, many = ({"text": texts(*[text] * count), "top_k": np.array(1, np.int32)} for count in (most, most + 1))
    assert explain_size([make_rows(MODEL, "fill_mask", few)], VOCAB_SIZE) is None
    assert "masks at once" in explain_size([make_rows(MODEL, "fill_mask", many)], VOCAB_SIZE)


def test_a_mask_in_odd_letters_counts():
    rows = make_rows(MODEL, "fill_mask", {"text": texts("［ＭＡＳＫ］ [mask]"), "top_k": np.array(1, np.int32)})
    assert rows.masks == 2


def test_candidates_are_bounded():
    asked = {"text": texts(*["[MASK]"] * 2), "top_k": np.array(MOST_CANDIDATES, np.int32)}
    assert explain_size([make_rows(MODEL, "fill_mask", asked)], 100) is None
    assert "candidates at once" in explain_size([make_rows(MODEL, "fill_mask", asked)], MOST_CANDIDATES)


def test_the_numbers_of_all_layers_are_bounded_before_they_are_computed():
    outputs = {
        "hidden_states": TensorForm("hidden_states", "float32", ("batch", 13, "hidden_states_2", 768)),
        "attentions": TensorForm("attentions", "float32", ("batch", 12, 12, "length", "length")),
    }
    inputs = {name: TensorForm(name, "int32", ("batch", "length")) for name in ids([[1]])}
    model = WordModel()
    model.signatures = {"layers": Signature(inputs, outputs)}
    one = make_rows(model, "layers", ids([[1] * 256]))
    assert one.layer_values == 13 * 256 * 768 + 144 * 256 * 256
    assert explain_size([one], VOCAB_SIZE) is None
    assert "numbers of all layers at once" in explain_size([one, one], VOCAB_SIZE)
    many = make_rows(model, "layers", ids([[1] * 512] * 32))
    assert "1,371,537,408 numbers of all layers at once" in explain_size([many], VOCAB_SIZE)
    assert make_rows(MODEL, "tokens", ids([[1, 2]])).layer_values == 0
