"""Masked texts filled in by the newest checkpoint of a run: texts of a file, or held-out records."""

import os
from collections.abc import Sequence

from albert_tf.reports.blocks import Group, Guess, Mask, Sample
from albert_tf.reports.records_facts import Records, read_some
from albert_tf.reports.run_folder import RunFolder
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.tokenization.base import SPACE, Tokenizer
from albert_tf.tokenization.special_pieces import MASK
from albert_tf.tokenization.vocabularies import make_tokenizer

# Of the held-out records those are shown that have the fewest pieces, among so many.
_LOOKED_AT, _FEWEST_PIECES = 300, 12
_GUESSES = 3
_MOST_TEXTS = 100


def read_texts(path: str) -> list[str]:
    """The texts of a file, one a line; empty lines are left out.

    Raises:
        InputError: no such file, no text in it, more than a page has room for, or one without [MASK].
    """
    try:
        # Other ends of lines than these, such as U+2028, may stand in a text.
        lines = files.read_small(path).decode("utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        raise InputError(f"--texts: {path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"--texts: {path} is a folder; name a file of texts, one a line") from None
    texts = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not texts:
        raise InputError(f"--texts: {path} holds no text")
    if len(texts) > _MOST_TEXTS:
        raise InputError(f"--texts: {path} holds {len(texts):,} texts; a page has room for {_MOST_TEXTS}")
    for number, text in texts:
        if MASK.lower() not in text.lower():
            raise InputError(f"--texts: {path}, line {number}: no {MASK} in it; write {MASK} where a word is wanted")
    return [text for _, text in texts]


def held_out_texts(run: RunFolder, records: Records | None, count: int) -> tuple[list[str], list[list[str]]]:
    """Short held-out records as texts, and the pieces that stood where their masks are.

    Args:
        run: whose vocabulary they are in.
        records: held-out ones; None for none.
        count: how many.

    Returns:
        texts with [MASK] in them; for each its masked pieces, in order. ([], []) where there are none to show.
    """
    state = next((one.state for one in reversed(run.checkpoints) if one.state), None)
    if records is None or not records.paths or state is None or not state.vocabulary:
        return [], []
    path = os.path.join(run.path, state.vocabulary["file"])
    if not files.exists(path):
        return [], []
    tokenizer = make_tokenizer(path)
    if tokenizer.sha256 != state.vocabulary["sha256"]:
        return [], []
    found = []
    for instance in read_some(records.paths[0], _LOOKED_AT):
        originals = dict(zip(instance.masked_lm_positions, instance.masked_lm_ids))
        text, truths = _as_text(instance.input_ids, originals, tokenizer)
        if truths and len(instance.input_ids) >= _FEWEST_PIECES:
            found.append((len(instance.input_ids), text, truths))
    found.sort(key=lambda one: one[0])
    return [text for _, text, _ in found[:count]], [truths for _, _, truths in found[:count]]


def fill_in(run: RunFolder, texts: Sequence[str], truths: Sequence[Sequence[str]] = ()) -> Group:
    """Asks the newest checkpoint for what stands at the masks; imports TensorFlow.

    Args:
        run: with a checkpoint.
        texts: each with a [MASK].
        truths: for each text the pieces that stood there; () for unknown ones.

    Raises:
        InputError: no checkpoint can be used, or its vocabulary is not to be found.
    """
    import_tensorflow(log_level=3)
    with quiet_stderr():
        from albert_tf.serving.fill_mask import FillMask

        model = FillMask(run.checkpoints[-1].path)
    samples = []
    for number, text in enumerate(texts):
        filled = model.fill_mask([text], _GUESSES)[0]
        known = truths[number] if truths and len(truths[number]) == len(filled.masks) else [""] * len(filled.masks)
        masks = [
            Mask(
                _shown(truth),
                [Guess(_shown(one.piece), one.probability, one.piece == truth) for one in candidates],
            )
            for truth, candidates in zip(known, filled.masks)
        ]
        samples.append(Sample(_around_masks(text, len(masks)), masks))
    return Group("samples", samples)


def _as_text(ids: Sequence[int], originals: dict[int, int], tokenizer: Tokenizer) -> tuple[str, list[str]]:
    """The text of a record, [MASK] where a mask is shown; and the pieces that stood there.

    Where a prediction is shown as another piece, or as itself, that stands in the text.
    """
    shown, truths = [], []
    special = {tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id}
    for position, (piece_id, piece) in enumerate(zip(ids, tokenizer.shown_pieces(ids), strict=True)):
        if piece_id == tokenizer.mask_id and position in originals:
            truth = tokenizer.id_to_piece(originals[position])
            truths.append(truth)
            piece = (SPACE if truth.startswith(SPACE) else "") + MASK
        shown.append("" if piece_id in special else piece)
    return "".join(shown).replace(SPACE, " ").strip(), truths


def _around_masks(text: str, masks: int) -> list[str]:
    """The parts of a text before, between and after its masks."""
    parts, rest = [], text
    for _ in range(masks):
        at = rest.lower().find(MASK.lower())
        parts.append(rest[:at])
        rest = rest[at + len(MASK) :]
    return [*parts, rest]


def _shown(piece: str) -> str:
    """A piece as it is read: one that goes on a word begins with a hyphen."""
    if not piece:
        return ""
    if piece.startswith(SPACE):
        return piece[len(SPACE) :] or "(a space)"
    return f"-{piece}" if piece[0].isalnum() else piece
