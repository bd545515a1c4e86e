"""Letters that cleaning would make others of, counted in a sample: dropped accents are vowels in many scripts."""

import unicodedata
from collections import Counter
from collections.abc import Callable

from albert_tf.tokenization.basic_words import is_accent
from albert_tf.tokenization.text_cleaning import TextCleaning

# So many characters tell what a corpus is written in.
_SAMPLE = 500_000
# Their marks are vowels that are mostly left out in writing, and are not counted; letters of theirs are.
_OPTIONAL = frozenset({"ARABIC", "HEBREW", "SYRIAC"})
# Share of a script's letters that lose something which is worth a line. Accents of Latin and Greek are dropped by the
# published models; English and French have fewer than this.
_MUCH, _MUCH_OF_ACCENTED = 0.005, 0.06
_ACCENTED = frozenset({"LATIN", "GREEK"})
# A script of fewer letters in the sample than this is no language of the corpus.
_FEWEST, _LEAST_SHARE = 100, 0.01


class LostLetters:
    """Counts of the letters of each script in the first texts, and of those that lose marks by dropping accents."""

    def __init__(self, cleaning: TextCleaning, word_pieces: bool):
        """Takes the cleaning, and whether it is WordPiece's."""
        self._form, self._is_dropped = ("NFD", is_accent) if word_pieces else ("NFKD", unicodedata.combining)
        drops = not cleaning.keep_accents and (cleaning.do_lower_case or not word_pieces)
        self._left = _SAMPLE if drops else 0
        self._letters: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Counts the letters of a text, while the sample is small."""
        if self._left <= 0:
            return
        self._left -= len(text)
        # Marks by themselves have no script.
        text = unicodedata.normalize("NFC", text)
        for character, count in Counter(text).items():
            kind, script = unicodedata.category(character)[0], _script(character)
            if kind not in "LM" or (kind == "M" and script in _OPTIONAL):
                continue
            if character.isalpha():
                self._letters[script] += count
            if _loses(character, self._form, self._is_dropped):
                self._lost[script] += count

    def describe(self) -> str | None:
        """One line that names the script that loses most, and the flag that keeps its letters; None if none does."""
        least = max(_FEWEST, _LEAST_SHARE * self._letters.total())
        shares = {script: self._lost[script] / letters for script, letters in self._letters.items() if letters >= least}
        much = [
            script for script, share in shares.items() if share > (_MUCH_OF_ACCENTED if script in _ACCENTED else _MUCH)
        ]
        if not much:
            return None
        script = max(much, key=lambda one: self._lost[one])
        return (
            f"{shares[script]:.1%} of the {script.capitalize()} letters become other letters, because cleaning drops "
            "accents; --keep_accents, here and in create_pretraining_data, keeps them"
        )


def _script(character: str) -> str:
    """The first word of a character's name: LATIN, DEVANAGARI, HIRAGANA, ..."""
    return unicodedata.name(character, "?").split()[0]


def _loses(character: str, form: str, is_dropped: Callable[[str], object]) -> bool:
    return any(map(is_dropped, unicodedata.normalize(form, character)))  # type: ignore[arg-type]  # a normal form
