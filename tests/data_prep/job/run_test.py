"""The whole of data creation on a small corpus: the same bytes, the manifest, the figures, every bad input."""

import dataclasses
import hashlib
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from albert_tf.records.pretraining_records import (
    check_records,
    count_examples,
    from_example,
    parse_batch,
    read_manifest,
)
from albert_tf.records.record_files import read_records
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.instances import InstanceSettings
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob
from data_prep.text.documents import PART_CHARACTERS

SETTINGS = {"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 2}


def _job(corpus, vocabulary, output, *, settings=None, **changes) -> RecordJob:
    options = {"num_workers": 1, "part_characters": 2000, **changes}
    settings = InstanceSettings(**{**SETTINGS, **(settings or {})})
    return RecordJob(str(corpus), str(output), str(vocabulary), settings, **options)


def _checksums(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def _instances(paths):
    return [from_example(message) for path in paths for _, message in read_records(str(path))]


def test_any_number_of_workers_writes_the_same_bytes(small_corpus, small_vocabulary, tmp_path):
    written = []
    for workers in (1, 2, 5):
        folder = tmp_path / str(workers)
        create_records(_job(small_corpus, small_vocabulary, folder / "train@4", num_workers=workers))
        written.append(_checksums(folder))
    assert len(written[0]) == 5
    assert written[0] == written[1] == written[2]


def test_array_tasks_share_the_work_and_write_the_same_bytes(small_corpus, small_vocabulary, tmp_path):
    expected = tmp_path / "one" / "train@3"
    create_records(_job(small_corpus, small_vocabulary, expected))
    for order in ((0, 1), (1, 0), (2, 1, 0)):
        # A task that comes late finds its share done: the others do not wait for it.
        output = tmp_path / "".join(map(str, order)) / "train@3"
        tasks = {"num_tasks": len(order)}
        made = [create_records(_job(small_corpus, small_vocabulary, output, task_index=i, **tasks)) for i in order]
        assert _checksums(output.parent) == _checksums(expected.parent)
        assert (made[0] is None) == (order[0] != 0)
    output = tmp_path / "together" / "train@3"
    command = [
        *(sys.executable, "-m", "data_prep.create_pretraining_data", f"--input_file={small_corpus}"),
        *(f"--output_file={output}", f"--spm_model_file={small_vocabulary}", "--num_tasks=2", "--num_workers=1"),
        *("--max_seq_length=32", "--max_predictions_per_seq=5", "--dupe_factor=2"),
    ]
    runs = [
        subprocess.Popen([*command, f"--task_index={index}"], stderr=subprocess.PIPE, text=True) for index in (0, 1)
    ]
    for run in runs:
        errors = run.communicate()[1]
        assert run.returncode == 0, errors
    alone = tmp_path / "alone" / "train@3"
    create_records(_job(small_corpus, small_vocabulary, alone, part_characters=PART_CHARACTERS))
    assert _checksums(output.parent) == _checksums(alone.parent)


def test_a_dry_run_writes_nothing_and_comes_near(small_corpus, small_vocabulary, tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    job = _job(small_corpus, small_vocabulary, tmp_path / "out" / "train@2")
    assert create_records(dataclasses.replace(job, dry_run=True)) is None
    assert not (tmp_path / "out").exists()
    (estimated,) = (message for message in caplog.messages if "examples" in message)
    examples = int(re.search(r"about ([\d,]+) examples", estimated)[1].replace(",", ""))
    manifest = create_records(job)
    assert examples == pytest.approx(manifest.num_examples, rel=0.1)
    megabytes = float(re.search(r"([\d.]+) MB before", estimated)[1])
    assert megabytes == pytest.approx(sum(file["bytes"] for file in manifest.files) / 1e6, abs=0.06)


def test_memory_for_shuffling_is_bounded_and_loses_nothing(small_corpus, small_vocabulary, tmp_path, monkeypatch):
    whole = create_records(_job(small_corpus, small_vocabulary, tmp_path / "one" / "r@2"))
    monkeypatch.setattr(RecordJob, "buckets_of_a_file", lambda *_: 7)
    cut = create_records(_job(small_corpus, small_vocabulary, tmp_path / "seven" / "r@2"))
    assert cut.statistics == whole.statistics
    paths = [[tmp_path / folder / file["name"] for file in whole.files] for folder in ("one", "seven")]
    found = [Counter(record for path in group for _, record in read_records(str(path))) for group in paths]
    assert found[0] == found[1]


def test_seed_and_quirks_change_the_bytes_and_the_place_does_not(small_corpus, small_vocabulary, tmp_path):
    for name, settings in (("a", {}), ("b", {}), ("seed", {"random_seed": 1}), ("quirks", {"reference_quirks": True})):
        create_records(_job(small_corpus, small_vocabulary, tmp_path / name / "r", settings=settings))
    sums = {name: _checksums(tmp_path / name) for name in ("a", "b", "seed", "quirks")}
    assert sums["a"] == sums["b"]
    assert len({entry["r"] for entry in sums.values()}) == 3


def test_the_manifest_says_what_the_files_hold(small_corpus, small_vocabulary, tmp_path):
    manifest = create_records(_job(small_corpus, small_vocabulary, tmp_path / "out" / "train@3"))
    paths = [str(tmp_path / "out" / file["name"]) for file in manifest.files]
    assert [Path(path).name for path in paths] == [f"train-{shard:05d}-of-00003" for shard in range(3)]
    assert read_manifest(paths) == manifest
    check_records(paths, 32, 5, 150)
    assert count_examples(paths) == manifest.num_examples == sum(file["examples"] for file in manifest.files)
    for path, file in zip(paths, manifest.files):
        contents = Path(path).read_bytes()
        assert (len(contents), hashlib.sha256(contents).hexdigest()) == (file["bytes"], file["sha256"])
    assert manifest.vocabulary == {
        "file": "small.model",
        "sha256": hashlib.sha256(Path(small_vocabulary).read_bytes()).hexdigest(),
        "size": 150,
    }
    assert manifest.flags["random_seed"] == 12345
    assert manifest.flags["do_lower_case"] is True
    text = (tmp_path / "out" / "train.manifest.json").read_text()
    assert str(tmp_path) not in text
    instances = _instances(paths)
    figures = manifest.statistics
    assert figures["examples"] == len(instances)
    assert figures["tokens"] == sum(len(instance.input_ids) for instance in instances)
    assert figures["predictions"] == sum(len(instance.masked_lm_ids) for instance in instances)
    assert figures["label_1_share"] == pytest.approx(np.mean([i.label for i in instances]), abs=1e-6)


def test_every_sentence_is_in_every_pass(small_corpus, small_vocabulary, tmp_path):
    # Sequences so long that nothing is cut: each document of two sentences or more is one example a pass.
    settings = {"max_seq_length": 512, "max_predictions_per_seq": 20, "dupe_factor": 3, "short_seq_prob": 0.0}
    create_records(_job(small_corpus, small_vocabulary, tmp_path / "r", settings=settings))
    tokenizer = AlbertTokenizer(small_vocabulary)
    expected = Counter()
    for text in Path(small_corpus).read_text().split("\n\n"):
        sentences = [ids for ids in tokenizer.encode_batch(text.split("\n")) if ids]
        if len(sentences) > 1:
            expected[tuple(sorted(itertools.chain.from_iterable(sentences)))] += 3
    found = Counter()
    for instance in _instances([tmp_path / "r"]):
        ids = np.array(instance.input_ids)
        ids[instance.masked_lm_positions] = instance.masked_lm_ids
        found[tuple(sorted(ids[ids > 3]))] += 1
    assert found == Counter({tuple(p for p in ids if p > 3): count for ids, count in expected.items()})


def test_gzip_files_are_read_by_us_and_by_tensorflow(small_corpus, small_vocabulary, tmp_path):
    import tensorflow as tf

    plain = create_records(_job(small_corpus, small_vocabulary, tmp_path / "a"))
    packed = create_records(_job(small_corpus, small_vocabulary, tmp_path / "b", compression="gzip"))
    assert packed.compression == "gzip"
    assert packed.num_examples == plain.num_examples
    assert packed.files[0]["bytes"] < plain.files[0]["bytes"]
    assert _instances([tmp_path / "a"]) == _instances([tmp_path / "b"])
    dataset = tf.data.TFRecordDataset(str(tmp_path / "b"), compression_type="GZIP").batch(8)
    assert parse_batch(next(iter(dataset)), 32, 5)["input_ids"].shape == (8, 32)


@pytest.mark.parametrize("task", ["nsp", "none"])
def test_the_other_tasks_are_written(small_corpus, small_vocabulary, tmp_path, task):
    manifest = create_records(_job(small_corpus, small_vocabulary, tmp_path / "r", settings={"sentence_task": task}))
    assert manifest.sentence_task == task
    share = manifest.statistics["label_1_share"]
    assert share == 0 if task == "none" else 0.4 < share < 0.7
    segments = {max(instance.segment_ids) for instance in _instances([tmp_path / "r"])}
    assert segments == ({0} if task == "none" else {1})


def _bad_inputs(tmp_path):
    def write(name, contents):
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return path

    return {
        "missing": (tmp_path / "nothing.txt", "no file matches"),
        "empty": (write("empty.txt", ""), "holds no sentence"),
        "blank": (write("blank.txt", "\n \n\t\n"), "holds no sentence"),
        "one sentence": (write("one.txt", "bada.\n\nfalo.\n\nbada falo.\n"), "all 3 documents have one sentence"),
        "not utf-8": (write("latin.txt", b"bada\nfal\xe9o\n"), r"latin.txt: line 2 is not UTF-8"),
        "long line": (write("long.txt", "ba" * 5_000_000), "line 1 has 10000000 characters"),
        "cut archive": (write("cut.txt.xz", b"\xfd7zXZ\x00\x00\x04"), "cut.txt.xz"),
        "a folder": (tmp_path, "is a folder"),
    }


@pytest.mark.parametrize(
    "kind", ["missing", "empty", "blank", "one sentence", "not utf-8", "long line", "cut archive", "a folder"]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_bad_text_is_one_line_and_nothing_is_written(small_vocabulary, tmp_path, kind, workers):
    path, message = _bad_inputs(tmp_path)[kind]
    output = tmp_path / "out" / "train@2"
    with pytest.raises(InputError, match=message) as caught:
        create_records(_job(path, small_vocabulary, output, num_workers=workers))
    assert "\n" not in str(caught.value)
    assert not output.parent.exists()


def test_one_document_has_no_other_for_nsp(small_vocabulary, tmp_path):
    (tmp_path / "one.txt").write_text("bada falo.\nfalo bada.\nbada.\n")
    with pytest.raises(InputError, match="holds one document; --sentence_task=nsp"):
        create_records(_job(tmp_path / "one.txt", small_vocabulary, tmp_path / "r", settings={"sentence_task": "nsp"}))
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


@pytest.mark.parametrize("contents", [None, b"", b"no model at all", "half"])
def test_a_bad_vocabulary_is_one_line_and_nothing_is_written(small_corpus, small_vocabulary, tmp_path, contents):
    path = tmp_path / "bad.model"
    if contents is not None:
        whole = Path(small_vocabulary).read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if contents == "half" else contents)
    with pytest.raises(InputError, match=r"bad\.model"):
        create_records(_job(small_corpus, path, tmp_path / "out" / "r"))
    assert not (tmp_path / "out").exists()


def test_more_files_than_examples_are_refused(small_vocabulary, tmp_path):
    (tmp_path / "few.txt").write_text("bada falo.\nfalo bada.\n")
    with pytest.raises(InputError, match="2 examples cannot fill 64 files"):
        create_records(_job(tmp_path / "few.txt", small_vocabulary, tmp_path / "out" / "r@64"))
    assert not (tmp_path / "out").exists()


def test_output_that_cannot_be_written_leaves_nothing(small_corpus, small_vocabulary, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="file"):
        create_records(_job(small_corpus, small_vocabulary, tmp_path / "file" / "r"))
    with pytest.raises(InputError, match="is a folder; give a file name"):
        create_records(_job(small_corpus, small_vocabulary, tmp_path / "folder"))
    assert [*(tmp_path / "folder").iterdir()] == []


def test_another_set_of_the_same_name_is_not_mixed_with(small_corpus, small_vocabulary, tmp_path):
    create_records(_job(small_corpus, small_vocabulary, tmp_path / "train@2"))
    before = _checksums(tmp_path)
    with pytest.raises(InputError, match=r"belongs to other files \(train-00000-of-00002, 2 in all\)"):
        create_records(_job(small_corpus, small_vocabulary, tmp_path / "train@3"))
    assert _checksums(tmp_path) == before


def test_what_is_finished_is_not_made_again(small_corpus, small_vocabulary, tmp_path, monkeypatch):
    job = _job(small_corpus, small_vocabulary, tmp_path / "out" / "train@2")
    manifest = create_records(job)
    before = _checksums(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr("data_prep.job.work_units.UnitMaker.tokenize", None)
        # The state that a run leaves when it is killed while clearing up.
        (tmp_path / "out" / ".train.partial.77.tmp").mkdir()
        assert create_records(job) == manifest
    assert _checksums(tmp_path / "out") == before
    (tmp_path / "out" / "train-00001-of-00002").write_bytes(b"cut short")
    create_records(job)
    assert _checksums(tmp_path / "out") == before


def test_a_changed_flag_or_text_is_refused_unless_overwriting_is_asked_for(small_corpus, small_vocabulary, tmp_path):
    output = tmp_path / "out" / "train@2"
    create_records(_job(small_corpus, small_vocabulary, output))
    before = _checksums(tmp_path / "out")
    other = {"settings": {"dupe_factor": 1}}
    with pytest.raises(InputError, match=r"made with other flags \(dupe_factor 2, now 1\); give --overwrite"):
        create_records(_job(small_corpus, small_vocabulary, output, **other))
    text = Path(small_corpus).read_text()
    Path(small_corpus).write_text(text + "\n\nbada.\nfalo.\n")
    with pytest.raises(InputError, match=r"made with other input \(corpus\.txt\); give --overwrite"):
        create_records(_job(small_corpus, small_vocabulary, output))
    assert _checksums(tmp_path / "out") == before
    Path(small_corpus).write_text(text)
    create_records(_job(small_corpus, small_vocabulary, output, overwrite=True, **other))
    create_records(_job(small_corpus, small_vocabulary, tmp_path / "fresh" / "train@2", **other))
    assert _checksums(tmp_path / "out") == _checksums(tmp_path / "fresh") != before


def test_a_failed_run_leaves_the_older_set_whole(small_corpus, small_vocabulary, tmp_path):
    create_records(_job(small_corpus, small_vocabulary, tmp_path / "r"))
    before = _checksums(tmp_path)
    with pytest.raises(InputError):
        create_records(_job(tmp_path / "nothing.txt", small_vocabulary, tmp_path / "r"))
    assert _checksums(tmp_path) == before


def test_json_of_the_manifest_is_for_people(small_corpus, small_vocabulary, tmp_path):
    create_records(_job(small_corpus, small_vocabulary, tmp_path / "r"))
    fields = json.loads((tmp_path / "r.manifest.json").read_text())
    assert fields["input"] == [
        {
            "name": "corpus.txt",
            "bytes": Path(small_corpus).stat().st_size,
            "sha256": hashlib.sha256(Path(small_corpus).read_bytes()).hexdigest(),
        }
    ]


def test_files_that_no_manifest_lists_are_not_replaced(small_corpus, small_vocabulary, tmp_path):
    other = tmp_path / "out" / "notes.txt"
    other.parent.mkdir()
    other.write_text("kept")
    with pytest.raises(InputError, match=f"--output_file: {other} is there already; --overwrite replaces it"):
        create_records(_job(small_corpus, small_vocabulary, other))
    assert other.read_text() == "kept"
    assert [path.name for path in other.parent.iterdir()] == ["notes.txt"]
    create_records(_job(small_corpus, small_vocabulary, other, overwrite=True))
    assert (tmp_path / "out" / "notes.txt.manifest.json").exists()
