"""Cleaning of a text, and what sentencepiece does to it, as steps of the tokenizers library's normalizer.

The library reads regular expressions as Oniguruma does. It sees each stretch of text between two special tokens by
itself, so no step here may depend on a stretch being a whole text.
"""

import base64
import functools
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import sentencepiece

from albert_tf.tokenization.base import SPACE
from albert_tf.tokenization.text_cleaning import TextCleaning, character_class, class_of

_NUL = r"\x00"
_JAMO = "\u1100\u1161"
_SIGMA, _FINAL_SIGMA, _SMALL_SIGMA = "Σ", "ς", "σ"
# As many apostrophes and the like between a letter and a final sigma are looked past; the library's patterns must know.
_MOST_IGNORED = 3


def normalizer(
    cleaning: TextCleaning, processor: sentencepiece.SentencePieceProcessor, charsmap: bytes
) -> dict[str, Any]:
    """The normalizer of tokenizer.json: clean_text, then what sentencepiece does before it looks for pieces.

    White space at the beginning of a text stays as one space, which stands for the one that sentencepiece puts there;
    after a special token it tells a new word from the rest of one.

    Args:
        cleaning: the switches.
        processor: of the vocabulary.
        charsmap: precompiled_charsmap of the vocabulary, sentencepiece's own rules; may be empty.

    Returns:
        an object of JSON.
    """
    steps = [_leading_space(cleaning, processor), replace(_NUL, ""), replace(character_class(str.isspace) + "+", " ")]
    if cleaning.replace_quotes:
        # At the beginning, as _leading_space: what is put in place of two characters does not count as the first.
        steps += [replace(r"\A(?:``|'')", ' "'), replace("``|''", '"')]
    if not cleaning.keep_accents:
        steps += [{"type": "NFKD"}, replace(character_class(unicodedata.combining), "")]
    if cleaning.keep_accents or cleaning.normalization != "NFKD":
        steps.append({"type": cleaning.normalization})
    if cleaning.do_lower_case:
        steps += [*_final_sigma(processor), {"type": "Lowercase"}]
    if processor.normalize(_JAMO).endswith(unicodedata.normalize("NFC", _JAMO)):
        # sentencepiece composes letters and marks; Precompiled does so only up to five bytes.
        steps.append({"type": "NFC"})
    if charsmap:
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode("ascii")})
    # Rules of sentencepiece leave spaces behind, for U+200B.
    return {"type": "Sequence", "normalizers": [*steps, replace(" {2,}", " "), replace(r" +\z", "")]}


def replace(pattern: str, content: str) -> dict[str, Any]:
    """The step that puts a text in place of each match of a regular expression."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def cleaning_of(values: Mapping[str, Any]) -> TextCleaning:
    """The cleaning that comes nearest to the normalizer in a tokenizer.json of other code.

    Args:
        values: all that the file says.
    """
    steps = list(_steps_of(values.get("normalizer")))
    kinds = {str(step.get("type")) for step in steps}
    of_bert: Mapping[str, Any] = next((step for step in steps if step.get("type") == "BertNormalizer"), {})
    lower = "Lowercase" in kinds or bool(of_bert.get("lowercase"))
    # Null goes with lower-casing.
    accents = of_bert.get("strip_accents")
    strips = "StripAccents" in kinds or bool(of_bert.get("lowercase") if accents is None else accents)
    model = values.get("model")
    if isinstance(model, dict) and model.get("type") == "WordPiece":
        # BERT's words keep accents where they keep capitals.
        return TextCleaning(do_lower_case=lower, keep_accents=lower and not strips)
    form = "NFKC" if kinds.isdisjoint(("NFKD", "NFD")) else "NFKD"
    return TextCleaning(do_lower_case=lower, keep_accents=not strips, normalization=form)


def _steps_of(normalizer: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the steps of a normalizer, those of a sequence one by one."""
    if not isinstance(normalizer, dict):
        return
    inner = normalizer.get("normalizers")
    if not isinstance(inner, list):
        yield normalizer
        return
    for step in inner:
        yield from _steps_of(step)


def _leading_space(cleaning: TextCleaning, processor: sentencepiece.SentencePieceProcessor) -> dict[str, Any]:
    """Makes one space of all that a text begins with and that cleaning takes away.

    The library puts a space before what stands at the first character of a text, and before nothing else: a letter
    after an accent that is dropped would lose its own.
    """

    controls = [character for character in _controls() if processor.normalize(f"a{character}a") == f"{SPACE}aa"]
    classes = [_NUL, character_class(str.isspace), *([class_of([*map(ord, controls)])] if controls else [])]
    if not cleaning.keep_accents:
        classes.append(character_class(_is_mark))
    return replace(rf"\A(?:{'|'.join(classes)})+", " ")


@functools.cache
def _controls() -> list[str]:
    """The characters that control and format, NUL and white space apart."""
    characters = map(chr, range(1, sys.maxunicode + 1))
    return [one for one in characters if unicodedata.category(one) in ("Cc", "Cf") and not one.isspace()]


def _is_mark(character: str) -> bool:
    """Tells whether nothing is left of a character without its combining marks."""
    return all(map(unicodedata.combining, unicodedata.normalize("NFKD", character)))


def _final_sigma(processor: sentencepiece.SentencePieceProcessor) -> list[dict[str, Any]]:
    """The step that str.lower has and Lowercase has not; none for a vocabulary to which all sigmas are unknown.

    A sigma after a letter with case and not before one becomes a final one, whatever stands between that Unicode calls
    case-ignorable (section 3.13, Final_Sigma).
    """
    ids = range(processor.get_piece_size())
    pieces = map(processor.id_to_piece, ids)
    if not any(map(processor.is_byte, ids)) and not any(
        _FINAL_SIGMA in piece or _SMALL_SIGMA in piece for piece in pieces
    ):
        return []
    cased, ignored = character_class(_is_cased), character_class(_is_ignored)
    before = "|".join(cased + ignored * count for count in range(_MOST_IGNORED + 1))
    return [replace(f"(?<={before}){_SIGMA}(?!{ignored}*{cased})", _FINAL_SIGMA)]


def _is_cased(character: str) -> bool:
    return f"{character}{_SIGMA}".lower().endswith(_FINAL_SIGMA)


def _is_ignored(character: str) -> bool:
    return f"A{character}{_SIGMA}".lower().endswith(_FINAL_SIGMA) and not _is_cased(character)
