"""Digests of files: by contents, whatever they are called."""

from pathlib import Path

from albert_tf.runtime.digests import digest_of_files


def test_a_digest_is_of_contents_and_not_of_names(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path, text in zip(paths, ("x", "x", "y")):
        Path(path).write_text(text)
    assert digest_of_files(paths[:1]) == digest_of_files(paths[1:2]) != digest_of_files(paths[2:])
