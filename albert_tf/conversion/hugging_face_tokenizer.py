"""tokenizer.json and tokenizer_config.json beside Hugging Face's weights: our tokenizers for the tokenizers library.

transformers reads both without sentencepiece or protobuf. docs/conversion.md says where ids may differ.
"""

import os
from typing import Any

import sentencepiece
from absl import logging

from albert_tf.conversion.hugging_face_normalizer import cleaning_of, normalizer
from albert_tf.conversion.hugging_face_splits import splits
from albert_tf.conversion.hugging_face_templates import added_token, template
from albert_tf.conversion.hugging_face_wordpiece import word_piece_config, word_piece_json
from albert_tf.runtime import files
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tokenization.base import SPACE, Tokenizer
from albert_tf.tokenization.byte_pieces import BYTE_VALUES
from albert_tf.tokenization.special_pieces import CLS, MASK, PAD, SEP, SPECIAL_PIECES, UNK
from albert_tf.tokenization.text_cleaning import NORMALIZATIONS, OFFICIAL_CLEANING, TextCleaning, clean_text
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON, user_defined_score
from albert_tf.tokenization.vocabulary_file import parse_model, plain_model
from albert_tf.tokenization.word_pieces import WordPieceTokenizer

CONFIG_NAME = "tokenizer_config.json"
# Switches of cleaning for which transformers has no key: they stand there only where they are not as usual.
_OURS_ALONE = ("normalization", "replace_quotes")
# The class that takes tokenizer.json as it is; AlbertTokenizer of transformers 5 makes rules of its own for its pieces.
_AS_IT_IS, _OF_ITS_OWN = "PreTrainedTokenizerFast", "AlbertTokenizer"
# Classes of which it is tokenizer.json alone that says how text is cleaned, where the config does not.
_BY_FILE = (_AS_IT_IS, "TokenizersBackend", "AlbertTokenizer", "AlbertTokenizerFast")
_CONFIG = {
    "remove_space": True,
    "clean_up_tokenization_spaces": False,
    "padding_side": "right",
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    **{"bos_token": CLS, "cls_token": CLS, "eos_token": SEP, "sep_token": SEP},
    **{"mask_token": MASK, "pad_token": PAD, "unk_token": UNK},
}


def write_tokenizer(folder: str, tokenizer: Tokenizer, max_length: int) -> None:
    """Writes tokenizer_config.json and, for a vocabulary of which there can be one, tokenizer.json.

    Args:
        folder: exists.
        tokenizer: the vocabulary, and how text is cleaned.
        max_length: longest sequence the model takes, in pieces.
    """
    cleaning, reason = tokenizer.cleaning, write_tokenizer_json(folder, tokenizer)
    if reason:
        logging.warning(
            "%s: no %s is written, since the vocabulary %s; transformers makes a tokenizer of its own of it",
            *(tokenizer.model_file, TOKENIZER_JSON, reason),
        )
    if isinstance(tokenizer, WordPieceTokenizer):
        values = word_piece_config(tokenizer) | {"model_max_length": max_length}
        files.write_json(os.path.join(folder, CONFIG_NAME), values, sort_keys=True)
        return
    values: dict[str, Any] = {"do_lower_case": cleaning.do_lower_case, "keep_accents": cleaning.keep_accents}
    chosen = {name: getattr(cleaning, name) for name in _OURS_ALONE}
    values |= {name: value for name, value in chosen.items() if value != getattr(OFFICIAL_CLEANING, name)}
    values |= {"tokenizer_class": _OF_ITS_OWN if reason else _AS_IT_IS, "model_max_length": max_length}
    files.write_json(os.path.join(folder, CONFIG_NAME), _CONFIG | values, sort_keys=True)


def write_tokenizer_json(folder: str, tokenizer: Tokenizer) -> str | None:
    """Writes tokenizer.json, for a vocabulary of the kind that train_vocabulary makes, or of WordPiece.

    Args:
        folder: exists.
        tokenizer: the vocabulary, and how text is cleaned.

    Returns:
        None; for a vocabulary of another kind, of which no file is written, the reason: "the vocabulary ...".
    """
    reason = None if isinstance(tokenizer, WordPieceTokenizer) else _why_not(tokenizer)
    if reason is None:
        with files.replace_file(os.path.join(folder, TOKENIZER_JSON)) as file:
            file.write(to_json_bytes(tokenizer_json(tokenizer), separators=(",", ":")) + b"\n")
    return reason


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """The tokenizer as the tokenizers library's own file has it; `[MASK]` and other special pieces are found in text.

    Args:
        tokenizer: of a vocabulary for which write_tokenizer_json writes the file.

    Returns:
        an object of JSON.
    """
    if isinstance(tokenizer, WordPieceTokenizer):
        return word_piece_json(tokenizer)
    proto = parse_model(tokenizer.model_bytes, tokenizer.model_file)
    names = [piece.piece for piece in proto.pieces]
    highest = max(piece.score for piece in proto.pieces if piece.type == piece.NORMAL)
    scores = [
        user_defined_score(piece.piece, highest) if piece.type == piece.USER_DEFINED else piece.score
        for piece in proto.pieces
    ]
    charsmap = proto.normalizer_spec.precompiled_charsmap
    processor = sentencepiece.SentencePieceProcessor(model_proto=plain_model(proto))
    special = {name: names.index(name) for name in SPECIAL_PIECES}
    kept = [name for name in special if clean_text(name, tokenizer.cleaning) == name]
    words = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first"}
    words["split"] = not any(SPACE in name[1:] for name in names)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(name, piece_id) for name, piece_id in special.items()],
        "normalizer": normalizer(tokenizer.cleaning, processor, charsmap),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, *splits(tokenizer, processor, kept)]},
        "post_processor": template(special),
        "decoder": _decoder(words, tokenizer),
        "model": {
            "type": "Unigram",
            "unk_id": tokenizer.unk_id,
            "vocab": [list(row) for row in zip(names, scores, strict=True)],
            "byte_fallback": bool(tokenizer.byte_values),
        },
    }


def _decoder(words: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """The step back from pieces to text: bytes to characters, then spaces."""
    if not tokenizer.byte_values:
        return words
    return {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, words]}


def folder_cleaning(folder: str) -> TextCleaning | None:
    """The cleaning of the tokenizer that lies in a folder; None where none says anything of it.

    Raises:
        InputError: one of its files is no JSON.
    """
    path, whole = os.path.join(folder, CONFIG_NAME), os.path.join(folder, TOKENIZER_JSON)
    values = files.read_json(path) if files.exists(path) else {}
    if not isinstance(values.get("do_lower_case"), bool):
        is_by_file = values.get("tokenizer_class") in _BY_FILE and files.exists(whole)
        return cleaning_of(files.read_json(whole)) if is_by_file else None
    lower = values["do_lower_case"]
    # BERT's keeps accents where it keeps capitals, whatever the switch says.
    keeps = bool(values.get("keep_accents")) or (lower and values.get("strip_accents") is False)
    form = values.get("normalization")
    return TextCleaning(
        do_lower_case=lower,
        keep_accents=keeps,
        normalization=form if form in NORMALIZATIONS else OFFICIAL_CLEANING.normalization,
        replace_quotes=values.get("replace_quotes") is True,
    )


def _why_not(tokenizer: Tokenizer) -> str | None:
    """The reason why the library cannot cut text with a vocabulary as sentencepiece does; None if it can."""
    proto = parse_model(tokenizer.model_bytes, tokenizer.model_file)
    trainer, rules = proto.trainer_spec, proto.normalizer_spec
    if trainer.model_type != trainer.UNIGRAM:
        return "is not of the kind unigram"
    if proto.pieces[tokenizer.unk_id].piece != UNK:
        return f"has a name other than {UNK} for the unknown piece"
    if any(piece.type == piece.UNUSED for piece in proto.pieces):
        return "has pieces that are not to be used"
    if trainer.byte_fallback != (sorted(tokenizer.byte_values.values()) == list(range(BYTE_VALUES))):
        return "has some pieces of single bytes, or does not use those it has"
    usual = rules.add_dummy_prefix and rules.remove_extra_whitespaces and rules.escape_whitespaces
    if not usual or trainer.treat_whitespace_as_suffix:
        return "treats white space in a way of its own"
    return None
