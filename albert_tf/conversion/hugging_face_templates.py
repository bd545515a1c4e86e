"""Parts that every tokenizer.json has: special pieces found in text, and how sequences are put together."""

from typing import Any

from albert_tf.tokenization.special_pieces import CLS, MASK, SEP


def added_token(name: str, piece_id: int) -> dict[str, Any]:
    """A special piece, found in text as it is; [MASK] takes the space before it along, as in training."""
    return {
        **{"id": piece_id, "content": name, "single_word": False, "lstrip": name == MASK, "rstrip": False},
        **{"normalized": False, "special": True},
    }


def template(special: dict[str, int]) -> dict[str, Any]:
    """[CLS] first [SEP], or [CLS] first [SEP] second [SEP] with the second segment's number 1."""

    def token(name: str, segment: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": segment}}

    def text(name: str, segment: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": segment}}

    single = [token(CLS, 0), text("A", 0), token(SEP, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), token(SEP, 1)],
        "special_tokens": {name: {"id": name, "ids": [special[name]], "tokens": [name]} for name in (CLS, SEP)},
    }
