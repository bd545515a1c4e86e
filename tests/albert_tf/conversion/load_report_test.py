"""Rows of a table and the report of a load, on made-up tensors."""

import numpy as np
import pytest

from albert_tf.conversion.load_report import match
from albert_tf.conversion.rows import ConstantRow, HeadsRow, Row, TransposedRow, projection_rows
from albert_tf.runtime.errors import InputError

KERNEL = np.arange(6, dtype=np.float32).reshape(2, 3)


def _match(rows, arrays, shapes, **kwargs):
    return match(rows, arrays, shapes, source="there", format="a test", **kwargs)


def test_a_transposed_row_turns_both_ways():
    row = TransposedRow("kernel", "weight")
    assert row.shape_there((2, 3)) == (3, 2)
    assert row.to_theirs(KERNEL).flags.c_contiguous
    np.testing.assert_array_equal(row.to_theirs(KERNEL), KERNEL.T)
    np.testing.assert_array_equal(row.to_ours(row.to_theirs(KERNEL)), KERNEL)


@pytest.mark.parametrize(("axis", "there"), [(0, (2, 2, 6)), (1, (4, 2, 3))])
def test_a_heads_row_splits_one_axis(axis, there):
    value = np.arange(24, dtype=np.float32).reshape(4, 6)
    row = HeadsRow("kernel", "theirs", num_heads=2, axis=axis)
    assert row.shape_there(value.shape) == there == row.to_theirs(value).shape
    np.testing.assert_array_equal(row.to_ours(row.to_theirs(value)), value)
    # Unit u of the axis is number u % d of head u // d.
    split = np.moveaxis(row.to_theirs(value), (axis, axis + 1), (0, 1))
    np.testing.assert_array_equal(split[1, 1], np.take(value, there[axis + 1] + 1, axis=axis))


def test_the_report_names_everything():
    rows = [Row("albert/embeddings/a", "a"), Row("masked_lm/b", "b"), Row("albert/encoder/c", "c")]
    arrays = {"a": np.zeros(2, np.float16), "c": np.zeros(3, np.float32), "x": np.zeros(1, np.float32)}
    shapes = {"albert/embeddings/a": (2,), "masked_lm/b": (2,), "albert/encoder/c": (2,)}
    values, report = _match(rows, arrays, shapes, skipped={"a buffer": ("ids",)})
    assert values["albert/embeddings/a"].dtype == np.float32
    assert set(values) == {"albert/embeddings/a"}
    assert report.missing == ("masked_lm/b",)
    assert report.unexpected == ("x",)
    assert report.converted == {"a": "float16"}
    assert report.mismatched == ("c is [3], the model needs [2]",)
    with pytest.raises(InputError) as error:
        report.check(allow_missing_heads=True)
    assert str(error.value) == ("there (a test) does not fit the model: unexpected x; c is [3], the model needs [2]")
    with pytest.raises(InputError, match="missing masked_lm/b"):
        report.check()
    assert str(report).splitlines() == [
        "2 of 3 weights, 2 parameters, from a test there",
        "  missing, started afresh: masked_lm/b",
        "  left out, ids: a buffer",
        "  converted to float32 from float16: 1 tensors",
    ]


def test_an_alias_serves_alone_or_beside_its_equal():
    row = Row("masked_lm/bias", "bias", aliases=("decoder.bias",))
    shapes = {"masked_lm/bias": (2,)}
    value = np.array([1, 2], np.float32)
    for arrays in ({"decoder.bias": value}, {"bias": value, "decoder.bias": value.copy()}):
        values, report = _match([row], arrays, shapes)
        report.check()
        np.testing.assert_array_equal(values["masked_lm/bias"], value)
    _, report = _match([row], {"bias": value, "decoder.bias": value + 1}, shapes)
    with pytest.raises(InputError, match="decoder.bias differs from bias, and must be the same"):
        report.check()


def test_a_constant_row_accepts_its_value_only():
    rows = projection_rows("weight", "bias", 2)
    identity = {"weight": np.eye(2, dtype=np.float32), "bias": np.zeros(2, np.float32)}
    _match(rows, identity, {})[1].check()
    _match(rows, {}, {})[1].check()
    with pytest.raises(InputError, match="weight is not the identity; a model with embedding_size = hidden_size"):
        _match(rows, identity | {"weight": np.ones((2, 2), np.float32)}, {})[1].check()
    assert isinstance(rows[0], ConstantRow)


def test_whole_numbers_are_no_weights():
    _, report = _match([Row("masked_lm/a", "a")], {"a": np.zeros(2, np.int32)}, {"masked_lm/a": (2,)})
    with pytest.raises(InputError, match="a is int32, not floating-point numbers"):
        report.check()
