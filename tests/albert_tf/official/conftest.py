"""Data of every official task, a vocabulary and an official checkpoint, all small; and running a command on them."""

import dataclasses
import json
import lzma
import shlex
import shutil
import subprocess
import sys
import tarfile

import pytest

from albert_tf.tasks.glue import TABLES

GLUE_TASKS = ("SST-2", "MNLI", "CoLA", "QNLI", "QQP", "RTE", "STS-B", "MRPC")
# The README's line for spm_train, smaller.
SPM_TRAIN = r"""--input all.txt --model_prefix=30k-clean --vocab_size=500 --logtostderr
--pad_id=0 --unk_id=1 --eos_id=-1 --bos_id=-1
--control_symbols=[CLS],[SEP],[MASK]
--user_defined_symbols="(,),\",-,.,–,£,€"
--shuffle_input_sentence=true --input_sentence_size=10000000
--character_coverage=0.99995 --model_type=unigram"""
ARTICLE = {
    "article": "The river was in the city. The film was good.",
    "questions": ["Where was the river?", "The film was _ ."],
    "options": [["in the city", "in paris", "to the river", "and bad"], ["bad", "good", "of paris", "in the city"]],
    "answers": ["A", "B"],
}
_EXAMPLES = 12


def make_glue(folder, archive):
    """The eight tasks of run_glue.sh: twelve official examples of four, made-up ones of the others."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    for task in GLUE_TASKS:
        table = TABLES[task.lower()]
        (folder / task).mkdir(exist_ok=True)
        for split, name in table.files.items():
            path = folder / task / name
            if path.exists():
                path.write_text("\n".join(path.read_text().splitlines()[: _EXAMPLES + 1]) + "\n")
                continue
            texts = (split.startswith("test") and table.test_texts) or table.texts
            columns = ["index", *texts, *([] if split.startswith("test") else [table.label])]
            rows = [
                [
                    str(row),
                    *(f"the {text} {row}" for text in texts),
                    *([table.labels[row % len(table.labels)]] if table.labels else ["1"]),
                ]
                for row in range(_EXAMPLES)
            ]
            lines = ["\t".join(row[: len(columns)]) for row in [columns, *rows]]
            path.write_text("\n".join(lines) + "\n")


def make_squad(shared, folder):
    for name, source in (
        ("train-v1.1", "train-v1.1-first"),
        ("dev-v1.1", "dev-v1.1-share"),
        ("v2.0", "cs224n-dev-v2.0"),
    ):
        with lzma.open(shared / "data" / "squad" / f"{source}.json.xz") as file:
            article = json.load(file)["data"][0]
        paragraphs = [{**paragraph, "qas": paragraph["qas"][:6]} for paragraph in article["paragraphs"][:1]]
        (folder / f"{name}.json").write_text(json.dumps({"data": [{**article, "paragraphs": paragraphs}]}))


def make_race(folder):
    for split in ("train", "dev", "test"):
        for level in ("middle", "high"):
            place = folder / "RACE" / split / level
            place.mkdir(parents=True)
            articles = [ARTICLE | {"id": f"{level}{number}.txt"} for number in range(3)]
            (place / "all.txt").write_text("".join(f"{json.dumps(article)}\n" for article in articles))


def run_module(folder, module, *words):
    done = subprocess.run(
        [sys.executable, "-m", module, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{module} {shlex.join(words)}\n{done.stderr}"
    return done


@pytest.fixture(scope="session")
def place(shared, small_config, tmp_path_factory):
    """A folder with data of every task, a vocabulary and an official checkpoint."""
    import sentencepiece

    from albert_tf.conversion.official import save_official
    from albert_tf.models.pretraining import AlbertForPretraining

    folder = tmp_path_factory.mktemp("official")
    make_glue(folder / "glue", shared / "data" / "glue" / "glue_share.tar.xz")
    make_squad(shared, folder)
    make_race(folder)
    with lzma.open(shared / "data" / "squad" / "dev-v1.1-share.json.xz", "rt") as file:
        articles = json.load(file)["data"]
    texts = [[p["context"].replace("\n", " ") for p in article["paragraphs"]] for article in articles]
    (folder / "all.txt").write_text("\n\n".join("\n".join(text) for text in texts))
    words = [word for word in shlex.split(SPM_TRAIN) if word != "--logtostderr"]
    words[:2] = [f"--input={folder / 'all.txt'}", f"--model_prefix={folder / '30k-clean'}", "--minloglevel=2"]
    sentencepiece.SentencePieceTrainer.Train(" ".join(word for word in words if word != "--model_prefix=30k-clean"))
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = dataclasses.replace(small_config, vocab_size=500, max_position_embeddings=512, **no_dropout)
    save_official(AlbertForPretraining(config), str(folder / "albert_base"))
    shutil.copy(folder / "30k-clean.model", folder / "albert_base")
    run_module(
        folder,
        "data_prep.create_pretraining_data",
        "--input_file=all.txt",
        "--output_file=train.tfrecord",
        "--vocab_file=30k-clean.vocab",
        "--spm_model_file=30k-clean.model",
        "--max_seq_length=40",
        "--max_predictions_per_seq=5",
        "--dupe_factor=1",
        "--do_permutation=false",
        "--input_file_mode=r",
    )
    return folder


@pytest.fixture
def run(place):
    """A function of (module, *words) that runs a command where the data lies, and fails if the command fails."""
    return lambda module, *words: run_module(place, module, *words)
