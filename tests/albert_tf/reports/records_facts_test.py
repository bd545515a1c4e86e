"""Records of a run on its page: the manifest's figures, lengths of a sample, and records that are others by now."""

import collections
import os

import run_folders

from albert_tf.records.pretraining_records import from_example
from albert_tf.records.record_files import read_records


def test_records_are_described_by_their_manifest_and_a_sample(pretrained, show, write_records, write_manifest):
    path = write_records("train", 50)
    statistics = {"documents": 1234, "mean_length": 12.34567, "padding_share": 0.25, "label_1_share": 0.5}
    write_manifest(path, "0" * 64, statistics={**statistics, "mask_rate": 0.1496, "unknown_share": 0.0001})
    flags = pretrained / "run_pretraining.flags"
    flags.write_text(flags.read_text().replace("gone-*", path))
    read = [{"name": "train", "bytes": os.path.getsize(path)}]
    run_folders.add_checkpoint(pretrained, 1100, input_files=read)
    page = show(pretrained)
    rows = ("records", "documents", "mean length, tokens", "padding", "masked", "unknown pieces")
    assert [page.row(row, 1)[0] for row in rows] == ["50 in 1 file", "1,234", "12.35", "25.00 %", "14.96 %", "0.01 %"]
    lengths = collections.Counter(len(from_example(message).input_ids) for _, message in read_records(path))
    bars = [text for text in page.texts if text in {f"{length}: {count}" for length, count in lengths.items()}]
    assert len(bars) == len(lengths)
    # A glob matches the manifest too.
    flags.write_text(flags.read_text().replace(path, f"{path}*"))
    assert show(pretrained).row("records", 1) == ["50 in 1 file"]
    # The run read files of other names, or of other contents under the same.
    for step, other in ((1200, {"name": "other"}), (1250, {"bytes": read[0]["bytes"] + 1})):
        run_folders.add_checkpoint(pretrained, step, input_files=[read[0] | other])
        page = show(pretrained)
        assert "documents" not in page.texts
        assert any(text.endswith("other files than the run read; they are not described.") for text in page.texts)
    # A damaged one is told of.
    run_folders.add_checkpoint(pretrained, 1300, input_files=read)
    with open(path, "r+b") as file:
        file.seek(20)
        file.write(b"\xff" * 8)
    assert any(text.startswith("The records are not described: ") and path in text for text in show(pretrained).texts)
