"""Random numbers that follow from a seed alone: nothing here draws from the generator that TensorFlow keeps."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("albert_tf", "data_prep", "demo", "models", "tests")
# Of tf.random: what draws by a seed that it is given, or draws nothing.
OF_A_SEED = ("stateless_", "set_seed", "fold_in", "Algorithm")


def draws_of_state(source):
    """The names of tf.random in a module that draw from the kept generator."""
    if "tf.random" not in source:
        return []
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    names = [node.attr for node in nodes if ast.unparse(node.value) == "tf.random"]
    return [name for name in names if not name.startswith(OF_A_SEED)]


def test_nothing_draws_from_the_generator_of_tensorflow():
    paths = [path for part in PARTS for path in (ROOT / part).rglob("*.py")]
    drawing = {path: names for path in paths if (names := draws_of_state(path.read_text(encoding="utf-8")))}
    assert drawing == {}


def test_a_draw_from_it_would_be_found():
    assert draws_of_state("x = tf.random.normal([2]) + tf.random.stateless_normal([2], [1, 2])") == ["normal"]
