"""SQuAD's questions as pairs of a question and a sentence: the one with the answer, and the likest one without."""

import json
import subprocess
import sys

from albert_tf.benchmarks.qnli_from_squad import pairs_of, sentence_spans
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.squad_examples import Answer, SquadExample

CONTEXT = "Dr. Ada wrote it.  Bob sang the song in Rome. Bob ran.\nIn Rome it rained."


def _example(*answers):
    places = tuple(Answer(text, CONTEXT.index(text)) for text in answers)
    return SquadExample("1", "What did Bob sing in Rome?", CONTEXT, places)


def test_sentences_stand_where_they_stood():
    found = [CONTEXT[begin:end].strip() for begin, end in sentence_spans(CONTEXT)]
    assert found == ["Dr. Ada wrote it.", "Bob sang the song in Rome.", "Bob ran.", "In Rome it rained."]


def test_the_likest_sentence_without_an_answer_is_the_other_pair():
    (question, sentence, label), (_, other, other_label) = pairs_of(_example("the song"))
    assert question == "What did Bob sing in Rome?"
    assert (sentence.strip(), label) == ("Bob sang the song in Rome.", "entailment")
    # "in" and "rome"; of the third one "bob" alone is shared.
    assert (other.strip(), other_label) == ("In Rome it rained.", "not_entailment")


def test_a_sentence_with_another_answer_is_no_pair():
    _, (_, other, _) = pairs_of(_example("the song", "it rained"))
    assert other.strip() == "Bob ran."


def test_a_question_without_an_answer_or_without_two_sentences_has_no_pairs():
    assert pairs_of(_example()) == []
    whole = SquadExample("2", "Who?", "Ada sang.", (Answer("Ada", 0),))
    assert pairs_of(whole) == []
    across = SquadExample("3", "What?", "Ada sang. Bob ran.", (Answer("sang. Bob", 4),))
    assert pairs_of(across) == []


def test_the_files_are_read_as_qnli(tmp_path):
    question = {"id": "1", "question": "What did\tBob sing in Rome?"}
    question["answers"] = [{"text": "the song", "answer_start": CONTEXT.index("the song")}]
    paragraph = {"context": CONTEXT, "qas": [question]}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    flags = [f"--{split}_file={tmp_path}/squad.json" for split in ("train", "dev")]
    command = [sys.executable, "-m", "albert_tf.benchmarks.qnli_from_squad", *flags, f"--output_dir={tmp_path}/QNLI"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    assert made.stdout == "train.tsv: 2 pairs\ndev.tsv: 2 pairs\n"
    task = make_task("qnli", str(tmp_path), TaskOptions())
    assert [task.labels[example.label] for example in task.examples("dev")] == ["entailment", "not_entailment"]
    assert task.examples("train")[0].first == "What did Bob sing in Rome?"


def test_a_missing_file_is_one_line(tmp_path):
    command = [sys.executable, "-m", "albert_tf.benchmarks.qnli_from_squad", "--train_file=none.json"]
    command += ["--dev_file=none.json", f"--output_dir={tmp_path}/QNLI"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 1 and "none.json" in made.stderr.splitlines()[-1] and "Traceback" not in made.stderr
    assert not (tmp_path / "QNLI").exists()
