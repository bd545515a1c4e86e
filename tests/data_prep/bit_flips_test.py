"""One bit flipped in any file that a data command reads leaves what was there, or is one line that names it."""

import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.records.pretraining_records import read_manifest
from albert_tf.records.record_files import read_records
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.instances import InstanceSettings
from data_prep.inspection.report import inspect
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob
from data_prep.text.text_files import read_lines

ROOT = Path(__file__).resolve().parents[2]
FLIPS = 250
TEXT = "".join(f"This is sentence {number} of a text with café.\n" + "\n" * (number % 5 == 0) for number in range(60))


def _flipped(contents: bytes, bit: int) -> bytes:
    changed = bytearray(contents)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _bits(contents: bytes, count: int) -> list[int]:
    rng = random.Random(len(contents))
    return sorted(rng.sample(range(8 * len(contents)), min(count, 8 * len(contents))))


@pytest.mark.parametrize("count", [FLIPS, pytest.param(100_000, marks=pytest.mark.faults)])
@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_compressed_text_is_what_it_was_or_one_line(tmp_path, ending, count):
    if ending == ".zst":
        zstandard = pytest.importorskip("zstandard")
        packed = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT.encode())
    else:
        packed = gzip.compress(TEXT.encode()) if ending == ".gz" else lzma.compress(TEXT.encode())
    path = tmp_path / f"a.txt{ending}"
    refused = 0
    for bit in _bits(packed, count):
        path.write_bytes(_flipped(packed, bit))
        try:
            lines = [line for _, line in read_lines(str(path))]
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
            assert path.name in str(error)
        else:
            # A time, a name, a flag of the header: nothing of the text.
            assert lines == TEXT.splitlines(), bit
    assert refused > 100


@pytest.fixture
def records(small_corpus, small_vocabulary, tmp_path):
    """Makes records and their manifest; returns the record file's path."""
    output = tmp_path / "records" / "r"
    settings = InstanceSettings(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=1)

    def make(compression):
        job = RecordJob(str(small_corpus), str(output), small_vocabulary, settings, num_workers=1)
        create_records(RecordJob(**{**job.__dict__, "compression": compression}))
        return output

    return make


@pytest.mark.parametrize("count", [FLIPS, pytest.param(3_000, marks=pytest.mark.faults)])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_record_file_is_what_it_was_or_one_line(records, compression, count):
    path = records(compression)
    contents = path.read_bytes()
    whole = [message for _, message in read_records(str(path))]
    for bit in _bits(contents, count):
        path.write_bytes(_flipped(contents, bit))
        try:
            found = [message for _, message in read_records(str(path))]
        except InputError as error:
            assert "\n" not in str(error)
            assert str(path) in str(error)
        else:
            assert found == whole, bit


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=pytest.mark.faults)])
def test_a_manifest_that_was_written_is_what_it_was_or_one_line(records, every):
    path = records("none")
    manifest = path.with_name("r.manifest.json")
    contents, whole = manifest.read_bytes(), read_manifest([str(path)])
    for bit in range(0, 8 * len(contents), every):
        manifest.write_bytes(_flipped(contents, bit))
        try:
            assert read_manifest([str(path)]) == whole, bit
        except InputError as error:
            assert "\n" not in str(error)
            assert manifest.name in str(error)


def test_another_vocabulary_than_that_of_the_records_is_refused_by_its_digest(records, small_vocabulary, tmp_path):
    path = records("none")
    contents = Path(small_vocabulary).read_bytes()
    other = tmp_path / "other.model"
    # A bit of a score, near the end of a piece: the model stays a model.
    for bit in _bits(contents, 2000):
        other.write_bytes(_flipped(contents, bit))
        try:
            tokenizer = AlbertTokenizer(str(other))
        except InputError:
            continue
        with pytest.raises(InputError, match="was made with another vocabulary"):
            inspect([str(path)], tokenizer, 1)
        break
    else:
        raise AssertionError("no flip left a vocabulary that can be read")


VOCABULARY_PROGRAM = """
import sys
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
contents, path = open(sys.argv[1], "rb").read(), sys.argv[2]
for bit in range(int(sys.argv[3]), 8 * len(contents), int(sys.argv[4])):
    changed = bytearray(contents)
    changed[bit // 8] ^= 1 << bit % 8
    open(path, "wb").write(changed)
    print(bit, flush=True)
    try:
        tokenizer = AlbertTokenizer(path)
        for text in ("bada falo, 1995, X\\u00e9!", "", "[MASK] \\u4e2d"):
            tokenizer.encode(text), tokenizer.encode_pieces(text), tokenizer.encode_with_masks(text)
    except InputError as error:
        assert "\\n" not in str(error) and path in str(error), error
"""


@pytest.mark.faults
def test_a_vocabulary_with_a_flipped_bit_works_or_is_one_line(small_vocabulary, tmp_path):
    first, size = 0, 8 * os.path.getsize(small_vocabulary)
    step, crashes = 4001, []
    while first < size:
        # In a process of its own: sentencepiece is C++, and might end it.
        arguments = [small_vocabulary, str(tmp_path / "v.model"), str(first), str(step)]
        done = subprocess.run(
            [sys.executable, "-c", VOCABULARY_PROGRAM, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        if done.returncode == 0:
            break
        bit = int(done.stdout.split()[-1])
        crashes.append((bit, done.returncode, done.stderr[-300:]))
        first = bit + step
        assert len(crashes) < 5, crashes
    assert crashes == []


JSON_LINES = (
    *(None, True, 1, 1.5, "x", [], [1], {}, {"text": None}, {"text": 1}, {"text": []}, {"text": {}}, {"paragraphs": 1}),
    *({"paragraphs": [1]}, {"paragraphs": ["a", None]}, {"paragraphs": {"a": 1}}, {"text": ""}, {"paragraphs": []}),
    *({"text": "\ud800 a b."}, {"text": "a b. " * 3, "paragraphs": 7}, {"TEXT": "a"}, float("nan"), 10**400),
)


@pytest.mark.parametrize("value", JSON_LINES, ids=lambda value: repr(value)[:30])
def test_a_json_line_of_any_type_is_text_or_one_line(tmp_path, value):
    from data_prep.text.sentence_files import SentenceSplitting, split_files

    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "A good one. It stays."}) + "\n" + json.dumps(value) + "\n")
    settings = SentenceSplitting(str(tmp_path / "a.jsonl"), str(tmp_path / "out"))
    try:
        split_files(settings)
    except InputError as error:
        assert "\n" not in str(error)
        assert "a.jsonl: line 2" in str(error)
        assert not (tmp_path / "out").exists()
    else:
        assert (tmp_path / "out").read_bytes().decode("utf-8").startswith("A good one.\nIt stays.\n")


ODD_TEXTS = {
    "crlf": b"One is here.\r\nTwo is there.\r\n\r\nThree came.\r\nFour went.\r\n",
    "mark": b"\xef\xbb\xbfOne is here.\nTwo is there.\n",
    "nul": b"One \x00 is here.\nTwo \x00\x00 is there.\n",
    "blank": b"\n\n \n\t\n\r\n",
    "one": b"One is here.",
    "latin1": b"caf\xe9 is here.\nTwo.\n",
    "utf16": "One is here.\nTwo is there.\n".encode("utf-16"),
    "empty": b"",
    "long": b"word " * 300_000,
    "controls": bytes(range(32)) * 50,
    "separators": "One\u2028is\u2029here\x85.\x0b\x0cTwo\x1c is there.\n".encode(),
}
# The others hold no two sentences, or are not UTF-8.
MADE = ("crlf", "mark", "nul")


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts_make_records_or_one_line(small_vocabulary, tmp_path, name):
    path = tmp_path / f"{name}.txt"
    path.write_bytes(ODD_TEXTS[name])
    settings = InstanceSettings(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=1)
    job = RecordJob(str(path), str(tmp_path / "out" / "r"), small_vocabulary, settings, num_workers=1)
    try:
        assert create_records(job).num_examples > 0
    except InputError as error:
        assert "\n" not in str(error)
        assert path.name in str(error)
        assert not (tmp_path / "out").exists()
        assert name not in MADE
    else:
        assert name in MADE


def test_names_that_are_not_utf8_work_from_text_to_records(small_corpus, small_vocabulary, tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    text = os.fsdecode(folder + b"/t\xff.txt")
    Path(text).write_bytes(Path(small_corpus).read_bytes())
    vocabulary = os.fsdecode(folder + b"/v\xfe.model")
    Path(vocabulary).write_bytes(Path(small_vocabulary).read_bytes())
    output = os.fsdecode(folder + b"/r\xfd@2")
    program = [sys.executable, "-m", "data_prep.create_pretraining_data", f"--input_file={text}"]
    program += [f"--output_file={output}", f"--spm_model_file={vocabulary}", "--max_seq_length=32"]
    program += ["--max_predictions_per_seq=5", "--dupe_factor=1", "--num_workers=1"]
    done = subprocess.run(program, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    paths = [f"{output[:-2]}-0000{number}-of-00002" for number in range(2)]
    manifest = read_manifest(paths)
    assert manifest.vocabulary["file"] == os.path.basename(vocabulary)
    assert manifest.input[0]["name"] == os.path.basename(text)
    program = [sys.executable, "-m", "data_prep.inspect_records", f"--input_file={paths[0]}"]
    done = subprocess.run(
        [*program, f"--spm_model_file={vocabulary}", f"--json_file={output[:-2]}.json"],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert io.BytesIO(done.stdout).readline().strip()


def test_a_manifest_alone_is_no_record_file(records, small_vocabulary):
    manifest = records("none").with_name("r.manifest.json")
    program = [sys.executable, "-m", "data_prep.inspect_records", f"--input_file={manifest}"]
    done = subprocess.run(
        [*program, f"--spm_model_file={small_vocabulary}"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "names only a manifest; name the record files beside it" in line
