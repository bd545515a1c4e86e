"""Records without masks: the bytes are TensorFlow's, what is read back is what was written, wrong ones are refused."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.pretraining_dataset import explain_record_errors, make_dataset, open_records
from albert_tf.records.example_messages import encode_example
from albert_tf.records.instance_batch import to_unmasked_examples
from albert_tf.records.pretraining_records import check_records, from_example, record_lengths
from albert_tf.records.record_files import frame
from albert_tf.records.unmasked_records import parse_unmasked_batch
from albert_tf.runtime.errors import InputError

S, P, V = 16, 4, 60


def test_bytes_are_those_of_tensorflow_and_come_back_as_they_were(random_batch):
    # Of up to 300 tokens: lengths and positions of one byte and of two.
    batch = random_batch(np.random.default_rng(0), 60, 300)
    examples = to_unmasked_examples(batch, 300)
    parsed = parse_unmasked_batch(examples, 300)
    for number, ours in enumerate(examples):
        instance = batch.instance(number)
        assert from_example(ours) == instance
        message = tf.train.Example()
        feature = message.features.feature
        feature["input_ids"].int64_list.value.extend(instance.input_ids)
        feature["first_segment_length"].int64_list.value.append(int(batch.first_lengths[number]))
        feature["next_sentence_labels"].int64_list.value.append(instance.label)
        bits = np.packbits(instance.token_boundary, bitorder="little").tobytes()
        feature["token_boundary_bits"].bytes_list.value.append(bits)
        assert ours == message.SerializeToString(deterministic=True)
        length = len(instance.input_ids)
        assert (parsed.lengths[number], parsed.labels[number]) == (length, instance.label)
        assert parsed.first_lengths[number] == batch.first_lengths[number]
        assert parsed.input_ids[number].numpy().tolist() == [*instance.input_ids, *[0] * (300 - length)]
        assert parsed.boundary[number].numpy().tolist() == [
            *map(bool, instance.token_boundary),
            *[False] * (300 - length),
        ]


def test_an_example_too_long_is_refused(random_batch):
    with pytest.raises(ValueError, match="does not fit max_seq_length=8"):
        to_unmasked_examples(random_batch(np.random.default_rng(0), 20), 8)


def test_lengths_come_from_the_manifest(write_unmasked_records):
    paths = write_unmasked_records("train", 5, num_files=2)
    assert record_lengths(paths[1]) == (S, P)
    records = open_records(",".join(paths), S, P, V)
    assert (records.num_examples, records.manifest.masking) == (10, "dynamic")
    for lengths, flag in (((S + 1, P), "max_seq_length=16"), ((S, P + 1), "max_predictions_per_seq=4")):
        with pytest.raises(InputError, match=f"set --{flag}"):
            check_records(paths, *lengths, V)
    with pytest.raises(InputError, match="the model has vocab_size=40"):
        check_records(paths, S, P, 40)


def test_without_its_manifest_a_set_is_refused(write_unmasked_records, tmp_path):
    (path,) = write_unmasked_records("train", 5)
    (tmp_path / "train.manifest.json").unlink()
    for refused in (lambda: record_lengths(path), lambda: check_records([path], S, P, V)):
        with pytest.raises(InputError, match="records without masks need the manifest") as error:
            refused()
        assert "\n" not in str(error.value)


def test_a_set_is_of_one_kind(write_unmasked_records, write_records, tmp_path):
    paths = write_unmasked_records("train", 5, num_files=2)
    message = (tmp_path / "train-0").read_bytes()
    (tmp_path / "train-0").write_bytes(Path(write_records("masked", 5)).read_bytes())
    with pytest.raises(InputError, match="train-0: holds masks, though its manifest says it does not"):
        check_records(paths, S, P, V)
    (tmp_path / "train-0").write_bytes(message)
    other = write_unmasked_records("other", 5, masking="static", masking_parameters={})
    with pytest.raises(InputError, match="has masking="):
        open_records(",".join(paths + other), S, P, V)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"masking": "later"}, "masking is 'later', this program knows static and dynamic"),
        ({"masking_parameters": {"ngram": 3}}, "missing from masking_parameters, or unknown: cls_id"),
    ],
)
def test_a_manifest_that_does_not_say_how_is_refused(write_unmasked_records, changes, message):
    (path,) = write_unmasked_records("train", 5, **changes)
    with pytest.raises(InputError, match=message):
        open_records(path, S, P, V)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("first_segment_length", None), ("input_ids", np.ones(9, np.float32)), ("token_boundary_bits", [1])],
)
def test_wrong_features_are_named(tmp_path, name, wrong):
    features = {"input_ids": [2, 7, 3], "first_segment_length": [3], "next_sentence_labels": [0], name: wrong}
    features.setdefault("token_boundary_bits", [1])
    message = encode_example({key: value for key, value in features.items() if value is not None})
    with pytest.raises(InputError, match=f"{name} (holds no integers|is not a bit)"):
        from_example(message)


def test_a_record_longer_than_its_manifest_says_is_one_line(write_unmasked_records, random_batch, tmp_path):
    (path,) = write_unmasked_records("train", 5)
    long = to_unmasked_examples(random_batch(np.random.default_rng(1), 30, 40), 40)
    with open(path, "ab") as file:
        file.write(b"".join(map(frame, long)))
    with pytest.raises(InputError, match="more than the 16 tokens") as error, explain_record_errors([path]):
        list(make_dataset([path], 8, S, P, num_examples=35).take(8))
    assert "\n" not in str(error.value)
