"""Modules that lie beside the tests or in docs/, which no package holds."""

import importlib.util
import sys
from pathlib import Path


def load_module(path):
    """Runs a file as a module named like it, and returns the module."""
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look for their module.
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module
