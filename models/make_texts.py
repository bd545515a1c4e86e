"""Texts for distil_vectors, from sentence files: sentences, passages of several, and questions made of sentences.

python models/make_texts.py --input_file=sentences.txt --judged_file=dev_texts.txt --output_file=texts.txt
"""

import random
import re
from collections.abc import Iterable, Iterator

from absl import flags, logging

from albert_tf.runtime import command, files
from albert_tf.runtime.errors import InputError
from data_prep.text.text_files import read_lines

# Words of a sentence and of a passage; sentences of a passage.
_SENTENCE, _PASSAGE, _SENTENCES = (4, 30), (25, 110), (2, 6)
# Passages to a sentence, and the share of the sentences that a question is made of, where one can be.
_PASSAGES, _QUESTIONS = 0.1, 0.35
_STATEMENT = re.compile(
    r"(?P<subject>[A-Z][\w'’\-]*(?: [\w'’\-]+){0,5}?) (?P<verb>is|are|was|were|has|had|can|could|will|would|did) "
    r"(?P<rest>[^,;:()\[\]]{8,120})[.]"
)
# Subjects that say nothing without the sentences before.
_POINTS_BACK = {
    *("He", "She", "It", "They", "This", "These", "Those", "There", "That", "Such", "I", "We", "You"),
    *("Another", "Others", "Some", "His", "Her", "Their", "Its"),
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("input_file", None, "Sentence files, as split_sentences writes them.", **fv)
    flags.DEFINE_list("judged_file", [], "Files of texts, one a line, that are to be left out.", **fv)
    flags.DEFINE_string("output_file", None, "Where the texts go, one a line, in random order.", **fv)
    flags.DEFINE_integer("num_texts", 130_000, "Texts to write, if there are as many.", lower_bound=1, **fv)
    flags.DEFINE_integer("random_seed", 7, "Decides every draw.", **fv)


def letters(text: str) -> str:
    """The letters and digits of a text; texts that agree in them count as one."""
    return re.sub(r"[\W_]+", "", text.lower())


def ask(sentence: str, rng: random.Random) -> str | None:
    """A question that the sentence answers, grammar as it comes; None if it is not made for one."""
    found = _STATEMENT.fullmatch(sentence)
    if found is None or found["subject"].split()[0] in _POINTS_BACK:
        return None
    subject, verb, rest = found["subject"], found["verb"], found["rest"]
    if subject.split()[0] in ("The", "A", "An"):
        subject = subject[0].lower() + subject[1:]
    if rng.random() < 0.5:
        return f"{rng.choice(('What', 'Who', 'Which'))} {verb} {rest}?"
    words = rest.split()
    kept = " ".join(words[: rng.randint(2, max(2, len(words)))])
    return f"{rng.choice(('When', 'Where', 'Why', 'How'))} {verb} {subject} {kept}?"


def _is_within(text: str, limits: tuple[int, int]) -> bool:
    return limits[0] <= len(text.split()) <= limits[1]


def texts_of(sentences: list[str], rng: random.Random) -> Iterator[str]:
    """The texts of one document."""
    for place, sentence in enumerate(sentences):
        if _is_within(sentence, _SENTENCE):
            yield sentence
            question = ask(sentence, rng) if rng.random() < _QUESTIONS else None
            if question is not None:
                yield question
        if rng.random() < _PASSAGES:
            passage = " ".join(sentences[place : place + rng.randint(*_SENTENCES)])
            if _is_within(passage, _PASSAGE):
                yield passage


def documents_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The sentences of each document, which a blank line ends."""
    sentences: list[str] = []
    for line in lines:
        if line.strip():
            sentences.append(line.strip())
        elif sentences:
            yield sentences
            sentences = []
    if sentences:
        yield sentences


def _run() -> None:
    given = flags.FLAGS
    rng = random.Random(given.random_seed)
    judged = {letters(line) for path in given.judged_file for _, line in read_lines(path)}
    found: dict[str, str] = {}
    for path in given.input_file:
        for sentences in documents_of(line for _, line in read_lines(path)):
            for text in texts_of(sentences, rng):
                found.setdefault(letters(text), text)
    texts = [text for name, text in found.items() if name and name not in judged]
    if not texts:
        raise InputError(f"{', '.join(given.input_file)}: no sentence of {_SENTENCE[0]} to {_SENTENCE[1]} words")
    rng.shuffle(texts)
    with files.replace_file(given.output_file) as file:
        file.write("".join(f"{text}\n" for text in texts[: given.num_texts]).encode())
    logging.info("%s: %d of %d different texts", given.output_file, min(given.num_texts, len(texts)), len(texts))


main = command.entry_point(__name__, _run, required=("input_file", "output_file"))

if __name__ == "__main__":
    main()
