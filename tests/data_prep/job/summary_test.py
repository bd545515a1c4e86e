"""Messages about text that was cut off: the share of what was drawn, and a question where lines are no sentences."""

import logging
from pathlib import Path

import pytest

from data_prep.examples.instances import InstanceSettings
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob
from data_prep.job.summary import cut_off_share


def _create(text, vocabulary, tmp_path, task, length=16):
    (tmp_path / "text.txt").write_text(text)
    settings = InstanceSettings(max_seq_length=length, max_predictions_per_seq=5, dupe_factor=3, sentence_task=task)
    job = RecordJob(str(tmp_path / "text.txt"), str(tmp_path / "out" / task), vocabulary, settings, num_workers=1)
    return create_records(job)


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_sentences_that_are_too_long_for_the_records_are_told_and_not_doubted(
    small_corpus, small_vocabulary, tmp_path, caplog, task
):
    caplog.set_level(logging.INFO)
    manifest = _create(Path(small_corpus).read_text(), small_vocabulary, tmp_path, task)
    assert 0.25 < cut_off_share(manifest) < 1
    (record,) = [record for record in caplog.records if "was cut off" in record.getMessage()]
    assert record.levelno == logging.INFO
    assert "one sentence a line" not in caplog.text
    figures = manifest.statistics
    assert f"a sentence has {figures['pieces'] / figures['sentences']:.0f} pieces on average" in record.getMessage()


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_paragraphs_in_the_place_of_sentences_are_asked_about(small_corpus, small_vocabulary, tmp_path, caplog, task):
    blocks = Path(small_corpus).read_text().split("\n\n")
    lines = [" ".join(block.split("\n") * 3) for block in blocks]
    documents = ["\n".join(lines[first : first + 4]) for first in range(0, len(lines), 4)]
    manifest = _create("\n\n".join(documents), small_vocabulary, tmp_path, task)
    # More than the corpus itself was cut off, in three passes, but no more than was drawn.
    assert 0.5 < cut_off_share(manifest) < 1
    (record,) = [record for record in caplog.records if "was cut off" in record.getMessage()]
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith("is there one sentence a line?")
