"""Digests of files: by contents, whatever they are called."""

import os
from pathlib import Path

import pytest

from albert_tf.runtime.digests import digest_of_files, stamp_of


def test_a_digest_is_of_contents_and_not_of_names(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path, text in zip(paths, ("x", "x", "y")):
        Path(path).write_text(text)
    assert digest_of_files(paths[:1]) == digest_of_files(paths[1:2]) != digest_of_files(paths[2:])


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_stamp_is_another_one_after_the_file_was_written_to(tmp_path, scheme):
    path = tmp_path / "a"
    path.write_text("x")
    os.utime(path, ns=(0, 10**18))
    before = stamp_of(f"{scheme}{path}")
    assert stamp_of(f"{scheme}{path}") == before == (1, 10**18)
    path.write_text("y")
    written = stamp_of(f"{scheme}{path}")
    assert written != before
    path.write_text("more")
    os.utime(path, ns=(0, written[1]))
    assert stamp_of(f"{scheme}{path}") == (4, written[1])
