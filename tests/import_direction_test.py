"""The import direction of docs/architecture.md: its checker on made-up sources, then on albert_tf and data_prep."""

import ast
from pathlib import Path

import pytest
from loading import load_module

RULES = load_module(Path(__file__).with_name("import_rules.py"))


def test_the_packages_keep_the_direction():
    modules = RULES.sources()
    assert len(modules) > 10
    assert RULES.faults(modules) == []


def test_every_module_at_the_top_has_a_level_or_is_a_command():
    others = {*RULES.LEVEL_OF, "benchmarks", "door", "predict", "serve"}
    top = {RULES.part_of(module) for module in RULES.sources() if module.startswith("albert_tf.")} - others
    assert [name for name in top if "_" not in name] == [], (
        "give new parts of albert_tf a level in LEVELS of tests/import_rules.py"
    )


def test_other_rooms_take_six_functions_of_the_backend():
    used, modules = set(), RULES.sources()
    for module, (source, is_package) in modules.items():
        imports = {item.name for item in RULES.imports_of(module, source, is_package, modules)}
        if RULES.part_of(module) != "kernels" and RULES.BACKEND_FILE in imports:
            nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
            used |= {node.attr for node in nodes if ast.unparse(node.value) == "backend"}
    assert used == set(RULES.OPEN_OF_BACKEND)


# {module: sources it may have}.
ALLOWED = {
    "albert_tf.layers.encoder": [
        "from albert_tf.config import AlbertConfig",
        "from albert_tf.layers import dropout",
        "from albert_tf import kernels\nfrom albert_tf.kernels import View",
        "def f():\n    import tensorflow",
    ],
    "albert_tf.kernels.backend": ["if True:\n    import tensorflow"],
    "albert_tf.inputs.pretraining_dataset": ["import tensorflow as tf"],
    "albert_tf.training.loop": ["from albert_tf.models.albert import AlbertModel"],
    "albert_tf.pretraining.run": ["from albert_tf import training"],
    "albert_tf.run_pretraining": [
        "from albert_tf.training import loop\nfrom albert_tf.runtime import command",
    ],
    "albert_tf.run_classifier": ["from albert_tf import run_pretraining"],
    "data_prep.examples.instances": [
        "from albert_tf.records.pretraining_records import to_example",
        "from albert_tf.runtime import command, errors\nfrom albert_tf.tokenization import tokenizer",
        "from data_prep import masking",
        "from . import masking",
    ],
}

# {words of a rule: [(module, a source that breaks this rule and no other)]}.
BREACHES = {
    "level 2 from level 0": [("albert_tf.config", "from albert_tf.layers import dropout")],
    "level 4 from level 0": [("albert_tf.config", "import albert_tf.models.albert as model")],
    "level 4 from level 2": [
        ("albert_tf.layers.encoder", "from ..models import albert"),
        ("albert_tf.layers", "from ..models.albert import AlbertModel"),
        ("albert_tf.layers.encoder", "def f():\n    from albert_tf import models"),
    ],
    "level 4 from level 3": [("albert_tf.tasks.glue", "from albert_tf.models import albert")],
    "level 6 from level 1": [
        ("albert_tf.losses", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import albert_tf.training"),
    ],
    "level 10 from level 6": [("albert_tf.training.loop", "from albert_tf import run_pretraining")],
    "level 11 from level 10": [("albert_tf.run_pretraining", "from albert_tf import run_classifier")],
    "a command must not import another": [
        ("albert_tf.run_evaluation", "from albert_tf import run_pretraining"),
        ("albert_tf.run_race", "from albert_tf import run_classifier"),
    ],
    "albert_tf never imports data_prep": [
        ("albert_tf.runtime.files", "import data_prep.examples.masking"),
        ("albert_tf.runtime.files", "async def f():\n    from data_prep import masking"),
    ],
    "the package itself imports nothing": [
        ("albert_tf", "from albert_tf.config import AlbertConfig"),
        ("albert_tf", "if TYPE_CHECKING:\n    pass\nelse:\n    import albert_tf.config"),
    ],
    "OPEN_TO_DATA_PREP": [
        ("data_prep.examples.instances", "from albert_tf.models.albert import AlbertModel"),
        ("data_prep.examples.instances", "from albert_tf.inputs import pretraining_dataset"),
        ("data_prep.examples.instances", "def f():\n    import albert_tf.training.loop"),
    ],
    "pure Keras": [
        ("albert_tf.models.albert", "import tensorflow as tf"),
        ("albert_tf.optimization.lamb", "try:\n    from tensorflow.keras import ops\nexcept E:\n    pass"),
        ("albert_tf.layers.encoder", "class A:\n    import tensorflow_text"),
        ("albert_tf.models.albert", "if TYPE_CHECKING:\n    pass\nelse:\n    import tensorflow"),
        ("albert_tf.models.albert", "if not TYPE_CHECKING:\n    import tensorflow"),
    ],
    "only the doors": [("albert_tf.layers.encoder", "from albert_tf.kernels import backend")],
    "only albert_tf.kernels.backend": [
        ("albert_tf.kernels.doors", "from albert_tf.kernels import tensorflow_training"),
    ],
}


@pytest.mark.parametrize(
    ("module", "source"), [(module, source) for module, sources_of in ALLOWED.items() for source in sources_of]
)
def test_downwards_is_allowed(module, source):
    assert RULES.faults(made_up({module: source})) == []


@pytest.mark.parametrize(
    ("module", "source", "rule"), [(*breach, rule) for rule, breaches in BREACHES.items() for breach in breaches]
)
def test_a_breach_is_found(module, source, rule):
    found = RULES.faults(made_up({module: source}))
    assert len(found) == 1
    assert rule in found[0]
    assert found[0].startswith(f"{module}:")


def test_a_cycle_is_found():
    sources_by_name = {
        "albert_tf.training.loop": "from albert_tf.training import steps",
        "albert_tf.training.steps": "from albert_tf.training import loop",
    }
    assert [fault.split(":")[0] for fault in RULES.faults(made_up(sources_by_name))] == ["cycle"]


def test_a_circle_of_rooms_is_found_though_no_module_imports_itself():
    sources_by_name = {
        "albert_tf.training.loop": "from albert_tf.conversion import official",
        "albert_tf.conversion.hugging_face": "def f():\n    from albert_tf.training import steps",
    }
    (fault,) = RULES.faults(made_up(sources_by_name))
    assert fault.startswith("circle: albert_tf.")


def made_up(sources_by_name):
    """Sources as `faults` takes them, among the modules that they name."""
    rooms = ("conversion", "inputs", "kernels", "layers", "models", "pretraining", "records", "runtime", "training")
    names = (
        *("albert_tf", *(f"albert_tf.{room}" for room in rooms), "albert_tf.config", "albert_tf.losses"),
        *("albert_tf.conversion.hugging_face", "albert_tf.conversion.official", "albert_tf.inputs.pretraining_dataset"),
        *("albert_tf.kernels.backend", "albert_tf.kernels.tensorflow_training", "albert_tf.layers.dropout"),
        "albert_tf.models.albert",
        *("albert_tf.run_classifier", "albert_tf.run_pretraining", "albert_tf.tokenization.tokenizer"),
        *("albert_tf.training.loop", "albert_tf.training.steps"),
        *("data_prep", "data_prep.examples", "data_prep.examples.masking"),
    )
    packages = ("albert_tf", "data_prep", "data_prep.examples", *(f"albert_tf.{room}" for room in rooms))
    return {name: (sources_by_name.get(name, ""), name in packages) for name in (*names, *sources_by_name)}
