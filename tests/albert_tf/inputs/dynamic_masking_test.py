"""Masks drawn in the graph against the official procedure walked through word by word with the same random numbers.

Equal numbers give equal masks, so that the order of words, windows, budgets and overlaps are all those of the
procedure; tests/data_prep/examples/static_and_dynamic_masks_test.py compares distributions with the static masker's.
"""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.dynamic_masking import DynamicMasker
from albert_tf.records.instance_batch import InstanceBatch, to_unmasked_examples
from albert_tf.records.masking_rules import (
    KEEP_SHARE,
    MASK_SHARE,
    MaskingRules,
    PieceIds,
)
from albert_tf.records.unmasked_records import parse_unmasked_batch

S, P, V = 40, 9, 60
MASK = 4


def mask(masker, batch, first_example=0) -> dict:
    """The batch with its masks, as arrays."""
    parsed = parse_unmasked_batch(to_unmasked_examples(batch, S), S)
    return {name: value.numpy() for name, value in masker.mask(parsed, tf.constant(first_example, tf.int64)).items()}


def walk(rules, instance, order, wish) -> list[int]:
    """The positions that the procedure hides: every word in the order of `order`, its window by `wish`."""
    separator = len(instance.segment_ids) if 1 not in instance.segment_ids else instance.segment_ids.index(1)
    text = [p for p in range(1, len(instance.input_ids) - 1) if p != separator - 1]
    words = []
    for place in text:
        if not words or not rules.do_whole_word_mask or instance.token_boundary[place]:
            words.append([])
        words[-1].append(place)
    (budget,) = rules.budgets(np.array([len(instance.input_ids)]))
    hidden = set()
    for word in sorted(range(len(words)), key=lambda number: order[number]):
        if len(hidden) >= budget:
            break
        size = 1 + sum(wish[word] >= border for border in rules.ngram_borders())
        window = words[word : word + size]
        if not rules.reference_quirks:
            window = [other for other in window if (other[0] < separator) == (words[word][0] < separator)]
        while len(window) > 1 and len(hidden) + sum(map(len, window)) > budget:
            window.pop()
        places = [place for other in window for place in other]
        if len(hidden) + len(places) <= budget and not hidden.intersection(places):
            hidden.update(places)
    return sorted(hidden)


@pytest.mark.parametrize(
    "changes",
    [
        *({}, {"reference_quirks": True}, {"do_whole_word_mask": False}, {"ngram": 1}, {"ngram": 5}),
        *({"favor_shorter_ngram": False}, {"masked_lm_prob": 0.9, "max_predictions_per_seq": 30}),
    ],
)
def test_equal_numbers_give_the_masks_of_the_procedure(changes, random_batch):
    rules = MaskingRules(**{"masked_lm_prob": 0.2, "max_predictions_per_seq": P, **changes})
    batch = random_batch(np.random.default_rng(0), 150, S, separated=not rules.reference_quirks)
    masker = DynamicMasker(rules, PieceIds(V), S, seed=3)
    masked = mask(masker, batch, first_example=1000)
    draws = masker._draws.draw(tf.constant(1000, tf.int64), len(batch)).numpy()
    some = 0
    for number in range(len(batch)):
        instance = batch.instance(number)
        expected = walk(rules, instance, draws[number, :S], draws[number, S : 2 * S])
        real = masked["masked_lm_weights"][number] > 0
        assert masked["masked_lm_positions"][number][real].tolist() == expected
        assert not masked["masked_lm_positions"][number][~real].any()
        some += len(expected) > 1
    assert some > 100


def test_the_batch_is_that_of_a_record_with_masks(random_batch):
    batch = random_batch(np.random.default_rng(1), 50, S)
    masker = DynamicMasker(MaskingRules(0.3, P), PieceIds(V), S, seed=0)
    masked, draws = mask(masker, batch), masker._draws.draw(tf.constant(0, tf.int64), 50).numpy()
    shapes = {name: (value.shape, value.dtype.name) for name, value in masked.items()}
    assert shapes == {
        **dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ((50, S), "int32")),
        **dict.fromkeys(("masked_lm_positions", "masked_lm_ids"), ((50, P), "int32")),
        "masked_lm_weights": ((50, P), "float32"),
        "sentence_order_labels": ((50,), "int32"),
    }
    kinds = set()
    for number in range(50):
        instance = batch.instance(number)
        row = {name: value[number] for name, value in masked.items()}
        length, count = len(instance.input_ids), int(row["masked_lm_weights"].sum())
        assert row["masked_lm_weights"].tolist() == [1.0] * count + [0.0] * (P - count)
        places, text = row["masked_lm_positions"][:count], np.array(instance.input_ids)
        assert row["masked_lm_ids"].tolist() == [*text[places], *[0] * (P - count)]
        shown = row["input_ids"][:length].copy()
        for place, chance, choice in zip(places, draws[number, 2 * S :], draws[number, 2 * S + P :]):
            expected = (
                MASK if chance < MASK_SHARE else text[place] if chance < KEEP_SHARE else 5 + int(choice * (V - 5))
            )
            assert shown[place] == expected
            kinds.add("mask" if chance < MASK_SHARE else "kept" if chance < KEEP_SHARE else "random")
        shown[places] = text[places]
        assert shown.tolist() == instance.input_ids
        assert row["input_mask"].tolist() == [1] * length + [0] * (S - length)
        assert row["segment_ids"].tolist() == [*instance.segment_ids, *[0] * (S - length)]
        assert row["sentence_order_labels"] == instance.label
        assert not row["input_ids"][length:].any()
    assert kinds == {"mask", "kept", "random"}


def test_a_mask_depends_on_seed_and_place_alone(random_batch):
    batch = random_batch(np.random.default_rng(2), 12, S)
    masker = DynamicMasker(MaskingRules(0.3, P), PieceIds(V), S, seed=5)
    whole = mask(masker, batch, first_example=70)

    def rows(start, end, masker=masker, place=70):
        offsets = batch.offsets[start : end + 1]
        tokens = slice(offsets[0], offsets[-1])
        nothing = np.zeros(0, np.int64)
        part = InstanceBatch(
            *(batch.input_ids[tokens], offsets - offsets[0], batch.first_lengths[start:end]),
            *(batch.token_boundary[tokens], nothing, nothing, np.zeros(end - start + 1, np.int64)),
            batch.labels[start:end],
        )
        return mask(masker, part, place + start)

    for start, end in ((0, 1), (1, 5), (5, 12)):
        for name, value in rows(start, end).items():
            np.testing.assert_array_equal(value, whole[name][start:end])
    others = (
        rows(0, 12, place=71),
        rows(0, 12, DynamicMasker(masker.rules, masker.ids, S, seed=6)),
        rows(0, 12, DynamicMasker(masker.rules, masker.ids, S, seed=5, stream="evaluation")),
    )
    for other in others:
        assert (other["masked_lm_positions"] != whole["masked_lm_positions"]).any()


def test_the_numbers_of_an_example_are_those_at_its_place_however_many_are_drawn():
    # Enough for TensorFlow to share them out over threads.
    masker = DynamicMasker(MaskingRules(0.3, P), PieceIds(V), S, seed=5)
    many = masker._draws.draw(tf.constant(0, tf.int64), 20_000).numpy()
    assert many.shape == (20_000, 2 * (S + P))
    for start in (0, 1, 9_999, 19_990):
        np.testing.assert_array_equal(
            masker._draws.draw(tf.constant(start, tf.int64), 10).numpy(), many[start : start + 10]
        )
    assert abs(many.mean() - 0.5) < 5 * (1 / 12 / many.size) ** 0.5
    assert len(np.unique(many)) == many.size


def test_no_share_hides_nothing_and_the_whole_share_everything(random_batch):
    batch = random_batch(np.random.default_rng(3), 20, S)
    nothing = mask(DynamicMasker(MaskingRules(0.0, P), PieceIds(V), S, seed=0), batch)
    assert not nothing["masked_lm_weights"].any()
    parsed = parse_unmasked_batch(to_unmasked_examples(batch, S), S)
    np.testing.assert_array_equal(nothing["input_ids"], parsed.input_ids)
    everything = mask(DynamicMasker(MaskingRules(1.0, S, ngram=1), PieceIds(V), S, seed=0), batch)
    specials = 2 + (batch.first_lengths < np.diff(batch.offsets))
    np.testing.assert_array_equal(everything["masked_lm_weights"].sum(axis=1), np.diff(batch.offsets) - specials)


def test_no_graph_op_calls_back_into_python():
    masker = DynamicMasker(MaskingRules(0.15, P), PieceIds(V), S, seed=0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.int64)])
    def read(serialized, first_example):
        return masker.mask(parse_unmasked_batch(serialized, S), first_example)

    graph = read.get_concrete_function().graph.as_graph_def()
    ops = {node.op for node in graph.node} | {node.op for f in graph.library.function for node in f.node_def}
    assert {"StatelessRandomUniformV2", "ParseExampleV2"} < ops
    assert not {op for op in ops if "PyFunc" in op}
    assert [op for op in ops if "Random" in op] == ["StatelessRandomUniformV2"]
