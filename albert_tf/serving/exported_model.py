"""An exported SavedModel, called like the model that it was made of."""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.run_checkpoints import CONFIG_NAME
from albert_tf.config import AlbertConfig
from albert_tf.exports import encoder_module, signatures
from albert_tf.exports.export_file import EXTRA_FOLDER
from albert_tf.exports.finetuned_module import FROM_IDS
from albert_tf.exports.loading import load_export
from albert_tf.inputs.finetuning_features import P_MASK
from albert_tf.models.inputs import INPUT_IDS, INPUT_MASK, POSITION_IDS, SEGMENT_IDS, read_inputs, to_arrays
from albert_tf.runtime.errors import InputError, reason_of

_POSITIONS = "masked_lm_positions"


class ExportedModel:
    """A SavedModel that export_saved_model wrote, for ids; FillMask and Predictor take text.

    Attributes:
        config: AlbertConfig of the model.
        task: what it was fine-tuned for; None for a pre-trained one.
        signatures: the SavedModel's own, by name (docs/serving.md).
    """

    def __init__(self, path: str) -> None:
        """Loads it.

        Args:
            path: its folder.

        Raises:
            InputError: no export there, or a damaged one.
        """
        self.path = path
        # Kept, since the signatures live as long as what they were loaded with.
        self._loaded, about = load_export(path, (encoder_module.TOKENS, FROM_IDS))
        self.signatures = self._loaded.signatures
        self.config = AlbertConfig.from_json_file(os.path.join(path, EXTRA_FOLDER, CONFIG_NAME))
        self.task = FinetunedTask.from_dict(about["task"], path) if "task" in about else None

    def __call__(self, inputs: Any, training: bool = False) -> dict[str, np.ndarray]:
        """Computes what the signature from ids gives.

        Args:
            inputs: as the model takes them: int [B, S], or a dict with "input_ids" and, if wanted, "input_mask",
                "segment_ids" (or Hugging Face's names), of a pre-trained model "masked_lm_positions" [B, P], and of one
                that answers by a beam "p_mask" [B, S], left out: the padding.
            training: must be False.

        Returns:
            of a pre-trained model "sequence_output" float32 [B, S, H], "pooled_output" [B, H] and, with
            "masked_lm_positions", "masked_lm_logits" [B, P, V]; of a fine-tuned one what "from_ids" returns.

        Raises:
            InputError: inputs that do not fit the model, or training.
        """
        if training:
            raise InputError(f"{self.path} is an export, which cannot be trained; load the checkpoint it was made of")
        num_axes = 3 if self.task is not None and self.task.head == "multiple_choice" else 2
        given = read_inputs(to_arrays(inputs), self.config, num_axes)
        if INPUT_IDS not in given or POSITION_IDS in given:
            raise InputError(f"{self.path} is an export, which takes `input_ids`, no embeddings and no positions.")
        length, longest = given[INPUT_IDS].shape[-1], self.config.max_position_embeddings
        if length > longest:
            raise InputError(f"{self.path} takes sequences of {longest} positions at most. Received {length}.")
        names = [INPUT_IDS, INPUT_MASK, SEGMENT_IDS]
        arguments = {name: tf.cast(given[name], tf.int32) for name in names}
        signature = FROM_IDS if self.task is not None else encoder_module.TOKENS
        # A fine-tuned model passes over what else is in a batch.
        if self.task is None and _POSITIONS in given:
            signature = signatures.MLM
            arguments["mlm_positions"] = tf.cast(given[_POSITIONS], tf.int32)
        if signature not in self.signatures:
            raise InputError(f"{self.path} has no head for masked words; leave `{_POSITIONS}` out.")
        if P_MASK in self.signatures[signature].structured_input_signature[1]:
            arguments[P_MASK] = tf.cast(given.get(P_MASK, 1 - arguments[INPUT_MASK]), tf.int32)
        try:
            outputs = self.signatures[signature](**arguments)
        except tf.errors.OpError as error:
            raise InputError(f"{self.path}: the model failed: {reason_of(error)}") from None
        named = {"mlm_logits": "masked_lm_logits"}
        return {named.get(name, name): value.numpy() for name, value in outputs.items()}
