"""Fixtures that every test file may use."""

import subprocess
from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference vectors and real text beside the checkout; absent, the test skips."""
    if not _SHARED.is_dir():
        pytest.skip("reference data (../shared) is not beside this checkout")
    return _SHARED


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MB: room for a little, not for all."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
