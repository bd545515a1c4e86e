"""The whole of data creation on a small corpus: the same bytes, the manifest, the figures."""

import dataclasses
import gzip
import hashlib
import itertools
import json
import lzma
import os
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
    parse_batch,
    read_manifest,
)
from albert_tf.records.record_files import read_records
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob
from data_prep.job.shards import OutputFiles
from data_prep.job.work_units import UnitMaker
from data_prep.text.documents import PART_CHARACTERS, read_parts
from data_prep.text.text_reading import TextReading


def test_any_number_of_workers_writes_the_same_bytes(small_corpus, small_vocabulary, tmp_path, make_job, checksums):
    written = []
    for workers in (1, 2, 5):
        folder = tmp_path / str(workers)
        create_records(make_job(small_corpus, small_vocabulary, folder / "train@4", num_workers=workers))
        written.append(checksums(folder))
    assert len(written[0]) == 5
    assert written[0] == written[1] == written[2]


def test_array_tasks_share_the_work_and_write_the_same_bytes(
    small_corpus, small_vocabulary, tmp_path, make_job, checksums
):
    expected = tmp_path / "one" / "train@3"
    create_records(make_job(small_corpus, small_vocabulary, expected))
    for order in ((0, 1), (1, 0), (2, 1, 0)):
        # A task that comes late finds its share done: the others do not wait for it.
        output = tmp_path / "".join(map(str, order)) / "train@3"
        tasks = {"num_tasks": len(order)}
        made = [create_records(make_job(small_corpus, small_vocabulary, output, task_index=i, **tasks)) for i in order]
        assert checksums(output.parent) == checksums(expected.parent)
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
    create_records(make_job(small_corpus, small_vocabulary, alone, part_characters=PART_CHARACTERS))
    assert checksums(output.parent) == checksums(alone.parent)


def test_a_dry_run_writes_nothing_and_comes_near(small_corpus, small_vocabulary, tmp_path, caplog, make_job):
    caplog.set_level("INFO", logger="absl")
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "train@2")
    assert create_records(dataclasses.replace(job, dry_run=True)) is None
    assert not (tmp_path / "out").exists()
    (estimated,) = (message for message in caplog.messages if "examples" in message)
    examples = int(re.search(r"about ([\d,]+) examples", estimated)[1].replace(",", ""))
    manifest = create_records(job)
    assert examples == pytest.approx(manifest.num_examples, rel=0.1)
    megabytes = float(re.search(r"([\d.]+) MB before", estimated)[1])
    assert megabytes == pytest.approx(sum(file["bytes"] for file in manifest.files) / 1e6, abs=0.06)


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".TXT.XZ", ".parquet"])
def test_an_estimate_minds_letters_of_several_bytes_and_compression(
    small_corpus, small_vocabulary, tmp_path, caplog, make_job, ending
):
    caplog.set_level("INFO", logger="absl")
    documents = 20 * Path(small_corpus).read_text().translate({ord("a"): "中", ord("o"): "ж"}).split("\n\n")
    path = tmp_path / f"long{ending}"
    reading = TextReading()
    if ending == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"text": documents}), path)
        reading = TextReading(split_sentences=True)
    else:
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(ending.lower()[4:], bytes)
        path.write_bytes(pack("\n\n".join(documents).encode()))
    job = make_job(path, small_vocabulary, tmp_path / "out" / "train", reading=reading, part_characters=PART_CHARACTERS)
    create_records(dataclasses.replace(job, dry_run=True))
    (estimated,) = (message for message in caplog.messages if "examples" in message)
    examples = int(re.search(r"about ([\d,]+) examples", estimated)[1].replace(",", ""))
    assert examples == pytest.approx(create_records(job).num_examples, rel=0.1)


def test_memory_for_shuffling_is_bounded_and_loses_nothing(
    small_corpus, small_vocabulary, tmp_path, monkeypatch, make_job
):
    whole = create_records(make_job(small_corpus, small_vocabulary, tmp_path / "one" / "r@2"))
    monkeypatch.setattr(RecordJob, "buckets_of_a_file", lambda *_: 7)
    cut = create_records(make_job(small_corpus, small_vocabulary, tmp_path / "seven" / "r@2"))
    assert cut.statistics == whole.statistics
    paths = [[tmp_path / folder / file["name"] for file in whole.files] for folder in ("one", "seven")]
    found = [Counter(record for path in group for _, record in read_records(str(path))) for group in paths]
    assert found[0] == found[1]


def test_seed_and_quirks_change_the_bytes_and_the_place_does_not(
    small_corpus, small_vocabulary, tmp_path, make_job, checksums
):
    for name, settings in (("a", {}), ("b", {}), ("seed", {"random_seed": 1}), ("quirks", {"reference_quirks": True})):
        create_records(make_job(small_corpus, small_vocabulary, tmp_path / name / "r", settings=settings))
    sums = {name: checksums(tmp_path / name) for name in ("a", "b", "seed", "quirks")}
    assert sums["a"] == sums["b"]
    assert len({entry["r"] for entry in sums.values()}) == 3


def test_the_manifest_says_what_the_files_hold(small_corpus, small_vocabulary, tmp_path, make_job, read_instances):
    manifest = create_records(make_job(small_corpus, small_vocabulary, tmp_path / "out" / "train@3"))
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
    instances = read_instances(paths)
    figures = manifest.statistics
    assert figures["examples"] == len(instances)
    assert figures["tokens"] == sum(len(instance.input_ids) for instance in instances)
    assert figures["predictions"] == sum(len(instance.masked_lm_ids) for instance in instances)
    assert figures["label_1_share"] == pytest.approx(np.mean([i.label for i in instances]), abs=1e-6)


def test_every_sentence_is_in_every_pass(small_corpus, small_vocabulary, tmp_path, make_job, read_instances):
    # Sequences so long that nothing is cut: each document of two sentences or more is one example a pass.
    settings = {"max_seq_length": 512, "max_predictions_per_seq": 20, "dupe_factor": 3, "short_seq_prob": 0.0}
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "r", settings=settings))
    tokenizer = AlbertTokenizer(small_vocabulary)
    expected = Counter()
    for text in Path(small_corpus).read_text().split("\n\n"):
        sentences = [ids for ids in tokenizer.encode_batch(text.split("\n")) if ids]
        if len(sentences) > 1:
            expected[tuple(sorted(itertools.chain.from_iterable(sentences)))] += 3
    found = Counter()
    for instance in read_instances([tmp_path / "r"]):
        ids = np.array(instance.input_ids)
        ids[instance.masked_lm_positions] = instance.masked_lm_ids
        found[tuple(sorted(ids[ids > 3]))] += 1
    assert found == Counter({tuple(p for p in ids if p > 3): count for ids, count in expected.items()})


def test_gzip_files_are_read_by_us_and_by_tensorflow(
    small_corpus, small_vocabulary, tmp_path, make_job, read_instances
):
    import tensorflow as tf

    plain = create_records(make_job(small_corpus, small_vocabulary, tmp_path / "a"))
    packed = create_records(make_job(small_corpus, small_vocabulary, tmp_path / "b", compression="gzip"))
    assert packed.compression == "gzip"
    assert packed.num_examples == plain.num_examples
    assert packed.files[0]["bytes"] < plain.files[0]["bytes"]
    assert read_instances([tmp_path / "a"]) == read_instances([tmp_path / "b"])
    dataset = tf.data.TFRecordDataset(str(tmp_path / "b"), compression_type="GZIP").batch(8)
    assert parse_batch(next(iter(dataset)), 32, 5)["input_ids"].shape == (8, 32)


@pytest.mark.parametrize("task", ["nsp", "none"])
def test_the_other_tasks_are_written(small_corpus, small_vocabulary, tmp_path, task, make_job, read_instances):
    manifest = create_records(
        make_job(small_corpus, small_vocabulary, tmp_path / "r", settings={"sentence_task": task})
    )
    assert manifest.sentence_task == task
    share = manifest.statistics["label_1_share"]
    assert share == 0 if task == "none" else 0.4 < share < 0.7
    segments = {max(instance.segment_ids) for instance in read_instances([tmp_path / "r"])}
    assert segments == ({0} if task == "none" else {1})


def test_json_of_the_manifest_is_for_people(small_corpus, small_vocabulary, tmp_path, make_job):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "r"))
    fields = json.loads((tmp_path / "r.manifest.json").read_text())
    assert fields["input"] == [
        {
            "name": "corpus.txt",
            "bytes": Path(small_corpus).stat().st_size,
            "sha256": hashlib.sha256(Path(small_corpus).read_bytes()).hexdigest(),
        }
    ]


def _end_before(stage, job, monkeypatch):
    """Runs a job that ends as by Ctrl-C when a stage begins."""

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(*stage, interrupt)
        create_records(job)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("damage", ["a bit", "cut short", "gone", "note"])
def test_damaged_ids_are_made_again_by_the_run_that_goes_on(
    small_corpus, small_vocabulary, tmp_path, monkeypatch, caplog, make_job, checksums, damage, workers
):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "whole" / "r@2"))
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "r@2")
    _end_before((UnitMaker, "draw"), job, monkeypatch)
    folder = tmp_path / "out" / ".r.partial"
    damaged, kept = folder / "tokens-000001", folder / "tokens-000000"
    if damage == "note":
        damaged = folder / "tokens.json"
        damaged.write_bytes(b"")
    elif damage == "gone":
        damaged.unlink()
    else:
        contents = bytearray(damaged.read_bytes())
        contents[100] ^= 1
        damaged.write_bytes(contents if damage == "a bit" else contents[: len(contents) // 2])
    time_made = kept.stat().st_mtime_ns
    _end_before((UnitMaker, "gather"), job, monkeypatch)
    assert kept.stat().st_mtime_ns == time_made
    assert ("tokens-000001 is not as it was made" in caplog.text) == (damage != "note")
    create_records(dataclasses.replace(job, num_workers=workers))
    assert checksums(tmp_path / "out") == checksums(tmp_path / "whole")


def test_a_file_whose_note_is_damaged_is_made_again(
    small_corpus, small_vocabulary, tmp_path, monkeypatch, make_job, checksums
):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "whole" / "r@2"))
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "r@2")
    _end_before((OutputFiles, "publish"), job, monkeypatch)
    (tmp_path / "out" / ".r.partial" / "shard-00001.json").write_bytes(b"")
    create_records(job)
    assert checksums(tmp_path / "out") == checksums(tmp_path / "whole")


def test_ids_are_read_once_by_a_run_that_goes_on(small_corpus, small_vocabulary, tmp_path, monkeypatch, make_job):
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "r@2")
    _end_before((UnitMaker, "draw"), job, monkeypatch)
    found = UnitMaker.find_tokens
    read = []
    monkeypatch.setattr(UnitMaker, "find_tokens", lambda maker, part: read.append(part) or found(maker, part))
    monkeypatch.setattr(UnitMaker, "tokenize", None)
    create_records(job)
    assert read == sorted(set(read)) != []


@pytest.mark.parametrize("change", ["grown", "touched"])
def test_text_that_changes_while_it_is_read_is_refused_and_leaves_nothing(
    small_corpus, small_vocabulary, tmp_path, monkeypatch, make_job, checksums, change
):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "whole" / "r@2"))
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "r@2")
    text = Path(small_corpus).read_text()

    def read_after_a_change(*arguments):
        Path(small_corpus).write_text(text + "\n\nbada.\nfalo.\n" * (change == "grown"))
        os.utime(small_corpus, (1, 1))
        return read_parts(*arguments)

    monkeypatch.setattr("data_prep.job.run.read_parts", read_after_a_change)
    if change == "grown":
        with pytest.raises(InputError, match=r"--input_file: .*corpus\.txt changed while it was read; try again when"):
            create_records(job)
        assert not (tmp_path / "out").exists()
    else:
        create_records(job)
        assert checksums(tmp_path / "out") == checksums(tmp_path / "whole")
