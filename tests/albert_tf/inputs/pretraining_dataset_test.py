"""The training stream: every record once an epoch, the same from any position, and what bad records say."""

import dataclasses
import gzip
import os

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs import pretraining_dataset
from albert_tf.inputs.pretraining_dataset import (
    explain_record_errors,
    make_dataset,
    make_evaluation_dataset,
    open_records,
)
from albert_tf.pretraining.constant_answers import constant_answers
from albert_tf.records.names import EXAMPLE_WEIGHTS, LABEL
from albert_tf.runtime.errors import InputError

S, P, V = 16, 4, 60


def _take(paths, count, **kwargs):
    return list(make_dataset(paths, 4, S, P, **kwargs).take(count).as_numpy_iterator())


def _keys(batches):
    return [row.tobytes() for batch in batches for row in batch["input_ids"]]


def test_an_epoch_holds_every_record_once(write_records):
    paths = [write_records(f"part-{part}", 6, seed=part) for part in range(4)]
    everything = set(_keys(_take(paths, 6)))
    assert len(everything) == 24
    two_epochs = _keys(_take(paths, 12, seed=5))
    assert set(two_epochs[:24]) == set(two_epochs[24:]) == everything
    assert two_epochs[:24] != two_epochs[24:]


def test_files_without_a_record_are_one_line(tmp_path):
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    with pytest.raises(InputError, match="empty.tfrecord: no record in 1 file"):
        make_dataset(str(tmp_path / "empty.tfrecord"), 4, S, P)


def test_a_stream_has_no_end_and_a_part_of_it_as_many_batches_as_were_taken(write_records):
    stream = make_dataset([write_records("part", 7)], 4, S, P)
    assert stream.cardinality() == tf.data.INFINITE_CARDINALITY
    assert stream.take(3).cardinality() == 3


@pytest.mark.parametrize("start", [0, 4, 12, 20, 24, 44, 52])
def test_a_stream_taken_up_again_goes_on_where_it_was(write_records, start):
    # 22 records and batches of 4: batches span the epochs' borders.
    paths = [write_records(f"part-{part}", 11, seed=part) for part in range(2)]
    whole = _take(paths, 18, seed=7)
    rest = _take(paths, 18 - start // 4, seed=7, start_example=start)
    for expected, found in zip(whole[start // 4 :], rest, strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(value, found[name])


def test_compressed_files_give_the_same_stream(write_records):
    paths = [write_records(f"part-{part}", 11, seed=part) for part in range(2)]
    whole = _take(paths, 10, seed=7)
    # One of the two, so that a set may hold both kinds.
    with open(paths[1], "rb") as file:
        packed = gzip.compress(file.read())
    with open(paths[1], "wb") as file:
        file.write(packed)
    for expected, found in zip(whole, _take(paths, 10, seed=7), strict=True):
        np.testing.assert_array_equal(expected["input_ids"], found["input_ids"])
    rest = _take(paths, 3, seed=7, start_example=28)
    for expected, found in zip(whole[7:], rest, strict=True):
        np.testing.assert_array_equal(expected["input_ids"], found["input_ids"])


@pytest.mark.parametrize(("hosts", "replicas"), [(1, 1), (1, 4), (2, 2), (2, 4), (4, 4)])
def test_hosts_share_each_batch_without_overlap_in_the_order_of_one(write_records, hosts, replicas):
    paths = [write_records(f"part-{part}", 11, seed=part) for part in range(2)]
    whole = _take(paths, 6, seed=7, start_example=4)
    shares = []
    for host in range(hosts):
        context = tf.distribute.InputContext(hosts, host, replicas)
        shares.append(_take(paths, 6 * replicas // hosts, seed=7, start_example=4, context=context))
    local = replicas // hosts
    for step, batch in enumerate(whole):
        parts = [part for share in shares for part in share[step * local : (step + 1) * local]]
        for name, value in batch.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), value)


def test_hosts_share_an_evaluation(write_records):
    records = open_records(write_records("part", 10), S, P, V)
    whole = list(make_evaluation_dataset(records, 4).as_numpy_iterator())
    contexts = [tf.distribute.InputContext(2, host, 2) for host in range(2)]
    first, second = (
        list(make_evaluation_dataset(records, 4, context=context).as_numpy_iterator()) for context in contexts
    )
    assert len(first) == len(second) == len(whole)
    for expected, *parts in zip(whole, first, second, strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), value)


def test_seeds_change_the_order(write_records):
    paths = [write_records("part", 24)]
    assert _keys(_take(paths, 6, seed=1)) == _keys(_take(paths, 6, seed=1))
    assert _keys(_take(paths, 6, seed=1)) != _keys(_take(paths, 6, seed=2))


@pytest.mark.parametrize("global_seed", [0, 99])
def test_the_program_s_global_seed_has_no_say(write_records, global_seed):
    paths = [write_records("part", 24)]
    expected = _keys(_take(paths, 6, seed=0))
    tf.random.set_seed(global_seed)
    assert _keys(_take(paths, 6, seed=0)) == expected


def test_evaluation_fills_up_the_last_batch_with_weight_zero(write_records):
    records = open_records(write_records("part", 10), S, P, V)
    batches = list(make_evaluation_dataset(records, 4).as_numpy_iterator())
    assert [batch[EXAMPLE_WEIGHTS].tolist() for batch in batches] == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0]]
    assert batches[-1]["masked_lm_weights"][2:].sum() == 0
    assert len(list(make_evaluation_dataset(records, 4, max_steps=2))) == 2


def test_constant_answers_by_hand(write_records):
    records = open_records(write_records("part", 41), S, P, V)
    batches = list(make_evaluation_dataset(records, 41).as_numpy_iterator())
    answers = batches[0]["masked_lm_ids"][batches[0]["masked_lm_weights"] > 0]
    labels = batches[0]["sentence_order_labels"]
    share = labels.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    expected = (np.bincount(answers).max() / len(answers), max(share, 1 - share), entropy)
    assert dataclasses.astuple(constant_answers(records, batch_size=8)) == pytest.approx(expected)


def test_a_glob_may_match_the_manifest(write_records, tmp_path):
    path = write_records("part", 3)
    (tmp_path / "part.manifest.json").write_text("{}")
    with pytest.raises(InputError, match="not a manifest of pre-training records"):
        open_records(f"{path}*", S, P, V)
    with pytest.raises(InputError, match="names only a manifest"):
        open_records(str(tmp_path / "*.manifest.json"), S, P, V)


def test_official_records_are_read(shared):
    path = str(shared / "reference/official_records_s512.tfrecord")
    records = open_records(path, 512, 20, 8000)
    assert (records.num_examples, records.manifest) == (100, None)
    batch = next(make_dataset([path], 5, 512, 20).as_numpy_iterator())
    shapes = {name: (value.shape, str(value.dtype)) for name, value in batch.items()}
    assert shapes == {
        "input_ids": ((5, 512), "int32"),
        "input_mask": ((5, 512), "int32"),
        "segment_ids": ((5, 512), "int32"),
        "masked_lm_positions": ((5, 20), "int32"),
        "masked_lm_ids": ((5, 20), "int32"),
        "masked_lm_weights": ((5, 20), "float32"),
        "sentence_order_labels": ((5,), "int32"),
    }


def test_a_corrupt_record_is_named_with_its_offset(write_records):
    path = write_records("part", 10)
    size = os.path.getsize(path) // 10
    with open(path, "r+b") as file:
        file.seek(3 * size + size // 2)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(InputError, match=rf"part: offset {3 * size}") as error, explain_record_errors([path]):
        _take([path], 5)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="--eval_input_file: no file matches"):
        open_records(str(tmp_path / "none-*"), S, P, V, flag="eval_input_file")


def _texts(batch) -> list[bytes]:
    """The texts of a batch's examples under their masks, whatever the order of their segments."""
    texts = batch["input_ids"].copy()
    for row, places, originals, weights in zip(
        texts, batch["masked_lm_positions"], batch["masked_lm_ids"], batch["masked_lm_weights"] > 0
    ):
        row[places[weights]] = originals[weights]
    return [np.sort(text).tobytes() for text in texts]


def test_masks_and_orders_drawn_in_training_are_others_every_epoch(write_unmasked_records):
    paths = write_unmasked_records("train", 12, num_files=2)
    epochs = [{}, {}, {}]
    for number, batch in enumerate(_take(paths, 18, seed=3)):
        for text, masked, label in zip(_texts(batch), batch["masked_lm_ids"], batch[LABEL]):
            epochs[number // 6][text] = np.sort(masked).tobytes(), label
    assert len(epochs[0]) == 24
    assert epochs[0].keys() == epochs[1].keys() == epochs[2].keys()
    for first, second in ((0, 1), (1, 2), (0, 2)):
        masks, orders = (
            sum(epochs[first][text][of] != epochs[second][text][of] for text in epochs[0]) for of in (0, 1)
        )
        assert masks > 12
        assert orders > 4


@pytest.mark.parametrize("start", [20, 44])
def test_a_stream_of_drawn_masks_goes_on_where_it_was(write_unmasked_records, start):
    paths = write_unmasked_records("train", 11, num_files=2)
    whole = _take(paths, 18, seed=7)
    rest = _take(paths, 18 - start // 4, seed=7, start_example=start)
    for expected, found in zip(whole[start // 4 :], rest, strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(value, found[name])


def test_drawn_masks_do_not_depend_on_threads_batches_or_hosts(write_unmasked_records, monkeypatch):
    paths = write_unmasked_records("train", 11, num_files=2)
    whole = _take(paths, 6, seed=7)
    monkeypatch.setattr(pretraining_dataset, "_BATCHES_PARSED_AT_ONCE", 1)
    for expected, found in zip(whole, _take(paths, 6, seed=7), strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(value, found[name])
    joined = {name: np.concatenate([batch[name] for batch in whole]) for name in whole[0]}
    for found, start in zip(make_dataset(paths, 6, S, P, seed=7).take(4).as_numpy_iterator(), range(0, 24, 6)):
        for name, value in found.items():
            np.testing.assert_array_equal(value, joined[name][start : start + 6])
    for host in range(2):
        share = _take(paths, 6, seed=7, context=tf.distribute.InputContext(2, host, 2))
        for step, found in enumerate(share):
            for name, value in found.items():
                np.testing.assert_array_equal(value, whole[step][name][2 * host : 2 * host + 2])


@pytest.mark.slow
def test_an_evaluation_draws_the_same_masks_whatever_the_batch(write_unmasked_records):
    records = open_records(write_unmasked_records("heldout", 10)[0], S, P, V)
    first, again, larger = (list(make_evaluation_dataset(records, size).as_numpy_iterator()) for size in (4, 4, 10))
    for name, value in larger[0].items():
        joined = np.concatenate([batch[name] for batch in first])[:10]
        np.testing.assert_array_equal(joined, value)
        np.testing.assert_array_equal(np.concatenate([batch[name] for batch in again])[:10], value)
    assert len({batch.tobytes() for batch in larger[0]["masked_lm_positions"]}) > 1
    by_hand = np.bincount(larger[0]["masked_lm_ids"][larger[0]["masked_lm_weights"] > 0])
    assert constant_answers(records, batch_size=3).piece_accuracy == pytest.approx(by_hand.max() / by_hand.sum())


def test_the_kind_of_masks_must_be_the_one_asked_for(write_unmasked_records, write_records):
    paths = write_unmasked_records("train", 5)
    with pytest.raises(InputError, match="--masking=static, but the records hold no masks"):
        make_dataset(paths, 4, S, P, masking="static")
    with pytest.raises(InputError, match="--masking=dynamic, but the records have their masks in them"):
        make_dataset([write_records("part", 5)], 4, S, P, masking="dynamic")
    with pytest.raises(InputError, match="Received 16 and 5"):
        make_dataset(paths, 4, S, P + 1, masking="dynamic")
