"""Makes files as QNLI has them out of SQuAD's: does a sentence of the paragraph hold the answer to a question?

GLUE made QNLI so (Wang et al., 2018, arXiv 1804.07461); its own files are other pairs. Here each question stands once
with the sentence in which its first answer lies, and once with that sentence of the paragraph, of the rest without an
answer, that shares most words with it. Questions whose paragraph has no such two sentences are left out.

python -m albert_tf.benchmarks.qnli_from_squad --train_file=train-v1.1.json --dev_file=dev-v1.1.json --output_dir=QNLI
"""

import os
import re
from collections.abc import Iterator

import sentencex
from absl import flags

from albert_tf.runtime import command, files
from albert_tf.tasks.squad_examples import SquadExample, read_squad

_COLUMNS = ("index", "question", "sentence", "label")
_WORD = re.compile(r"\w+")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("train_file", None, "A file of SQuAD 1.1 or 2.0.", **fv)
    flags.DEFINE_string("dev_file", None, "Another one, of other articles.", **fv)
    flags.DEFINE_string("output_dir", None, "The folder of train.tsv and dev.tsv.", **fv)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The places of the sentences of a text, (begin, end) in characters."""
    spans, end = [], 0
    for sentence in sentencex.segment("en", text):
        begin = text.index(sentence, end)
        end = begin + len(sentence)
        if sentence.strip():
            spans.append((begin, end))
    return spans


def pairs_of(example: SquadExample) -> list[tuple[str, str, str]]:
    """The two pairs of a question, each (question, sentence, label); none where it has no two such sentences."""
    if not example.answers:
        return []
    places = [(answer.start, answer.start + len(answer.text)) for answer in example.answers]
    with_answer, without = [], []
    for begin, end in sentence_spans(example.context):
        sentence = example.context[begin:end]
        if begin <= places[0][0] and places[0][1] <= end:
            with_answer.append(sentence)
        elif all(end <= start or stop <= begin for start, stop in places):
            without.append(sentence)
    if not with_answer or not without:
        return []
    asked = _words(example.question)
    # Of equals the first, as max has it.
    nearest = max(without, key=lambda sentence: len(asked & _words(sentence)))
    question = example.question
    return [(question, with_answer[0], "entailment"), (question, nearest, "not_entailment")]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _rows(path: str) -> Iterator[str]:
    yield "\t".join(_COLUMNS)
    pairs = (pair for example in read_squad(path, True, need_answers=False) for pair in pairs_of(example))
    for index, pair in enumerate(pairs):
        yield "\t".join([str(index), *(" ".join(part.split()) for part in pair)])


def _run() -> None:
    command.require_flags("train_file", "dev_file", "output_dir")
    given = flags.FLAGS
    for split in ("train", "dev"):
        rows = list(_rows(given[f"{split}_file"].value))
        with files.replace_file(os.path.join(given.output_dir, f"{split}.tsv")) as file:
            file.write("".join(f"{row}\n" for row in rows).encode())
        print(f"{split}.tsv: {len(rows) - 1:,} pairs")  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
