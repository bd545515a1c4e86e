"""Fixtures that every test file may use."""

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference vectors and real text beside the checkout; absent, the test skips."""
    if not _SHARED.is_dir():
        pytest.skip("reference data (../shared) is not beside this checkout")
    return _SHARED
