"""A vocabulary as a file: found by its name and read; a sentencepiece model checked, and made safe against texts that
spell special pieces."""

import os

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists, open_binary, read_small
from albert_tf.tokenization.sentencepiece_messages import new_model
from albert_tf.tokenization.special_pieces import MASK, REQUIRED_PIECES
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON, holds_word_pieces, vocabulary_of_tokenizer_json
from albert_tf.tokenization.word_piece_file import parse_pieces

# Of the names of sentencepiece models; and, with "vocab" in the name, of WordPiece vocabularies.
_MODEL_ENDINGS, _WORD_PIECE_ENDING = (".model", ".spm"), ".txt"
# The names of those that are made of a tokenizer.json.
REBUILT_NAME, WORD_PIECE_NAME = "spiece.model", "vocab.txt"


def is_word_pieces(path: str) -> bool:
    """Tells whether a file that is given as a vocabulary is a WordPiece one: by its name, of a tokenizer.json by it.

    Raises:
        InputError: a tokenizer.json that is no JSON.
    """
    if is_tokenizer_json(path) and exists(path):
        return holds_word_pieces(read_small(path), path)
    return path.endswith(_WORD_PIECE_ENDING)


def is_vocabulary(name: str) -> bool:
    """Tells by its name whether a file that lies in some folder is a vocabulary."""
    return name.endswith(_MODEL_ENDINGS) or (name.endswith(_WORD_PIECE_ENDING) and "vocab" in name)


def may_be_vocabulary(name: str) -> bool:
    """Tells by its name whether a file may be a vocabulary whose hash is known."""
    return name.endswith((*_MODEL_ENDINGS, _WORD_PIECE_ENDING))


def parse_model(model_bytes: bytes, name: str):
    """The vocabulary as a ModelProto, checked.

    Args:
        model_bytes: the contents of a .model file.
        name: its name, for errors.

    Raises:
        InputError: not a whole sentencepiece model, or it lacks one of REQUIRED_PIECES.
    """
    from google.protobuf.message import DecodeError

    proto = new_model()
    try:
        proto.ParseFromString(model_bytes)
        whole = proto.pieces and proto.HasField("trainer_spec") and proto.HasField("normalizer_spec")
    except DecodeError:
        whole = False
    if not whole:
        raise InputError(
            f"{name} ({len(model_bytes)} bytes) is not a sentencepiece model, or only a part of one; "
            "give the .model file that train_vocabulary wrote or that came with the checkpoint"
        )
    pieces = {piece.piece for piece in proto.pieces}
    missing = [piece for piece in REQUIRED_PIECES if piece not in pieces]
    if missing:
        raise InputError(
            f"the vocabulary {name} lacks {', '.join(missing)}; train one with train_vocabulary, or with "
            "spm_train --pad_id=0 --unk_id=1 --bos_id=-1 --eos_id=-1 --control_symbols=[CLS],[SEP],[MASK]"
        )
    return proto


def plain_model(proto) -> bytes:
    """The model in which no text yields <pad>, [CLS], [SEP] or [MASK]; the official one is so already."""
    for piece in proto.pieces:
        if piece.piece in REQUIRED_PIECES:
            piece.type = piece.CONTROL
    return proto.SerializeToString()


def mask_model(proto) -> bytes:
    """The model in which the text "[MASK]" is the piece [MASK]; other control pieces stay out of reach."""
    plain_model(proto)
    for piece in proto.pieces:
        if piece.piece == MASK:
            piece.type = piece.USER_DEFINED
    return proto.SerializeToString()


def read_model(model_file: str) -> bytes:
    """The contents of a .model or .txt file; of a tokenizer.json, those of the file that says the same.

    Raises:
        InputError: there is none, or a tokenizer.json of a different kind of model.
    """
    if not exists(model_file):
        raise InputError(
            f"the vocabulary {model_file} does not exist; give the path of a .model file, or of a vocab.txt"
        )
    try:
        with open_binary(model_file) as file:
            contents = file.read()
    except IsADirectoryError:
        raise InputError(f"the vocabulary {model_file} is a folder; give the file in it") from None
    return vocabulary_of_tokenizer_json(contents, model_file) if is_tokenizer_json(model_file) else contents


def count_pieces(contents: bytes, name: str) -> int:
    """The number of pieces of a vocabulary, by its contents as `read_model` gives them.

    Raises:
        InputError: as of parse_model or parse_pieces.
    """
    return len(parse_pieces(contents, name) if is_word_pieces(name) else parse_model(contents, name).pieces)


def is_tokenizer_json(path: str) -> bool:
    """Tells by its name whether a file is one of the tokenizers library."""
    return path.endswith(TOKENIZER_JSON)


def model_name(path: str) -> str:
    """The name, without a folder, under which a vocabulary is kept beside a model."""
    if is_tokenizer_json(path):
        return WORD_PIECE_NAME if is_word_pieces(path) else REBUILT_NAME
    name = os.path.basename(path)
    # One that would not be found beside a model again takes the usual name.
    return name if is_vocabulary(name) or not is_word_pieces(name) else WORD_PIECE_NAME
