"""Names of runs: as much of their paths as tells them apart."""

import pytest

from albert_tf.runtime.run_names import name_runs


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/base"], ["base"]),
        (["runs/base/", "runs/large"], ["base", "large"]),
        (["steps/a/model", "steps/b/model"], ["a/model", "b/model"]),
        (["hf://albert/albert-base-v2", "runs/base"], ["albert-base-v2", "base"]),
        (["runs/base", "runs/base"], ["runs/base (1)", "runs/base (2)"]),
    ],
)
def test_names_tell_runs_apart(paths, names):
    assert name_runs(paths) == names
