"""Fine-tuned exports on ids: whatever the mask, they compute what the model does on padded batches."""

import numpy as np
import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.exports.saved_model import make_module
from albert_tf.models.finetuning import make_finetuning_model

ROWS, LENGTH = 8, 9
HEADS = {
    "classification": (("x", "y", "z"), ("text",)),
    "multiple_choice": ((), ("article", "question", "options")),
    "span": ((), ("question", "context")),
    "span_beam": ((), ("question", "context")),
    "token_classification": (("O", "B-X"), ("words?", "text?")),
}
_MASKS = {
    "[CLS] masked": np.resize([[0] + [1] * 8, [1] * 9], (ROWS, LENGTH)),
    "holes": np.resize([[1, 0, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1, 1, 1, 1]], (ROWS, LENGTH)),
    "left padding": np.resize([[0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 1, 1]], (ROWS, LENGTH)),
    "a row of padding": np.resize([[0] * 9, [1] * 9, [1] * 3 + [0] * 6], (ROWS, LENGTH)),
}


@pytest.mark.parametrize(
    "head",
    [name if name == "classification" else pytest.param(name, marks=pytest.mark.slow) for name in HEADS],
)
def test_any_mask_has_the_models_outputs(head, export_tokenizer):
    labels, fields = HEADS[head]
    config = AlbertConfig(
        **{"vocab_size": export_tokenizer.vocab_size, "embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 2},
        **{"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 24, "initializer_range": 0.3},
    )
    model = make_finetuning_model(config, head, len(labels))
    task = FinetunedTask(head, len(labels) or 1, labels, "mine", fields, {"max_seq_length": 24})
    module = make_module(model, export_tokenizer, task, 24)
    rng = np.random.default_rng(1)
    for name, mask in _MASKS.items():
        inputs = {
            "input_ids": rng.integers(export_tokenizer.vocab_size, size=mask.shape),
            "input_mask": mask,
            "segment_ids": rng.integers(2, size=mask.shape),
        }
        if head == "span_beam":
            # Nor is every token a place where an answer can be.
            inputs["p_mask"] = np.where(rng.random(mask.shape) < 0.7, 1 - mask, 1)
            inputs["p_mask"][:, 4] = 0
        inputs = {key: value.astype("int32") for key, value in inputs.items()}
        if head == "multiple_choice":
            inputs = {key: value.reshape(ROWS // 2, 2, LENGTH) for key, value in inputs.items()}
        expected, found = model(inputs), module.from_ids(**inputs)
        assert set(found) == set(expected)
        for key, value in expected.items():
            wanted, value = np.asarray(found[key]), np.asarray(value)
            if head in ("span", "token_classification"):
                # In the padding nothing is computed.
                wanted, value = wanted[mask > 0], value[mask > 0]
            elif key.startswith("end_top"):
                # With fewer places than the beam is wide, the rest of the beam starts where no answer can be.
                can_start = np.asarray(expected["start_top_log_probs"]) > -1e20
                wanted, value = wanted[can_start], value[can_start]
            np.testing.assert_allclose(wanted, value, atol=1e-5, err_msg=f"{name}: {key}")
