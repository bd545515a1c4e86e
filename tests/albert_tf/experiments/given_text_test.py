"""Text by what is in its files, and by how they are read."""

import gzip

import pytest

from albert_tf.experiments.given_text import read_text
from albert_tf.runtime.digests import digest_of_files


def test_names_and_places_do_not_count_but_how_a_file_is_read_does(tmp_path):
    contents = b'{"text": "a cat"}\n'
    paths = [
        tmp_path / name for name in ("a.txt", "b.dat", "c.jsonl", "D.JSONL", "e.parquet", "f.txt.gz", "g.jsonl.gz")
    ]
    for path in paths:
        path.write_bytes(contents)
    found = [read_text(str(path)).digest for path in paths]
    assert found[0] == found[1] == digest_of_files([str(paths[0])])
    assert found[2] == found[3]
    assert len(set(found)) == 5


@pytest.mark.parametrize("contents", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_a_file_without_a_byte_is_no_text_that_two_have_in_common(tmp_path, contents):
    (tmp_path / "a.txt").write_bytes(contents)
    assert len(read_text(str(tmp_path / "a.txt")).files) == bool(contents)
