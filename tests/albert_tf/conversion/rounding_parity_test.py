"""A model of 12 layers and 30,000 pieces, here and in transformers, both against float64: their difference is rounding.

Both compute in float32 and differ by more than small models do. Their own model in float64 shows whose error that
is: ours is no farther from it than twice theirs, and neither is far.
"""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.conversion.hugging_face import save_hugging_face

pytestmark = pytest.mark.parity

BATCH, LENGTH = 2, 32
# Of the largest absolute value of an output: some roundings of float32, which are 6e-8 each, in each of 12 layers.
TOLERANCE = 5e-6


def test_what_a_large_model_differs_by_is_rounding(random_model, transformers, torch, tmp_path):
    large = {"vocab_size": 30000, "embedding_size": 128, "hidden_size": 256, "intermediate_size": 1024}
    ours = random_model(**large, num_hidden_layers=12, num_attention_heads=4, max_position_embeddings=LENGTH)
    save_hugging_face(ours, str(tmp_path / "theirs"))
    theirs = transformers.AlbertForPreTraining.from_pretrained(str(tmp_path / "theirs")).eval()
    rng = np.random.default_rng(3)
    batch = {
        "input_ids": rng.integers(0, 30000, (BATCH, LENGTH)).astype("int32"),
        "input_mask": (rng.random((BATCH, LENGTH)) < 0.8).astype("int32"),
        "segment_ids": rng.integers(0, 2, (BATCH, LENGTH)).astype("int32"),
        "masked_lm_positions": np.tile(np.arange(LENGTH, dtype="int32"), (BATCH, 1)),
    }
    outputs = ours({name: tf.constant(value) for name, value in batch.items()})
    names = {"attention_mask": "input_mask", "token_type_ids": "segment_ids", "input_ids": "input_ids"}
    arguments = {name: torch.tensor(batch[mine]).long() for name, mine in names.items()}
    with torch.no_grad():
        single = theirs(**arguments, output_hidden_states=True)
        double = theirs.double()(**arguments, output_hidden_states=True)
    pairs = {
        "sequence": (outputs["sequence_output"], single.hidden_states[-1], double.hidden_states[-1]),
        "masked LM": (outputs["masked_lm_logits"], single.prediction_logits, double.prediction_logits),
        "order": (outputs["sentence_order_logits"], single.sop_logits, double.sop_logits),
    }
    for name, (mine, its, exact) in pairs.items():
        exact = exact.numpy()
        assert exact.dtype == np.float64
        scale = np.abs(exact).max()
        my_error, its_error = (np.abs(value.numpy() - exact).max() / scale for value in (mine, its))
        assert my_error < TOLERANCE and its_error < TOLERANCE, (name, my_error, its_error)
        assert my_error < 2 * its_error + 1e-6, (name, my_error, its_error)
