"""Cleaning of a text before sentencepiece sees it (preprocess_text of the official tokenization.py)."""

import dataclasses
import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Annotated

from absl import logging

from albert_tf.runtime.settings import OneOf, check, described

NORMALIZATIONS = ("NFKD", "NFKC")

# str.encode refuses these; JSON files can hold them ("\ud800").
LONE_SURROGATES = re.compile("[\ud800-\udfff]")
REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"


@described
@dataclasses.dataclass(frozen=True)
class TextCleaning:
    """The switches of text cleaning; the defaults are those of the published English models.

    Dropping accents, as the official models do, damages scripts in which they are letters: Japanese dakuten, Indic
    vowel signs. NFKC, beside the official NFKD, keeps Hangul syllables whole.
    """

    do_lower_case: Annotated[bool, "Lower-case the text."] = True
    keep_accents: Annotated[
        bool, "Keep accents and other combining characters; needed for Japanese and Indic scripts."
    ] = False
    normalization: Annotated[str, OneOf(*NORMALIZATIONS), "Unicode form of the text; NFKC suits Korean."] = "NFKD"
    replace_quotes: Annotated[
        bool, "Turn `` and '' into \", as Hugging Face's tokenizer does and the official one does not."
    ] = False

    def __post_init__(self) -> None:
        check(self)


OFFICIAL_CLEANING = TextCleaning()


def agreed_cleaning(
    given: TextCleaning, known: TextCleaning | None, source: str, is_settled: bool = False
) -> TextCleaning:
    """The cleaning of a model's texts: as is known of the model, unless switches are given that are no defaults.

    Args:
        given: the switches of a command or a call.
        known: those that a checkpoint tells; None where it tells nothing.
        source: the checkpoint, for the log.
        is_settled: whether it was fine-tuned on such texts, and no switch changes them any more.
    """
    if known is None or known == given:
        return given
    if given != OFFICIAL_CLEANING and is_settled:
        logging.warning(
            "%s: it was fine-tuned on texts that were cleaned with %s, which stays so; the flags say %s, which is not "
            "done",
            *(source, known, given),
        )
        return known
    if given != OFFICIAL_CLEANING:
        logging.warning("%s: its texts were cleaned with %s; the flags say %s, which is done", source, known, given)
        return given
    logging.info("%s: text is cleaned as it was for this model, with %s", source, known)
    return known


def clean_text(text: str, cleaning: TextCleaning = OFFICIAL_CLEANING) -> str:
    """Collapses white space, normalises Unicode, drops accents, lower-cases: in this, the official, order.

    >>> clean_text("  Crème\\tBRÛLÉE ")
    'creme brulee'

    Beyond the official code, NUL characters are removed (graph operations cut a string at NUL) and lone
    surrogates, which are no characters, become U+FFFD. A character whose compatibility form starts with a
    space (U+00A8) leaves two spaces or an outer one behind; sentencepiece ignores them.

    Args:
        text: any string.
        cleaning: the switches.
    """
    if not text.isprintable() or "  " in text:  # NUL and all white space but the space itself are not printable
        text = " ".join(text.replace("\0", "").split())
    text = text.strip(" ")
    if cleaning.replace_quotes:
        text = text.replace("``", '"').replace("''", '"')
    if not text.isascii():
        text = _normalize(text, cleaning)
    return text.lower() if cleaning.do_lower_case else text


def _normalize(text: str, cleaning: TextCleaning) -> str:
    text = LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, text)
    if not cleaning.keep_accents:
        text = unicodedata.normalize("NFKD", text)
        for character in filter(unicodedata.combining, set(text)):
            text = text.replace(character, "")
    return unicodedata.normalize(cleaning.normalization, text)  # type: ignore[arg-type]  # one of NORMALIZATIONS


@functools.cache
def character_class(belongs: Callable[[str], object]) -> str:
    """A regular expression for the characters of which `belongs` is true, by Python's own Unicode tables.

    The classes of RE2 and Oniguruma, both of which read this one, will not do: \\s is not what str.split takes for
    white space, and \\p{Mn} is not the set of characters that combine.
    """
    return class_of([code for code in range(1, sys.maxunicode + 1) if belongs(chr(code))])


def class_of(codes: Sequence[int]) -> str:
    """A regular expression for the characters of these code points, which rise."""
    starts = [code for code, before in zip(codes, [-1, *codes]) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], -1]) if code != after - 1]
    return "[" + "".join(rf"\x{{{start:x}}}-\x{{{end:x}}}" for start, end in zip(starts, ends)) + "]"
