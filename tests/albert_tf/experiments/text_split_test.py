"""Texts cut into documents to train on and documents held out."""

import pytest

from albert_tf.experiments.text_split import check_documents, split_documents
from albert_tf.runtime.errors import InputError


def test_every_third_document_is_held_out_and_a_files_end_ends_a_document(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(b"\n1 a\r\n1 b\n\n\n2\n \n3")
    second.write_bytes(b"4\n\n5\n\n6 \xc3\xa9\n\n7\n")
    split_documents([str(first), str(second)], 3, str(tmp_path / "split"))
    assert (tmp_path / "split/train.txt").read_bytes() == b"1 a\n1 b\n\n2\n\n4\n\n5\n\n7\n\n"
    assert (tmp_path / "split/held_out.txt").read_bytes() == b"3\n\n6 \xc3\xa9\n\n"


def test_texts_that_cannot_be_split_are_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n\ntwo\n")
    with pytest.raises(InputError, match="holds 2 documents, too few for --held_out_every=3"):
        check_documents([str(path)], 3)
    for ending in (".gz", ".ndjson", ".CSV"):
        with pytest.raises(InputError, match=f"a.txt{ending} is not: split it, and give --held_out_file"):
            check_documents([str(path) + ending], 2)
    check_documents([str(path)], 2)
