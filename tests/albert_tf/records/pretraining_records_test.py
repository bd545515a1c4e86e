"""The record contract: official records are read, ours equal tensorflow's, wrong ones are refused in one line."""

import subprocess
import sys

import numpy as np
import pytest

from albert_tf.records.example_messages import encode_example
from albert_tf.records.pretraining_records import (
    PretrainingInstance,
    check_records,
    from_example,
    parse_batch,
    record_lengths,
    to_example,
)
from albert_tf.records.record_files import frame, read_records
from albert_tf.runtime.errors import InputError

INSTANCE = PretrainingInstance(
    input_ids=[2, 4, 300, 3, 7, 20_000, 3],
    segment_ids=[0, 0, 0, 0, 1, 1, 1],
    token_boundary=[1, 1, 0, 1, 1, 1, 1],
    masked_lm_positions=[1],
    masked_lm_ids=[29_999],
    label=1,
)


def _write(path, *messages) -> str:
    path.write_bytes(b"".join(map(frame, messages)))
    return str(path)


def test_one_record_worked_out_by_hand():
    batch = parse_batch([to_example(INSTANCE, 9, 2)], 9, 2)
    assert {name: value.numpy().tolist() for name, value in batch.items()} == {
        "input_ids": [[2, 4, 300, 3, 7, 20_000, 3, 0, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 1, 0, 0]],
        "segment_ids": [[0, 0, 0, 0, 1, 1, 1, 0, 0]],
        "masked_lm_positions": [[1, 0]],
        "masked_lm_ids": [[29_999, 0]],
        "masked_lm_weights": [[1.0, 0.0]],
        "sentence_order_labels": [1],
    }
    assert {name: value.dtype.name for name, value in batch.items()} == {
        **dict.fromkeys(("input_ids", "input_mask", "segment_ids"), "int32"),
        **dict.fromkeys(("masked_lm_positions", "masked_lm_ids", "sentence_order_labels"), "int32"),
        "masked_lm_weights": "float32",
    }


def test_an_instance_comes_back_as_it_was():
    assert from_example(to_example(INSTANCE, 16, 4)) == INSTANCE


def test_an_instance_too_long_is_refused():
    with pytest.raises(ValueError, match="does not fit max_seq_length=6"):
        to_example(INSTANCE, 6, 4)


@pytest.mark.parametrize("length", [128, 512])
def test_official_records_are_read_and_written_back_the_same(shared, length):
    import tensorflow as tf

    path = str(shared / "reference" / f"official_records_s{length}.tfrecord")
    check_records([path], length, 20, 30_000)
    assert record_lengths(path) == (length, 20)
    messages = [message for _, message in read_records(path)]
    batch = parse_batch(messages, length, 20)
    assert batch["input_ids"].shape == (len(messages), length)
    for row, message in enumerate(messages):
        ours = to_example(from_example(message), length, 20)
        assert ours == tf.train.Example.FromString(message).SerializeToString(deterministic=True)
        instance = from_example(message)
        assert np.trim_zeros(batch["input_ids"][row].numpy(), "b").tolist() == instance.input_ids
        assert batch["sentence_order_labels"][row] == instance.label


def test_more_features_do_no_harm(tmp_path):
    import tensorflow as tf

    message = tf.train.Example.FromString(to_example(INSTANCE, 9, 2))
    message.features.feature["note"].bytes_list.value.append(b"hello")
    path = _write(tmp_path / "more", message.SerializeToString())
    check_records([path], 9, 2, 30_000)
    assert parse_batch([message.SerializeToString()], 9, 2)["input_ids"].shape == (1, 9)


def _without(name) -> bytes:
    import tensorflow as tf

    message = tf.train.Example.FromString(to_example(INSTANCE, 9, 2))
    del message.features.feature[name]
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (frame(to_example(INSTANCE, 16, 2)), "records hold 16 tokens, --max_seq_length=9; set --max_seq_length=16"),
        (frame(to_example(INSTANCE, 9, 3)), "hold 3 predictions, --max_predictions_per_seq=2; set --max_predictions"),
        (b"", "holds no record"),
        (b"some text that is no record at all", "not a TFRecord file"),
        (frame(to_example(INSTANCE, 9, 2))[:-9], "offset 0: the file ends inside a record"),
        (frame(b"no message"), "not a tf.train.Example"),
        (frame(encode_example({"x": [1]})), "lacks input_ids, input_mask, segment_ids, masked_lm_positions"),
    ],
)
def test_files_that_do_not_fit_are_one_line(tmp_path, contents, message):
    path = tmp_path / "records"
    path.write_bytes(contents)
    with pytest.raises(InputError, match=message) as caught:
        check_records([str(path)], 9, 2, 30_000)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ids_beyond_the_vocabulary_are_refused(tmp_path):
    path = _write(tmp_path / "records", to_example(INSTANCE, 9, 2))
    with pytest.raises(InputError, match="hold the id 29999, the model has vocab_size=29999"):
        check_records([path], 9, 2, 29_999)


def test_a_missing_feature_is_named(tmp_path):
    path = _write(tmp_path / "records", _without("masked_lm_weights"))
    with pytest.raises(InputError, match="lacks masked_lm_weights; it holds input_ids, "):
        check_records([path], 9, 2, 30_000)


def test_the_contract_needs_no_tensorflow():
    program = (
        "import sys, albert_tf.records.pretraining_records, data_prep.job.run, data_prep.inspection.report; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_features_of_another_length_or_kind_are_named(tmp_path):
    numbers = {name: [1] * 9 for name in ("input_ids", "input_mask", "segment_ids")}
    predictions = {"masked_lm_positions": [1], "masked_lm_ids": [1], "masked_lm_weights": np.ones(1, np.float32)}
    features = {**numbers, **predictions, "next_sentence_labels": [1]}
    for name, wrong in (("input_mask", [1] * 8), ("input_ids", np.ones(9, np.float32)), ("masked_lm_weights", [1])):
        path = _write(tmp_path / "records", encode_example({**features, name: wrong}))
        with pytest.raises(InputError, match=f"{name} is not "):
            check_records([path], 9, 1, 30_000)
