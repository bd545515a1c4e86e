"""The signatures of a reloaded SavedModel against the model and AlbertTokenizer that it was made of.

Expected outputs come from the eager model on ids of the Python tokenizer, packed in Python; names and types from the
official export_to_tfhub.py.
"""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tokenization.packing import pack_pair

HIDDEN, VOCABULARY, LONGEST, MAX_SEQ_LENGTH = 16, 120, 24, 20
TOLERANCE = 2e-6  # float32 rounding of the same sums in a graph and outside one

IDS = {name: ("int32", [None, None]) for name in ("input_ids", "input_mask", "segment_ids")}
ENCODED = {"sequence_output": ("float32", [None, None, HIDDEN]), "pooled_output": ("float32", [None, HIDDEN])}
MLM = {**ENCODED, "mlm_logits": ("float32", [None, None, VOCABULARY])}
SOP = {**ENCODED, "sop_log_probs": ("float32", [None, 2])}
POSITIONS = {"mlm_positions": ("int32", [None, None])}
TEXT = {"text": ("string", [None])}
EMBEDDING = {"embedding": ("float32", [None, HIDDEN])}
SIGNATURES = {
    "tokens": (IDS, ENCODED),
    "mlm": ({**IDS, **POSITIONS}, MLM),
    "sop": (IDS, SOP),
    "tokenization_info": ({}, {"vocab_file": ("string", []), "do_lower_case": ("bool", [])}),
    "serving_default": (TEXT, {**IDS, **ENCODED}),
    "tokens_from_text": (TEXT, {**IDS, **ENCODED}),
    "embed": (IDS, EMBEDDING),
    "embed_from_text": (TEXT, EMBEDDING),
    "mlm_from_text": (TEXT, {**IDS, **POSITIONS, **MLM, "mlm_weights": ("float32", [None, None])}),
    "sop_from_text": (
        {"first": ("string", [None]), "second": ("string", [None])},
        {**IDS, **SOP, "in_order": ("float32", [None]), "swapped": ("float32", [None])},
    ),
    "fill_mask": (
        {**TEXT, "top_k": ("int32", [])},
        {
            "mask_count": ("int32", [None]),
            "pieces": ("string", [None, None, None]),
            "piece_ids": ("int32", [None, None, None]),
            "probabilities": ("float32", [None, None, None]),
        },
    ),
}

TEXTS = ["Babe [MASK] dika, 1995.", "tuko", "", "Lé [mask] [MASK] ne[MASK]", "ba be bi bo bu " * 20]


@pytest.fixture(scope="module")
def call(export_signatures):
    """Runs a signature on plain values; returns arrays."""

    def run(name, **inputs):
        strings = {"text", "first", "second"}
        tensors = {key: tf.constant(value, tf.string if key in strings else None) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in export_signatures[name](**tensors).items()}

    return run


@pytest.fixture(scope="module")
def eager(exported_weights):
    """The model's outputs for packed rows, one at a time and so without any padding."""

    def run(row, positions):
        ids, segments = row
        inputs = {"input_ids": [ids], "segment_ids": [segments], "masked_lm_positions": [positions]}
        outputs = exported_weights({name: np.array(value, np.int32) for name, value in inputs.items()}, training=False)
        return {name: np.asarray(outputs[name])[0] for name in outputs if name != "hidden_states"}

    return run


def described(tensors):
    return {name: (spec.dtype.name, spec.shape.as_list()) for name, spec in tensors.items()}


def softmax(logits):
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def assert_near(actual, expected):
    assert actual.shape == expected.shape
    assert np.max(np.abs(actual - expected), initial=0) < TOLERANCE


def test_names_types_and_shapes_are_the_official_ones_and_ours(export_signatures):
    found = {
        name: (described(function.structured_input_signature[1]), described(function.structured_outputs))
        for name, function in export_signatures.items()
    }
    assert found == SIGNATURES


@pytest.mark.parametrize("name", ["tokens_from_text", "serving_default"])
def test_tokens_from_text_are_the_models_outputs_row_by_row(call, eager, export_tokenizer, name):
    served = call(name, text=TEXTS)
    rows = [pack_pair(export_tokenizer.encode(text), None, MAX_SEQ_LENGTH, 2, 3) for text in TEXTS]
    assert served["input_ids"].shape == (len(TEXTS), MAX_SEQ_LENGTH)
    for at, (ids, segments) in enumerate(rows):
        length = len(ids)
        assert served["input_ids"][at].tolist() == ids + [0] * (MAX_SEQ_LENGTH - length)
        assert served["input_mask"][at].tolist() == [1] * length + [0] * (MAX_SEQ_LENGTH - length)
        assert not served["segment_ids"][at].any()
        expected = eager((ids, segments), [])
        assert_near(served["sequence_output"][at, :length], expected["sequence_output"])
        assert_near(served["pooled_output"][at], expected["pooled_output"])


@pytest.mark.slow
def test_the_vector_of_a_text_is_the_mean_of_its_pieces_with_length_1(call, eager, export_tokenizer):
    vectors = call("embed_from_text", text=TEXTS)["embedding"]
    packed = call("tokens_from_text", text=TEXTS)
    ids = {name: packed[name] for name in IDS}
    assert_near(call("embed", **ids)["embedding"], vectors)
    for text, vector in zip(TEXTS, vectors, strict=True):
        row = pack_pair(export_tokenizer.encode(text), None, MAX_SEQ_LENGTH, 2, 3)
        mean = np.asarray(eager(row, [])["sequence_output"]).mean(axis=0)
        assert_near(vector, mean / np.linalg.norm(mean))


_MASKS = {
    "[CLS] masked": [[0] + [1] * 8, [1] * 9],
    "holes": [[1, 0, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1, 1, 1, 1]],
    "left padding": [[0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 1, 1]],
    "all padding": [[0] * 9, [0] * 9],
    "a row of padding": [[0] * 9, [1] * 9, [1] * 3 + [0] * 6, [0] * 9, [1] * 9],
    "random": np.random.default_rng(0).integers(2, size=(8, 9)).tolist(),
}


@pytest.mark.parametrize(
    "mask",
    [name if name == "holes" else pytest.param(name, marks=pytest.mark.slow) for name in _MASKS],
)
def test_signatures_from_ids_compute_what_the_model_does_for_any_mask(call, exported_weights, mask):
    # The same number of rows for every mask, since every new shape is traced again.
    mask = np.resize(np.array(_MASKS[mask], "int32"), (8, 9))
    rng = np.random.default_rng(1)
    ids = {
        "input_ids": rng.integers(VOCABULARY, size=mask.shape).astype("int32"),
        "segment_ids": rng.integers(2, size=mask.shape).astype("int32"),
        "input_mask": mask,
    }
    # Some of what is asked for is padding.
    positions = np.argsort(rng.random(mask.shape), axis=1)[:, :4].astype("int32")
    expected = {name: np.asarray(value) for name, value in _outputs(exported_weights, ids, positions).items()}
    tolerance = {"atol": 5e-6}
    for name, more in (("tokens", {}), ("mlm", {"mlm_positions": positions}), ("sop", {})):
        served = call(name, **ids, **more)
        sequence = expected["sequence_output"] * mask[:, :, None]
        np.testing.assert_allclose(served["sequence_output"], sequence, **tolerance)
        np.testing.assert_allclose(served["pooled_output"], expected["pooled_output"], **tolerance)
        if name == "mlm":
            np.testing.assert_allclose(served["mlm_logits"], expected["masked_lm_logits"], **tolerance)
        if name == "sop":
            log_probs = np.log(softmax(expected["sentence_order_logits"]))
            np.testing.assert_allclose(served["sop_log_probs"], log_probs, **tolerance)


def _outputs(model, ids, positions):
    outputs = model({**ids, "masked_lm_positions": positions})
    return {name: outputs[name] for name in outputs if name != "hidden_states"}


def test_mlm_from_text_scores_each_mask_of_each_text(call, eager, export_tokenizer):
    served = call("mlm_from_text", text=TEXTS)
    assert served["mlm_weights"].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]]
    for at, text in enumerate(TEXTS):
        ids, segments = pack_pair(export_tokenizer.encode_with_masks(text), None, MAX_SEQ_LENGTH, 2, 3)
        positions = [position for position, piece_id in enumerate(ids) if piece_id == export_tokenizer.mask_id]
        assert served["mlm_positions"][at].tolist() == positions + [0] * (3 - len(positions))
        expected = eager((ids, segments), positions)["masked_lm_logits"]
        assert_near(served["mlm_logits"][at, : len(positions)], expected)


def test_sop_from_text_packs_and_cuts_pairs(call, eager, export_tokenizer):
    first, second = ["Babe dika.", "", "ba be bi " * 9], ["Tuko ne, 1995.", "lo", "bo bu " * 9]
    served = call("sop_from_text", first=first, second=second)
    for at, pair in enumerate(zip(first, second)):
        row = pack_pair(*map(export_tokenizer.encode, pair), MAX_SEQ_LENGTH, 2, 3)
        length = len(row[0])
        assert served["input_ids"][at, :length].tolist() == row[0]
        assert served["segment_ids"][at, :length].tolist() == row[1]
        assert served["input_mask"][at].sum() == length
        probabilities = softmax(eager(row, [])["sentence_order_logits"])
        assert_near(np.exp(served["sop_log_probs"][at]), probabilities)
        assert_near(np.array([served["in_order"][at], served["swapped"][at]]), probabilities)


@pytest.mark.slow
def test_the_signatures_from_ids_agree_with_those_from_text(call):
    from_text = call("mlm_from_text", text=TEXTS)
    ids = {name: from_text[name] for name in IDS}
    from_ids = call("mlm", **ids, mlm_positions=from_text["mlm_positions"])
    for name in MLM:
        assert_near(from_ids[name], from_text[name])
    for name in ENCODED:
        assert_near(call("tokens", **ids)[name], from_text[name])
        assert_near(call("sop", **ids)[name], from_text[name])
    pair = call("sop_from_text", first=["babe"], second=["dika"])
    assert_near(call("sop", **{name: pair[name] for name in IDS})["sop_log_probs"], pair["sop_log_probs"])


def test_a_text_alone_gives_what_it_gives_among_longer_ones(call):
    together = call("tokens_from_text", text=TEXTS)
    for at, text in enumerate(TEXTS):
        alone = call("tokens_from_text", text=[text])
        length = alone["input_ids"].shape[1]
        assert length == together["input_mask"][at].sum()
        assert_near(alone["sequence_output"][0], together["sequence_output"][at, :length])


def test_fill_mask_gives_the_top_of_the_softmax(call, export_tokenizer):
    logits = call("mlm_from_text", text=TEXTS)["mlm_logits"]
    served = call("fill_mask", text=TEXTS, top_k=7)
    assert served["mask_count"].tolist() == [1, 0, 0, 3, 0]
    for at, count in enumerate(served["mask_count"]):
        best = np.argsort(-logits[at, :count], axis=-1, kind="stable")[:, :7]
        assert served["piece_ids"][at, :count].tolist() == best.tolist()
        expected = [[export_tokenizer.id_to_piece(piece_id) for piece_id in row] for row in best]
        assert [[piece.decode() for piece in row] for row in served["pieces"][at, :count]] == expected
        assert_near(served["probabilities"][at, :count], np.take_along_axis(softmax(logits[at, :count]), best, -1))
        assert not served["probabilities"][at, count:].any()
        assert set(served["pieces"][at, count:].flat) <= {b""}
    assert call("fill_mask", text=TEXTS, top_k=1000)["piece_ids"].shape == (len(TEXTS), 3, VOCABULARY)


def test_an_empty_batch_gives_empty_outputs(call):
    assert call("tokens_from_text", text=[])["pooled_output"].shape == (0, HIDDEN)
    assert call("fill_mask", text=[], top_k=3)["pieces"].shape == (0, 0, 3)


def test_the_vocabulary_of_tokenization_info_is_the_file(call, export_vocabulary):
    info = call("tokenization_info")
    assert bool(info["do_lower_case"]) is True
    with open(info["vocab_file"].decode(), "rb") as inside, open(export_vocabulary, "rb") as original:
        assert inside.read() == original.read()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input_ids": [[VOCABULARY]]}, "input_ids must be less than 120"),
        ({"input_ids": [[-1]]}, "input_ids must not be negative"),
        ({"segment_ids": [[2]]}, "segment_ids must be less than 2"),
        ({"mlm_positions": [[1]]}, "mlm_positions must be less than S"),
        ({key: [[1] * (LONGEST + 1)] for key in IDS}, "at most 24 pieces"),
    ],
)
def test_inputs_beyond_a_table_are_errors_not_other_rows(call, changes, message):
    inputs = {"input_ids": [[5]], "input_mask": [[1]], "segment_ids": [[0]], "mlm_positions": [[0]], **changes}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call("mlm", **inputs)
