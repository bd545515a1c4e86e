"""A file that computes something else than the model is refused, whatever is wrong with it."""

from types import SimpleNamespace

import numpy as np
import pytest

from albert_tf.exports.verification import sensitivity_of_exits
from albert_tf.heads.exits import ExitRule
from albert_tf.portable.interface import make_interface
from albert_tf.portable.verification import largest_error, sample_inputs


def test_the_largest_difference_is_found_and_measured_by_the_tolerance(portable_config):
    interface = make_interface("regression", portable_config, num_labels=1)

    def right(inputs):
        return {"logits": inputs["input_ids"][:, :1] / 60.0}

    def shifted(inputs):
        return {"logits": right(inputs)["logits"] + 0.01 * (inputs["input_ids"].shape[0] == 2)}

    assert largest_error(right, right, interface, portable_config, 1e-4) == 0
    assert largest_error(shifted, right, interface, portable_config, 0.1) == pytest.approx(0.01)
    with pytest.raises(RuntimeError, match="regression: logits differs from the model's by up to 0.01"):
        largest_error(shifted, right, interface, portable_config, 1e-4)


def test_exits_with_large_kernels_may_differ_by_more(portable_config):
    interface = make_interface("classification", portable_config, num_labels=2)
    rule = ExitRule("classification", confidence=0.9)

    def exits(shift, layer):
        def run(inputs):
            rows = len(inputs["input_ids"])
            logits = np.full((rows, 2, 2), [150.0, 0.0], np.float32) + np.float32(shift)
            of_exits = {"exit_logits": logits[:, :1], "logits": logits[:, 1]}
            return of_exits if layer is None else {**of_exits, "layers": np.full(rows, layer, np.int32)}

        return run

    def error(shift, sensitivity, layer=1):
        found, wanted = exits(shift, layer), exits(0.0, None)
        return largest_error(found, wanted, interface, portable_config, 1e-4, rule, sensitivity)

    assert error(0.05, 1000.0) == pytest.approx(0.05, rel=1e-3)
    for shift, sensitivity in ((0.05, 1.0), (0.5, 1000.0)):
        with pytest.raises(RuntimeError, match="logits differs"):
            error(shift, sensitivity)
    # Layers are whole numbers, of any kernels.
    with pytest.raises(RuntimeError, match="layers differs"):
        error(0.0, 1000.0, layer=2)


def test_the_longest_column_of_an_exit_says_how_large():
    def model(*kernels):
        heads = [SimpleNamespace(kernel=np.array(kernel)) for kernel in kernels]
        return SimpleNamespace(exits=SimpleNamespace(heads=heads))

    assert sensitivity_of_exits(model([[3.0, 0.0], [4.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]])) == 5.0
    assert sensitivity_of_exits(model([[0.5], [0.5]])) == 1.0


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"logits": np.full((3, 1), np.nan)}, "differs from the model's by up to nan"),
        ({"logits": np.zeros((3, 2))}, r"has the shape \(3, 2\), the model's is \(3, 1\)"),
        ({"others": np.zeros((3, 1))}, "regression: no output logits"),
    ],
)
def test_nan_wrong_shapes_and_missing_outputs_are_refused(found, message, portable_config):
    interface = make_interface("regression", portable_config, num_labels=1, batch=3)
    with pytest.raises(RuntimeError, match=message):
        largest_error(lambda _: found, lambda _: {"logits": np.zeros((3, 1))}, interface, portable_config, 0.5)


def test_vectors_of_length_1_are_measured_by_their_own_size(portable_config):
    interface = make_interface("embedding", portable_config, batch=1)
    wanted = np.full((1, portable_config.hidden_size), portable_config.hidden_size**-0.5)
    right, wrong = (lambda _: {"embedding": wanted}), (lambda _: {"embedding": 0.5 * wanted})
    assert largest_error(right, right, interface, portable_config, 1e-4) == 0
    with pytest.raises(RuntimeError, match="embedding differs"):
        largest_error(wrong, right, interface, portable_config, 0.4)


def test_how_impossible_the_impossible_is_does_not_count(portable_config):
    interface = make_interface("span", portable_config, batch=1, length=2)
    (inputs,) = sample_inputs(interface, portable_config)

    def run(never):
        return lambda _: {name: np.array([[0.5, never]]) for name in ("start_logits", "end_logits")}

    assert inputs["input_mask"].tolist() == [[1, 0]]
    assert largest_error(run(-65504.0), run(-1e30), interface, portable_config, 1e-4) == 0
    with pytest.raises(RuntimeError, match="differs"):
        largest_error(run(1.0), run(-1e30), interface, portable_config, 1e-4)
