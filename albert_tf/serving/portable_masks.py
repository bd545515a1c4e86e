"""Masks and orders by a pre-trained model that was exported as ONNX or LiteRT, without TensorFlow.

Shapes: P masks of a text, K pieces asked for, V vocabulary.
"""

from collections.abc import Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.serving.like_lengths import Row, run_rows, to_row
from albert_tf.serving.masked_text import MaskedText
from albert_tf.serving.portable_model import INPUT_IDS, MASKED_LM_POSITIONS, PortableModel
from albert_tf.tasks.text_classification import softmax
from albert_tf.tokenization.packing import pack_pair

_LOGITS, _ORDER = "masked_lm_logits", "sentence_order_logits"


class PortableMasks:
    """A pre-trained model, asked with texts.

    Args:
        source: a folder of export_model, or one that is opened already.
        num_threads: as PortableModel has it, for a folder.

    Attributes:
        do_lower_case: whether texts are lower-cased, so that "[mask]" is a mask too.
        judges_order: whether the model was trained on the order of two texts.

    Raises:
        InputError: no whole export there, or one that fills in no masks.
    """

    def __init__(self, source: str | PortableModel, num_threads: int | None = None) -> None:
        self._model = model = source if isinstance(source, PortableModel) else PortableModel(source, num_threads)
        where = f"{model.path} is an export as {model.format}"
        if model.task is not None:
            raise InputError(f"{where} of a model fine-tuned for {model.task}: it fills in no masks; predict asks it")
        if MASKED_LM_POSITIONS not in model.input_names:
            raise InputError(
                f"{where} of the head {model.head}, which fills in no masks; export a pre-trained model with "
                "--head=pretraining"
            )
        self._tokenizer = model.tokenizer()
        self.do_lower_case = self._tokenizer.cleaning.do_lower_case
        self.judges_order = any(form["name"] == _ORDER for form in model.about["outputs"])

    def fill(self, texts: Sequence[str], top_k: int) -> list[MaskedText]:
        """The likeliest pieces for the masks of each text.

        Args:
            texts: "[MASK]" may stand in them.
            top_k: how many pieces for a mask, at least 1.
        """
        tokenizer = self._tokenizer
        rows, counts = [], []
        for text in texts:
            row = self._row(tokenizer.encode_with_masks(text))
            positions = np.flatnonzero(row[INPUT_IDS] == tokenizer.mask_id)
            counts.append(len(positions))
            rows.append({**row, MASKED_LM_POSITIONS: positions if len(positions) else np.zeros(1, np.int32)})
        found: list[MaskedText] = [MaskedText(0, [], [])] * len(texts)
        for number, outputs in run_rows(self._model, rows, tokenizer.pad_id):
            best = [_likeliest(softmax(row), top_k) for row in outputs[_LOGITS][: counts[number]]]
            pieces = [[tokenizer.id_to_piece(piece_id) for piece_id in ids] for ids, _ in best]
            found[number] = MaskedText(counts[number], pieces, [chances.tolist() for _, chances in best])
        return found

    def order(self, first: str, second: str) -> tuple[float, float]:
        """The probabilities that two texts stand in order, and that they are swapped."""
        tokenizer = self._tokenizer
        row = self._row(tokenizer.encode(first), tokenizer.encode(second))
        row = {**row, MASKED_LM_POSITIONS: np.zeros(1, np.int32)}
        ((_, outputs),) = run_rows(self._model, [row], tokenizer.pad_id)
        in_order, swapped = softmax(outputs[_ORDER]).tolist()
        return in_order, swapped

    def _row(self, first: Sequence[int], second: Sequence[int] | None = None) -> Row:
        tokenizer = self._tokenizer
        packed = pack_pair(first, second, self._model.about["max_seq_length"], tokenizer.cls_id, tokenizer.sep_id)
        return to_row(Feature(0, *packed), tokenizer.pad_id)


def _likeliest(probabilities: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the probabilities of the likeliest pieces, likeliest first, of equals that of the smaller id.

    Args:
        probabilities: float [V].
        count: K.
    """
    count = min(count, len(probabilities))
    least = np.partition(probabilities, -count)[-count]
    ids = np.flatnonzero(probabilities >= least)
    ids = ids[np.argsort(-probabilities[ids], kind="stable")[:count]]
    return ids, probabilities[ids]
