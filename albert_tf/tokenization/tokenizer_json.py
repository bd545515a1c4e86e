"""The vocabulary in a tokenizer.json of the tokenizers library: a sentencepiece model of its pieces and scores, or a
vocab.txt of WordPiece."""

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import parse_json
from albert_tf.tokenization.byte_pieces import BYTE_VALUES, byte_name
from albert_tf.tokenization.sentencepiece_messages import new_model
from albert_tf.tokenization.special_pieces import PAD, SPECIAL_PIECES
from albert_tf.tokenization.word_piece_file import word_pieces_of

TOKENIZER_JSON = "tokenizer.json"

# transformers takes so much from the scores of pieces such as "1995,", so that they are not chosen
# (convert_slow_tokenizer.py, AlbertConverter).
_TAKEN_OFF = 100.0


def user_defined_score(piece: str, highest: float) -> float:
    """The score that sentencepiece gives a user-defined piece when it looks for the best ones (unigram_model.cc).

    Args:
        piece: with its SPACE, if it has one.
        highest: of the scores of ordinary pieces.
    """
    return len(piece.encode("utf-8")) * highest - 0.1


def vocabulary_of_tokenizer_json(contents: bytes, name: str) -> bytes:
    """The vocabulary that says the same: the contents of a vocab.txt for WordPiece, else of a .model file.

    Raises:
        InputError: no JSON, or no vocabulary of either kind.
    """
    if holds_word_pieces(contents, name):
        return word_pieces_of(parse_json(contents, name)["model"], name)
    return model_of_tokenizer_json(contents, name)


def holds_word_pieces(contents: bytes, name: str) -> bool:
    """Tells whether a tokenizer.json is of a WordPiece model; raises InputError for what is no JSON."""
    model = parse_json(contents, name).get("model")
    return isinstance(model, dict) and model.get("type") == "WordPiece"


def model_of_tokenizer_json(contents: bytes, name: str) -> bytes:
    """The sentencepiece model that cuts text as the file's pieces and scores say.

    The same file gives the same bytes. They are not those of the model that the file was once made of, of which the
    file does not say everything; pieces, ids, scores and rules for characters are the same.

    Args:
        contents: of the file.
        name: its path, for errors.

    Returns:
        the contents of a .model file.

    Raises:
        InputError: no JSON, or not of a unigram model with pieces and scores.
    """
    values = parse_json(contents, name)
    model = values.get("model")
    model = model if isinstance(model, dict) else {}
    if model.get("type") != "Unigram":
        raise InputError(
            f"{name}: its model is {model.get('type')!r}; ALBERT's and BERT's are of type 'Unigram' and 'WordPiece'. "
            "Give the .model file (spiece.model) that came with the checkpoint"
        )
    pieces, scores = _pieces_and_scores(model.get("vocab"), name)
    unk_id = model.get("unk_id")
    if not isinstance(unk_id, int) or isinstance(unk_id, bool) or not 0 <= unk_id < len(pieces):
        raise InputError(f"{name}: `unk_id` must be the id of a piece. Received {unk_id!r}.")
    names_of_bytes = _names_of_bytes(pieces, name) if model.get("byte_fallback") else frozenset()
    proto = new_model()
    for piece_id, (piece, score, is_symbol) in enumerate(zip(pieces, scores, _symbols(pieces, scores), strict=True)):
        row = proto.pieces.add(piece=piece, score=0.0 if is_symbol else score, type=proto.SentencePiece.NORMAL)
        if piece_id == unk_id:
            row.type = row.UNKNOWN
        elif piece in SPECIAL_PIECES:
            row.type = row.CONTROL
        elif piece in names_of_bytes:
            row.type = row.BYTE
        elif is_symbol:
            row.type = row.USER_DEFINED
    trainer, rules = proto.trainer_spec, proto.normalizer_spec
    trainer.model_type, trainer.vocab_size = trainer.UNIGRAM, len(pieces)
    trainer.unk_id, trainer.bos_id, trainer.eos_id = unk_id, -1, -1
    trainer.byte_fallback = bool(names_of_bytes)
    trainer.unk_piece, trainer.pad_piece = pieces[unk_id], PAD
    trainer.pad_id = pieces.index(PAD) if PAD in pieces else -1
    rules.precompiled_charsmap = _charsmap(values.get("normalizer"), name)
    rules.add_dummy_prefix = rules.remove_extra_whitespaces = rules.escape_whitespaces = True
    return proto.SerializeToString(deterministic=True)


def _names_of_bytes(pieces: Sequence[str], name: str) -> frozenset[str]:
    names = frozenset(map(byte_name, range(BYTE_VALUES)))
    if missing := sorted(names.difference(pieces)):
        raise InputError(f"{name}: `byte_fallback` wants a piece for every byte; {missing[0]} is missing")
    return names


def _pieces_and_scores(vocab: Any, name: str) -> tuple[list[str], list[float]]:
    """The pieces, each once, and their scores as sentencepiece has them."""
    rows = vocab if isinstance(vocab, list) else []
    wrong = next((index for index, row in enumerate(rows) if not _is_row(row)), None)
    if not rows or wrong is not None:
        raise InputError(
            f"{name}: `vocab` must be a list of [piece, score]"
            + ("" if wrong is None else f"; entry {wrong} is {str(rows[wrong])[:80]}")
        )
    pieces = [row[0] for row in rows]
    if len(set(pieces)) < len(pieces):
        twice = next(piece for index, piece in enumerate(pieces) if piece in pieces[:index])
        raise InputError(f"{name}: the piece {twice!r} stands twice in `vocab`")
    scores = [float(row[1]) for row in rows]
    lowest = min((score for piece, score in zip(pieces, scores) if not _ends_number(piece)), default=0.0)
    return pieces, [
        score + _TAKEN_OFF if _ends_number(piece) and score < lowest else score for piece, score in zip(pieces, scores)
    ]


def _is_row(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], str) or not row[0]:
        return False
    if not isinstance(row[1], int | float) or isinstance(row[1], bool):
        return False
    try:
        struct.pack("<f", row[1])
        row[0].encode("utf-8")
    except (OverflowError, UnicodeEncodeError):
        return False
    return abs(row[1]) != float("inf") and "\0" not in row[0]


def _ends_number(piece: str) -> bool:
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def _symbols(pieces: Sequence[str], scores: Sequence[float]) -> list[bool]:
    """Tells which pieces are user-defined: sentencepiece stores 0 for them; this package writes what they count for."""
    ordinary = [score for piece, score in zip(pieces, scores) if piece not in SPECIAL_PIECES and score != 0]
    highest = max(ordinary, default=0.0)
    return [
        piece not in SPECIAL_PIECES and score in (0, user_defined_score(piece, highest))
        for piece, score in zip(pieces, scores)
    ]


def _charsmap(normalizer: Any, name: str) -> bytes:
    """sentencepiece's own rules for characters, wherever they stand among the steps; none if there are none."""
    if not isinstance(normalizer, dict):
        return b""
    steps = normalizer.get("normalizers")
    if isinstance(steps, list):
        return next(filter(None, (_charsmap(step, name) for step in steps)), b"")
    if normalizer.get("type") != "Precompiled":
        return b""
    try:
        return base64.b64decode(normalizer.get("precompiled_charsmap") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InputError(f"{name}: `precompiled_charsmap` is not in base64") from None
