"""Imports of albert_tf and data_prep against the requirements of setup.py: a fresh environment must have them all."""

import ast
import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# {distribution: the required one that brings it along}.
BROUGHT_ALONG = {"protobuf": "tensorflow"}
# Required by a different package, which imports it: tf.summary writes through tensorboard.
NOT_IMPORTED = {"tensorboard"}
# Imported where they are used, with a way out if they are missing: an extra, or another backend of Keras.
OPTIONAL = {"distributed", "matplotlib", "scipy", "sklearn", "pyarrow", "zstandard"}
OPTIONAL |= {"ai_edge_litert", "onnx", "onnxruntime", "openvino"}
OPTIONAL |= {"orjson", "prometheus_client", "starlette", "uvicorn", "h11"}
OPTIONAL |= {"bm25s", "huggingface_hub", "jax", "torch", "transformers", "keras_hub"}


def required_distributions():
    """The names in install_requires."""
    for node in ast.walk(ast.parse((ROOT / "setup.py").read_text())):
        if isinstance(node, ast.keyword) and node.arg == "install_requires":
            return {re.match(r"[\w-]+", requirement)[0].lower() for requirement in ast.literal_eval(node.value)}
    raise AssertionError("setup.py has no install_requires")


def imported_packages():
    """{top-level name: a file that imports it}, without the standard library and our own packages."""
    found = {}
    for package in ("albert_tf", "data_prep"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level:
                    # google is a namespace that several distributions share.
                    names = (
                        [f"google.{alias.name}" for alias in node.names] if node.module == "google" else [node.module]
                    )
                for name in names:
                    top = ".".join(name.split(".")[:2]) if name.startswith("google.") else name.split(".")[0]
                    found.setdefault(top, path.relative_to(ROOT))
    ours = {"albert_tf", "data_prep"} | set(sys.stdlib_module_names)
    return {name: path for name, path in found.items() if name not in ours}


def distribution_of(package):
    """The distribution that holds an installed package."""
    if package == "google.protobuf":
        return "protobuf"
    return importlib.metadata.packages_distributions()[package][0].lower().replace("_", "-")


@pytest.mark.slow
def test_every_import_is_of_something_that_setup_asks_for():
    required = required_distributions()
    imports = {name: path for name, path in imported_packages().items() if name not in OPTIONAL}
    assert len(imports) > 5
    unasked = [
        f"{path} imports {name}, of {distribution_of(name)}"
        for name, path in imports.items()
        if distribution_of(name) not in required and BROUGHT_ALONG.get(distribution_of(name)) not in required
    ]
    assert unasked == [], "add them to install_requires in setup.py"


@pytest.mark.slow
def test_everything_that_setup_asks_for_is_imported():
    used = {distribution_of(name) for name in imported_packages() if name not in OPTIONAL}
    assert required_distributions() - used - NOT_IMPORTED == set(), "remove them from install_requires in setup.py"
