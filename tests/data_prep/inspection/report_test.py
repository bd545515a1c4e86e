"""Records as a person reads them: one line worked out by hand, official records, damage, a different vocabulary."""

import json
import re

import pytest

from albert_tf.records.pretraining_records import PretrainingInstance, to_example
from albert_tf.records.record_files import frame
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.instances import InstanceSettings
from data_prep.inspection.plot import draw
from data_prep.inspection.report import describe_record, inspect
from data_prep.inspection.statistics import RecordStatistics
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob


class _Vocabulary:
    """Pieces that a reader can follow."""

    pieces = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁the", "▁house", "s", "▁tree", ".")
    cls_id, sep_id, mask_id = 2, 3, 4

    def id_to_piece(self, piece_id):
        return self.pieces[piece_id]

    def shown_pieces(self, ids):
        return [self.pieces[piece_id] for piece_id in ids]


# the house s . | the tree s: "house" masked, its "s" replaced by ".", "tree" left alone.
INSTANCE = PretrainingInstance([2, 5, 4, 9, 9, 3, 5, 8, 7, 3], [0] * 6 + [1] * 4, [1] * 10, [2, 3, 7], [6, 7, 8], 1)


def test_a_record_in_words():
    assert describe_record(INSTANCE, _Vocabulary(), "sop").splitlines() == [
        "  10 tokens, 3 predictions, label 1: swapped",
        "  A  [CLS]  the [MASK:house][.:s]. [SEP]",
        "  B  the [tree:tree]s [SEP]",
    ]
    assert "label 1: second segment of another document" in describe_record(INSTANCE, _Vocabulary(), "nsp")
    assert "swapped, or second segment of another document" in describe_record(INSTANCE, _Vocabulary())


def test_figures_worked_out_by_hand():
    statistics = RecordStatistics(mask_id=4, unk_id=1)
    statistics.add(INSTANCE)
    summary = statistics.summary(max_seq_length=16)
    assert summary["mean_length"] == 10
    assert summary["padding_share"] == 6 / 16
    assert summary["mask_rate"] == 0.3
    shares = ("shown_as_mask_share", "shown_unchanged_share", "shown_as_random_piece_share")
    assert [summary[name] for name in shares] == [pytest.approx(1 / 3, abs=1e-6)] * 3
    # Positions 2 and 3 are one run of two words, position 7 a run of one.
    assert summary["window_words_shares"] == [0.5, 0.5]
    assert summary["label_1_share"] == 1
    assert summary["distinct_pieces"] == 7


def test_the_whole_set_is_counted(small_corpus, small_vocabulary, tmp_path):
    settings = InstanceSettings(max_seq_length=32, dupe_factor=1)
    manifest = create_records(RecordJob(small_corpus, str(tmp_path / "r@2"), small_vocabulary, settings, num_workers=1))
    paths = [str(tmp_path / file["name"]) for file in manifest.files]
    text = inspect(paths, AlbertTokenizer(small_vocabulary), num_examples=3).text
    assert text.count("label ") == 4
    assert f"{paths[0]}: offset 0" in text
    assert f" {manifest.num_examples}\n" in text
    assert f"{100 * manifest.statistics['mask_rate']:.2f} %" in text


@pytest.mark.parametrize("length", [128, 512])
def test_official_records_are_shown(shared, length):
    reference = shared / "reference"
    tokenizer = AlbertTokenizer(str(reference / "official_records.spm.model"))
    text = inspect([str(reference / f"official_records_s{length}.tfrecord")], tokenizer, num_examples=2).text
    assert f"max_seq_length {length}, max_predictions_per_seq 20" in text
    assert "[MASK:" in text


def test_damage_is_told_with_file_and_offset(small_vocabulary, tmp_path):
    record = bytearray(2 * frame(to_example(INSTANCE, 16, 4)))
    record[-20] ^= 1
    path = tmp_path / "records"
    path.write_bytes(record)
    with pytest.raises(InputError, match=rf"{path}: offset {len(record) // 2}: a record is corrupt"):
        inspect([str(path)], AlbertTokenizer(small_vocabulary), 1)


def test_another_vocabulary_is_refused(small_corpus, small_vocabulary, shared, tmp_path):
    create_records(
        RecordJob(small_corpus, str(tmp_path / "r"), small_vocabulary, InstanceSettings(dupe_factor=1), num_workers=1)
    )
    other = AlbertTokenizer(str(shared / "reference" / "official_records.spm.model"))
    with pytest.raises(InputError, match=r"made with another vocabulary \(small\.model"):
        inspect([str(tmp_path / "r")], other, 1)


def test_ids_beyond_the_vocabulary_are_refused(small_vocabulary, tmp_path):
    path = tmp_path / "records"
    path.write_bytes(frame(to_example(PretrainingInstance([2, 900, 3], [0] * 3, [1] * 3, [], [], 0), 8, 2)))
    with pytest.raises(InputError, match="offset 0: the record holds the id 900"):
        inspect([str(path)], AlbertTokenizer(small_vocabulary), 1)


@pytest.mark.parametrize("lengths", [((16, 4), (12, 4)), ((12, 4), (16, 4)), ((16, 4), (16, 5))])
def test_files_of_other_lengths_are_refused(small_vocabulary, tmp_path, lengths):
    paths = [str(tmp_path / f"records-{number}") for number in range(len(lengths))]
    for path, (length, predictions) in zip(paths, lengths, strict=True):
        with open(path, "wb") as file:
            file.write(frame(to_example(INSTANCE, length, predictions)))
    with pytest.raises(InputError, match=f"records-1: records hold {lengths[1][0]} tokens and .* look at them apart"):
        inspect(paths, AlbertTokenizer(small_vocabulary), 0)


def test_colours_tell_masked_left_alone_and_replaced_and_take_nothing_away():
    painted = describe_record(INSTANCE, _Vocabulary(), "sop", color=True)
    for code, text in (("33", "[MASK:house]"), ("32", "[tree:tree]"), ("31", "[.:s]"), ("2", "[SEP]")):
        assert f"\x1b[{code}m{text}\x1b[0m" in painted
    assert re.sub("\x1b\\[[0-9]*m", "", painted) == describe_record(INSTANCE, _Vocabulary(), "sop")


def test_repeats_and_pieces_never_seen_are_counted(small_vocabulary, tmp_path):
    def instance(shown):
        return PretrainingInstance([2, 9, shown, 3], [0] * 4, [1] * 4, [2], [8], 0)

    path = tmp_path / "records"
    path.write_bytes(b"".join(frame(to_example(instance(shown), 8, 2)) for shown in (4, 4, 7, 4)))
    figures = inspect([str(path)], AlbertTokenizer(small_vocabulary), 0).figures
    assert (figures["repeated_records"], figures["repeated_texts"]) == (2, 3)
    assert figures["pieces_never_seen"] == 150 - 4
    assert figures["predictions_at"] == [0, 0, 4, 0, 0, 0, 0, 0]
    assert figures["lengths"] == [[4, 4]]
    assert figures["labels"] == [4]


def test_figures_are_json_and_a_page(small_corpus, small_vocabulary, tmp_path):
    pytest.importorskip("matplotlib")
    settings = InstanceSettings(max_seq_length=32, dupe_factor=1)
    create_records(RecordJob(small_corpus, str(tmp_path / "r"), small_vocabulary, settings, num_workers=1))
    figures = inspect([str(tmp_path / "r")], AlbertTokenizer(small_vocabulary), 0).figures
    assert json.loads(json.dumps(figures)) == figures
    draw(figures, str(tmp_path / "page.png"))
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
