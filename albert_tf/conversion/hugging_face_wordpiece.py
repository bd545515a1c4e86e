"""A WordPiece vocabulary for the tokenizers library and for transformers' BertTokenizer."""

from typing import Any

from albert_tf.conversion.hugging_face_templates import added_token, template
from albert_tf.tokenization.word_piece_file import INSIDE, WORD_PIECE_SPECIALS
from albert_tf.tokenization.word_pieces import MAX_WORD_CHARACTERS, WordPieceTokenizer

_TOKEN_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


def word_piece_config(tokenizer: WordPieceTokenizer) -> dict[str, Any]:
    """The values of tokenizer_config.json."""
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": tokenizer.cleaning.do_lower_case,
        "strip_accents": _strips_accents(tokenizer),
        "tokenize_chinese_chars": True,
        "padding_side": "right",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **dict(zip(_TOKEN_KEYS, WORD_PIECE_SPECIALS, strict=True)),
    }


def word_piece_json(tokenizer: WordPieceTokenizer) -> dict[str, Any]:
    """The tokenizer as the tokenizers library's own file has it."""
    ids = {name: tokenizer.piece_to_id(name) for name in WORD_PIECE_SPECIALS}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{**added_token(name, piece_id), "lstrip": False} for name, piece_id in ids.items()],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": _strips_accents(tokenizer),
            "lowercase": tokenizer.cleaning.do_lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template(ids),
        "decoder": {"type": "WordPiece", "prefix": INSIDE, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": WORD_PIECE_SPECIALS[1],
            "continuing_subword_prefix": INSIDE,
            "max_input_chars_per_word": MAX_WORD_CHARACTERS,
            "vocab": {piece: piece_id for piece_id, piece in enumerate(tokenizer.pieces)},
        },
    }


def _strips_accents(tokenizer: WordPieceTokenizer) -> bool | None:
    """The value that says whether accents go; None goes with lower-casing."""
    return False if tokenizer.cleaning.keep_accents else None
