"""Input text: every form of the same corpus makes the same records, and anything else is refused in one line.

The fuzz test changes good files at random. Whatever comes of it, there is either a whole set of records or nothing
but one line that names the file.
"""

import gzip
import io
import json
import lzma
import random
import re
import sys
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.instances import InstanceSettings
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob
from data_prep.text.neighbour_counts import EmbeddingCounting, count_embeddings
from data_prep.text.sentence_files import SentenceSplitting, split_files
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import VocabularyTraining, train

pyarrow = pytest.importorskip("pyarrow")
zstandard = pytest.importorskip("zstandard")

SETTINGS = InstanceSettings(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=1)
RAW = TextReading(split_sentences=True)
# The place of the error in the file, unless it concerns the whole file.
LOCATED = r"line \d+|row \d+|byte \d+|holds no sentence|(have|has) one sentence|no text"


def _job(inputs, vocabulary, output, **changes) -> RecordJob:
    options = {"num_workers": 1, "part_characters": 2000, **changes}
    return RecordJob(str(inputs), str(output), vocabulary, SETTINGS, **options)


def _documents(text: str) -> list[str]:
    """Paragraphs of a few sentences each, a document for every block of the made-up corpus."""
    return ["\n\n".join(block.split("\n")) for block in text.split("\n\n") if block.strip()]


def _parquet(texts, column="text") -> bytes:
    from pyarrow import parquet

    output = io.BytesIO()
    parquet.write_table(pyarrow.table({"id": list(range(len(texts))), column: texts}), output)
    return output.getvalue()


def _json_lines(texts, paragraphs=False) -> bytes:
    lines = ({"paragraphs": text.split("\n\n")} if paragraphs else {"text": text} for text in texts)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _records(path: Path) -> bytes:
    return b"".join(sorted(file.read_bytes() for file in path.parent.glob("r") if file.is_file()))


@pytest.fixture
def texts(small_corpus) -> list[str]:
    return _documents(Path(small_corpus).read_text())


def test_every_form_of_raw_text_makes_the_same_records(texts, small_vocabulary, tmp_path):
    plain = _json_lines(texts)
    forms = {
        "a.jsonl": plain,
        "a.jsonl.gz": gzip.compress(plain),
        "a.jsonl.xz": lzma.compress(plain),
        "a.jsonl.zst": zstandard.compress(plain),
        "two_frames.jsonl.zst": zstandard.compress(plain[:1000]) + zstandard.compress(plain[1000:]),
        "a.ndjson": plain,
    }
    made = set()
    for name, contents in forms.items():
        (tmp_path / name).write_bytes(contents)
        output = tmp_path / f"{name} records" / "r"
        create_records(_job(tmp_path / name, small_vocabulary, output, reading=RAW))
        made.add(_records(output))
    assert len(made) == 1


def test_parquet_and_plain_text_hold_the_same_documents(texts, small_vocabulary, tmp_path):
    (tmp_path / "a.parquet").write_bytes(_parquet([*texts[:5], None, *texts[5:]], "content"))
    (tmp_path / "a.txt").write_text("\n\n".join(text.replace("\n\n", "\n") for text in texts))
    (tmp_path / "a.jsonl").write_bytes(_json_lines(texts))
    (tmp_path / "b.jsonl").write_bytes(_json_lines(texts, paragraphs=True))
    counted = []
    for name, reading in (
        ("a.parquet", TextReading(split_sentences=True, text_column="content")),
        ("a.txt", RAW),
        ("a.jsonl", RAW),
        ("b.jsonl", RAW),
    ):
        manifest = create_records(_job(tmp_path / name, small_vocabulary, tmp_path / f"{name}s" / "r", reading=reading))
        counted.append([manifest.statistics[key] for key in ("documents", "pieces", "sentences")])
    assert counted[0] == counted[2] == counted[3]
    # In plain text all sentences of a document are one paragraph, and two may be taken for one.
    assert counted[1][:2] == counted[0][:2]
    assert counted[0][0] == len(texts)


def test_standard_input_is_a_file_like_any_other(texts, small_vocabulary, tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(_json_lines(texts))
    create_records(_job(tmp_path / "a.jsonl", small_vocabulary, tmp_path / "file" / "r", reading=RAW))
    reading = TextReading(input_format="jsonl", split_sentences=True)
    for contents, folder in ((_json_lines(texts), "good"), (b"[]\n", "bad")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(contents)))
        job = _job("-", small_vocabulary, tmp_path / folder / "r", reading=reading)
        if folder == "good":
            assert create_records(job).input[0]["name"] == "standard input"
            assert _records(tmp_path / "good" / "r") == _records(tmp_path / "file" / "r")
            assert sorted(path.name for path in (tmp_path / "good").iterdir()) == ["r", "r.manifest.json"]
        else:
            with pytest.raises(InputError, match="^standard input: line 1 has no text"):
                create_records(job)
            assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_a_path_of_another_file_system_is_read_and_written(texts, small_vocabulary, tmp_path, name):
    lines = _json_lines(texts)
    packed = {"gz": gzip.compress(lines), "zst": zstandard.compress(lines), "parquet": _parquet(texts)}
    (tmp_path / name).write_bytes(packed.get(name.split(".")[-1], lines))
    create_records(_job(tmp_path / name, small_vocabulary, tmp_path / "local" / "r", reading=RAW))
    remote = f"file://{tmp_path}"
    create_records(_job(f"{remote}/{name}", small_vocabulary, f"{remote}/remote/r", reading=RAW))
    assert _records(tmp_path / "remote" / "r") == _records(tmp_path / "local" / "r")
    assert sorted(path.name for path in (tmp_path / "remote").iterdir()) == ["r", "r.manifest.json"]


def test_raw_text_is_not_taken_for_sentences(texts, small_vocabulary, tmp_path):
    for name, contents in (("a.jsonl.gz", gzip.compress(_json_lines(texts))), ("a.parquet", _parquet(texts))):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(InputError, match=f"{name} holds raw text; add --split_sentences"):
            create_records(_job(tmp_path / name, small_vocabulary, tmp_path / "out" / "r"))


def test_a_document_that_stands_twice_is_taken_once(texts, small_vocabulary, tmp_path):
    twice = [*texts[:40], texts[3], *texts[40:], texts[3], texts[50], texts[0] + " falo."]
    (tmp_path / "once.jsonl").write_bytes(_json_lines([*texts, texts[0] + " falo."]))
    (tmp_path / "twice.jsonl").write_bytes(_json_lines(twice))
    once = create_records(_job(tmp_path / "once.jsonl", small_vocabulary, tmp_path / "once" / "r", reading=RAW))
    kept = create_records(
        _job(
            tmp_path / "twice.jsonl",
            small_vocabulary,
            tmp_path / "kept" / "r",
            reading=RAW,
            drop_duplicate_documents=True,
        )
    )
    for name in ("documents", "sentences", "pieces"):
        assert kept.statistics[name] == once.statistics[name]
    assert kept.statistics["events"]["duplicate_documents_left_out"] == 3


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a.parquet", b"PAR1 no more", "a.parquet: not a whole Parquet file"),
        ("a.parquet", _parquet(["x"], "body"), "has no column 'text'; give one of id, body as --text_column"),
        ("a.parquet", _parquet([1, 2]), "the column 'text' holds int64, not strings"),
        ("a.jsonl", b'{"text": "bada."}\n{"text": 7}\n', "a.jsonl: line 2 has no text"),
        ("a.jsonl", b'{"text": "bada."}\n{"text": \n', "a.jsonl: line 2 is not JSON"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl: line 1 is not JSON"),
        ("a.jsonl.zst", zstandard.compress(b'{"text": "bada."}\n' * 9)[:-3], "is damaged or cut short after line"),
        ("a.jsonl.zst", b'{"text": "bada."}\n', "a.jsonl.zst: the archive is damaged"),
        ("a.jsonl", b'{"text": "\xff"}\n', "line 1 is not UTF-8 at byte 10"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_damage_is_one_line_and_nothing_is_written(small_vocabulary, tmp_path, name, contents, message, workers):
    (tmp_path / name).write_bytes(contents)
    job = _job(tmp_path / name, small_vocabulary, tmp_path / "out" / "r", reading=RAW, num_workers=workers)
    with pytest.raises(InputError, match=message) as caught:
        create_records(job)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_lone_surrogates_and_control_characters_are_text(small_vocabulary, tmp_path):
    text = "bada falo\ud800. falo \x00\x07\x1b bada."
    (tmp_path / "a.jsonl").write_text((json.dumps({"text": text}) + "\n") * 9)
    manifest = create_records(_job(tmp_path / "a.jsonl", small_vocabulary, tmp_path / "r", reading=RAW))
    assert manifest.statistics["documents"] == 9


def _mutate(contents: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut off, repeated, or exchanged for what parsers trip over."""
    changed = bytearray(contents)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed) + 1)
        kind = rng.randrange(8)
        if kind == 0 and changed:
            changed[min(place, len(changed) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[place:]
        elif kind == 2:
            changed[place:place] = bytes(rng.randrange(1, 50))
        elif kind == 3:
            changed[place:place] = rng.choice((b"\\ud800", b'"\\udfff"', b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf"))
        elif kind == 4:
            changed[place:place] = rng.choice((b"x", b" ", "é".encode(), b"[", b"\r")) * rng.choice(
                (10, 3000, 1_100_000)
            )
        elif kind == 5:
            changed[place:place] = bytes(rng.randrange(32) for _ in range(20))
        elif kind == 6:
            changed[place:place] = rng.choice((b'{"text": 1}\n', b"null\n", b'{"paragraphs": [1]}\n', b"\n\n", b"}{"))
        else:
            del changed[place : place + rng.randrange(1, 100)]
    return bytes(changed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_2000_damaged_inputs_make_records_or_one_line(texts, small_vocabulary, tmp_path):
    rng = random.Random(0)
    sentences = "\n\n".join(text.replace("\n\n", "\n") for text in texts[:12]).encode()
    lines = _json_lines(texts[:12])
    forms = {
        "a.txt": sentences,
        "a.txt.gz": gzip.compress(sentences),
        "a.txt.xz": lzma.compress(sentences),
        "a.txt.zst": zstandard.compress(sentences),
        "a.jsonl": lines,
        "a.jsonl.gz": gzip.compress(lines),
        "a.jsonl.zst": zstandard.compress(lines),
        "a.parquet": _parquet(texts[:12]),
        "wrong.gz": sentences,
        "wrong.zst": gzip.compress(sentences),
    }
    refused = 0
    for number in range(2000):
        name = rng.choice([*forms])
        inner = rng.random() < 0.4 and name.endswith(".gz") and not name.startswith("wrong")
        contents = gzip.compress(_mutate(gzip.decompress(forms[name]), rng)) if inner else _mutate(forms[name], rng)
        path = tmp_path / name
        path.write_bytes(contents)
        raw = "jsonl" in name or "parquet" in name or rng.random() < 0.3
        output = tmp_path / "out" / "r"
        job = _job(path, small_vocabulary, output, reading=TextReading(split_sentences=raw), overwrite=True)
        try:
            manifest = create_records(job)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error), number
            assert name in str(error), number
            located = re.search(
                r"line \d+|row \d+|byte \d+|holds no sentence|(have|has) one sentence|examples cannot", str(error)
            )
            assert located, (number, str(error))
            assert not output.parent.exists(), number
        else:
            assert manifest.num_examples > 0
            assert sorted(file.name for file in output.parent.iterdir()) == ["r", "r.manifest.json"]
            for file in output.parent.iterdir():
                file.unlink()
            output.parent.rmdir()
    assert 500 < refused < 1950


@pytest.mark.parametrize(
    ("setting", "without", "message"),
    [
        ({"headings": "keep"}, "a.txt", "--headings=keep has no effect on files of text: it is for jsonl and parquet"),
        ({"blank_line": "paragraph"}, "a.jsonl", "has no effect on files of jsonl: it is for text"),
        ({"text_column": "body"}, "a.txt,a.jsonl", "has no effect on files of jsonl and text: it is for parquet"),
        ({"longest_sentence": 50, "language": "de"}, "a.txt", None),
    ],
)
def test_a_setting_that_no_file_has_a_use_for_is_told_of(setting, without, message, caplog):
    reading = TextReading(split_sentences=True, **setting)
    reading.check_files(["a.txt", "a.jsonl", "a.parquet"])
    assert caplog.text == ""
    reading.check_files(without.split(","))
    assert caplog.text == "" if message is None else message in caplog.text


def test_every_command_of_text_tells_of_it(small_vocabulary, tmp_path, caplog):
    path = tmp_path / "a.txt"
    path.write_text("Bada falo. Falo bada.\n\nFalo bada bada. Bada.\n\n" * 20)
    reading = TextReading(split_sentences=True, headings="keep")
    tokenizer, out = AlbertTokenizer(small_vocabulary), str(tmp_path / "out")
    for command in (
        lambda: create_records(_job(path, small_vocabulary, out, reading=reading)),
        lambda: split_files(SentenceSplitting(str(path), out, reading)),
        lambda: train(VocabularyTraining(str(path), out, "wordpiece", vocab_size=20, reading=reading)),
        lambda: count_embeddings(EmbeddingCounting(str(path), out, tokenizer, embedding_size=2, reading=reading)),
    ):
        caplog.clear()
        command()
        assert "--headings=keep has no effect" in caplog.text
