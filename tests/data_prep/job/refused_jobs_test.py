"""Inputs and outputs that no records can be made of: one line says why, and nothing is written."""

from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.job.run import create_records


def _bad_inputs(tmp_path):
    def write(name, contents):
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return path

    return {
        "missing": (tmp_path / "nothing.txt", "no file matches"),
        "empty": (write("empty.txt", ""), "holds no sentence"),
        "blank": (write("blank.txt", "\n \n\t\n"), "holds no sentence"),
        "one sentence": (write("one.txt", "bada.\n\nfalo.\n\nbada falo.\n"), "all 3 documents have one sentence"),
        "not utf-8": (write("latin.txt", b"bada\nfal\xe9o\n"), r"latin.txt: line 2 is not UTF-8"),
        "long line": (write("long.txt", "ba" * 5_000_000), "line 1 has 10000000 characters"),
        "cut archive": (write("cut.txt.xz", b"\xfd7zXZ\x00\x00\x04"), "cut.txt.xz"),
        "a folder": (tmp_path, "is a folder"),
    }


@pytest.mark.parametrize(
    "kind", ["missing", "empty", "blank", "one sentence", "not utf-8", "long line", "cut archive", "a folder"]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_bad_text_is_one_line_and_nothing_is_written(small_vocabulary, tmp_path, kind, workers, make_job):
    path, message = _bad_inputs(tmp_path)[kind]
    output = tmp_path / "out" / "train@2"
    with pytest.raises(InputError, match=message) as caught:
        create_records(make_job(path, small_vocabulary, output, num_workers=workers))
    assert "\n" not in str(caught.value)
    assert not output.parent.exists()


def test_what_is_read_is_not_written_over(small_corpus, small_vocabulary, tmp_path, make_job, checksums):
    folder = tmp_path / "read"
    folder.mkdir()
    text, vocabulary, link = folder / "text.txt", folder / "v.model", folder / "link.txt"
    text.write_bytes(Path(small_corpus).read_bytes())
    vocabulary.write_bytes(Path(small_vocabulary).read_bytes())
    link.symlink_to(text)
    before = checksums(folder)
    for output in (text, link, vocabulary, f"{folder / 'new'},{text}"):
        with pytest.raises(InputError, match=r"--output_file: .* is read too, as text or vocabulary; write to another"):
            create_records(make_job(text, vocabulary, output, overwrite=True))
    assert checksums(folder) == before


def test_one_document_has_no_other_for_nsp(small_vocabulary, tmp_path, make_job):
    (tmp_path / "one.txt").write_text("bada falo.\nfalo bada.\nbada.\n")
    with pytest.raises(InputError, match="holds one document; --sentence_task=nsp"):
        create_records(
            make_job(tmp_path / "one.txt", small_vocabulary, tmp_path / "r", settings={"sentence_task": "nsp"})
        )
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


def test_a_document_of_many_pieces_is_one_document(small_vocabulary, tmp_path, make_job):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("bada falo.\nfalo bada.\nbada.\n" * 1000)
    two.write_text("bada falo.\nfalo bada.\n\n" + one.read_text() + "\nfalo.\nbada.\n")
    # Parts of at most 2,000 characters: it is cut into 13 pieces.
    assert one.stat().st_size > 25_000
    with pytest.raises(InputError, match="holds one document; --sentence_task=nsp"):
        create_records(make_job(one, small_vocabulary, tmp_path / "r", settings={"sentence_task": "nsp"}))
    assert create_records(make_job(one, small_vocabulary, tmp_path / "r")).statistics["documents"] == 1
    for twice in (one, two):
        twice.write_text(f"{twice.read_text()}\n{twice.read_text()}")
    found = [
        create_records(
            make_job(path, small_vocabulary, tmp_path / f"{path.stem}-{drop}", drop_duplicate_documents=drop)
        )
        for path in (one, two)
        for drop in (False, True)
    ]
    assert [manifest.statistics["documents"] for manifest in found] == [2, 1, 6, 3]
    events = [manifest.statistics["events"].get("duplicate_documents_left_out", 0) for manifest in found]
    assert events == [0, 1, 0, 3]


@pytest.mark.parametrize("contents", [None, b"", b"no model at all", "half"])
def test_a_bad_vocabulary_is_one_line_and_nothing_is_written(
    small_corpus, small_vocabulary, tmp_path, contents, make_job
):
    path = tmp_path / "bad.model"
    if contents is not None:
        whole = Path(small_vocabulary).read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if contents == "half" else contents)
    with pytest.raises(InputError, match=r"bad\.model"):
        create_records(make_job(small_corpus, path, tmp_path / "out" / "r"))
    assert not (tmp_path / "out").exists()


def test_more_files_than_examples_are_refused(small_vocabulary, tmp_path, make_job):
    (tmp_path / "few.txt").write_text("bada falo.\nfalo bada.\n")
    with pytest.raises(InputError, match="2 examples cannot fill 64 files"):
        create_records(make_job(tmp_path / "few.txt", small_vocabulary, tmp_path / "out" / "r@64"))
    assert not (tmp_path / "out").exists()


def test_output_that_cannot_be_written_leaves_nothing(small_corpus, small_vocabulary, tmp_path, make_job):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="file"):
        create_records(make_job(small_corpus, small_vocabulary, tmp_path / "file" / "r"))
    with pytest.raises(InputError, match="is a folder; give a file name"):
        create_records(make_job(small_corpus, small_vocabulary, tmp_path / "folder"))
    assert [*(tmp_path / "folder").iterdir()] == []
