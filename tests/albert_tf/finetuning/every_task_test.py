"""The whole path of every kind of task, from files in their published formats to scores and prediction files."""

import dataclasses
import json
from pathlib import Path

import pytest

from albert_tf.finetuning.finetune import run
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings

STEPS = 4
WORDS = ["ba", "de", "fi", "go", "ku", "la", "me", "ni"]


def sentence(number, length=5):
    """Some words, chosen by the number."""
    return " ".join(WORDS[(number * 3 + place * (number % 4 + 1)) % len(WORDS)] for place in range(length))


def write_table(folder, name, header, rows):
    lines = ["\t".join(map(str, row)) for row in [header, *rows]]
    (folder / name).write_text("\n".join(lines) + "\n")


def make_mnli(folder):
    columns = ["index", "promptID", "sentence1", "sentence2", "gold_label"]
    names = ("contradiction", "entailment", "neutral")
    for split in ("train", "dev_matched", "dev_mismatched"):
        rows = [(n, n, sentence(n), sentence(n + 1), names[n % 3]) for n in range(9)]
        write_table(folder, f"{split}.tsv", columns, rows)
    for split in ("test_matched", "test_mismatched"):
        write_table(folder, f"{split}.tsv", columns[:-1], [(n, n, sentence(n), sentence(n + 1)) for n in range(5)])


def make_race(folder):
    for split in ("train", "dev", "test"):
        for level in ("middle", "high"):
            (folder / split / level).mkdir(parents=True)
            for number in range(3):
                article = {
                    "article": sentence(number, 30),
                    "questions": ["ba de _ ?", "fi go"],
                    "options": [[sentence(number + option, 2) for option in range(4)]] * 2,
                    "answers": ["ABCD"[number % 4], "C"],
                    "id": f"{level}{number}.txt",
                }
                (folder / split / level / f"{number}.txt").write_text(json.dumps(article))


def make_squad(folder, version):
    for split in ("train", "dev", "test"):
        qas = []
        for number in range(9):
            context = sentence(number, 40)
            answers = [{"text": context[6:14], "answer_start": 6}]
            qa = {"id": f"q{number}", "question": "ba de ?", "answers": answers}
            if version == "v2.0" and number % 3 == 0:
                qa |= {"answers": [], "is_impossible": True}
            if split == "test":
                qa = {"id": f"q{number}", "question": "ba de ?"}
            qas.append({"context": context, "qas": [qa]})
        contents = {"version": version, "data": [{"title": "t", "paragraphs": qas}]}
        (folder / f"{split}-{version}.json").write_text(json.dumps(contents))


def make_tags(folder):
    for split in ("train", "dev", "test"):
        lines = []
        for number in range(9):
            words = sentence(number, 30 if number == 0 else 6).split()
            tags = ["B-X" if word == "ba" else "I-X" if word == "de" else "O" for word in words]
            lines += [word if split == "test" else f"{word} {tag}" for word, tag in zip(words, tags)] + [""]
        (folder / f"{split}.txt").write_text("\n".join(lines))


def make_several(folder):
    for split in ("train", "dev", "test"):
        rows = [(sentence(n), sentence(n + 1), "x|y" if n % 2 else "z") for n in range(9)]
        write_table(folder, f"{split}.tsv", ["first", "second", "kind"], rows)


def make_numbers(folder):
    for split in ("train", "dev", "test"):
        lines = [json.dumps({"text": sentence(n), "label": n / 3}) for n in range(9)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines))


def make_entities(folder):
    for split in ("train", "dev", "test"):
        rows = []
        for number in range(9):
            text = sentence(number, 60 if number == 0 else 6)
            found = [{"start": at, "end": at + 2, "label": "X"} for at in range(len(text)) if text.startswith("ba", at)]
            rows.append({"text": text} | ({} if split == "test" else {"entities": found}))
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def make_spans(folder):
    for split in ("train", "dev", "test"):
        rows = []
        for number in range(9):
            text = sentence(number, 60 if number == 0 else 6)
            starts = [at for at in range(len(text) - 4) if text.startswith("ba", at)]
            found = [[at, at + size, label] for at in starts for size, label in ((2, "X"), (5, "Y"), (5, "X"))]
            rows.append({"text": text} | ({} if split == "test" else {"spans": found}))
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def make_questions(folder):
    for split in ("train", "dev", "test"):
        rows = [("ba de ?", sentence(n, 40), sentence(n, 40)[6:14]) for n in range(9)]
        write_table(folder, f"{split}.tsv", ["question", "context", "answer"], rows)


def make_long(folder):
    for split in ("train", "dev", "test"):
        rows = [(sentence(n, 200 if n % 2 else 3), "xy"[n % 2]) for n in range(9)]
        write_table(folder, f"{split}.tsv", ["text", "label"], rows)


def make_ranked(folder):
    for split in ("train", "dev", "test"):
        rows = [(sentence(n // 3), sentence(n), n % 2) for n in range(9)]
        write_table(folder, f"{split}.tsv", ["text", "other", "label"], rows)


def make_superglue(folder, make_row):
    """Lines of JSON for train, val and test, whose labels are booleans; the test split's are left out."""
    for split in ("train", "val", "test"):
        rows = [make_row(n) | {"idx": n} | ({} if split == "test" else {"label": bool(n % 2)}) for n in range(9)]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def make_wic(folder):
    def row(n):
        word, places = WORDS[n % 8], {"start1": 3, "end1": 5, "start2": 0, "end2": 2}
        return {"word": word, "sentence1": f"ku {word} la", "sentence2": f"{word} me", **places}

    make_superglue(folder, row)


def make_copa(folder):
    def row(n):
        choices = {"choice1": sentence(n + 1), "choice2": sentence(n + 2)}
        return {"premise": sentence(n), **choices, "question": "cause" if n % 3 else "effect"}

    make_superglue(folder, row)
    for split in ("train", "val"):
        path = folder / f"{split}.jsonl"
        path.write_text(path.read_text().replace("true", "1").replace("false", "0"))


def make_multirc(folder):
    for split in ("train", "val", "test"):
        lines = []
        for number in range(4):
            answers = [
                {"text": sentence(n, 2), "idx": n} | ({} if split == "test" else {"label": n % 2}) for n in (0, 1)
            ]
            questions = [{"question": f"{sentence(n, 3)} ?", "idx": n, "answers": answers} for n in (0, 1)]
            passage = {"text": sentence(number, 20), "questions": questions}
            lines.append(json.dumps({"idx": number, "version": 1.1, "passage": passage}))
        (folder / f"{split}.jsonl").write_text("\n".join(lines))


SEVERAL = TaskOptions(text_column="first", text_pair_column="second", label_column="kind", multi_label=True)
# name of the test: (task, files, options, scores of dev, files of the test split's predictions)
TASKS = {
    "race": (
        "race",
        make_race,
        TaskOptions(),
        {"accuracy", "accuracy_middle", "accuracy_high"},
        ["test_predictions.json"],
    ),
    "squad_v2": (
        *("squad_v2", lambda folder: make_squad(folder, "v2.0"), TaskOptions()),
        {"f1", "exact", "best_f1", "best_exact", "HasAns_f1", "NoAns_f1"},
        ["test_predictions.json", "test_nbest_predictions.json", "test_null_odds.json"],
    ),
    "squad_v1": (
        *("squad_v1", lambda folder: make_squad(folder, "v1.1"), TaskOptions(), {"f1", "exact"}),
        ["test_predictions.json", "test_nbest_predictions.json"],
    ),
    "mnli": ("mnli", make_mnli, TaskOptions(), {"accuracy"}, ["MNLI-m.tsv", "MNLI-mm.tsv"]),
    "tags": ("token_classification", make_tags, TaskOptions(), {"f1", "precision", "recall"}, ["test_predictions.txt"]),
    "entities": ("entities", make_entities, TaskOptions(), {"f1", "precision", "recall"}, ["test_predictions.jsonl"]),
    "spans": ("span_categories", make_spans, TaskOptions(), {"f1", "precision", "recall"}, ["test_predictions.jsonl"]),
    "questions": ("squad_v1", make_questions, TaskOptions(beam=False), {"f1", "exact"}, ["test_predictions.json"]),
    "long texts": (
        *("classification", make_long, TaskOptions(long_texts="mean"), {"accuracy", "macro_f1"}),
        ["test_predictions.jsonl"],
    ),
    "ranked": (
        *("classification", make_ranked, TaskOptions(text_pair_column="other", group_column="text")),
        *({"ndcg_at_10", "mrr_at_10", "recall_at_10", "accuracy"}, ["test_ranking.tsv"]),
    ),
    "several": ("classification", make_several, SEVERAL, {"micro_f1", "macro_f1"}, ["test_predictions.jsonl"]),
    "wic": ("wic", make_wic, TaskOptions(), {"accuracy"}, ["test_predictions.jsonl", "WiC.jsonl"]),
    "copa": ("copa", make_copa, TaskOptions(), {"accuracy"}, ["test_predictions.jsonl", "COPA.jsonl"]),
    "multirc": ("multirc", make_multirc, TaskOptions(), {"f1", "exact_match"}, ["MultiRC.jsonl"]),
    "numbers": (
        *("classification", make_numbers, TaskOptions(regression=True), {"pearson", "spearman"}),
        ["test_predictions.jsonl"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_task_goes_from_its_files_to_scores_and_predictions(finetuning_settings, tmp_path, name):
    task, make, options, scores, files = TASKS[name]
    folder = tmp_path / name
    folder.mkdir()
    make(folder)
    settings = dataclasses.replace(
        finetuning_settings,
        task_name=task,
        data_dir=str(folder),
        task_options=options,
        task_settings=TaskSettings(max_seq_length=48, doc_stride=16, max_qa_length=16),
        num_train_steps=STEPS,
        save_checkpoints_steps=STEPS,
        train_batch_size=4,
        eval_batch_size=4,
        do_predict=True,
    )
    results = run(settings)
    dev = next(split for split in results["scores"] if split.startswith("dev"))
    assert scores <= set(results["scores"][dev])
    written = {Path(path).name for path in results["predictions"]}
    assert set(files) <= written
    assert all((Path(settings.output_dir) / file).stat().st_size for file in files)
    if name == "mnli":
        assert set(results["scores"]) == {"dev_matched", "dev_mismatched"}
