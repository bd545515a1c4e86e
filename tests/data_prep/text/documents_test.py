"""Documents and parts: what ends a document, what a part holds, and lines that can be no sentence."""

import itertools

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.text.documents import MAX_LINE_CHARACTERS, read_parts


def _read(tmp_path, *texts, **options):
    paths = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.txt"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    return [*read_parts(paths, **options)]


def _sentences(parts):
    return [document.texts for part in parts for document in part.documents]


def test_blank_lines_end_documents_and_blanks_around_lines_go(tmp_path):
    parts = _read(tmp_path, "\n\n a b \nc\n \t \n\nd\n")
    assert _sentences(parts) == [["a b", "c"], ["d"]]
    assert [part.index for part in parts] == [0]


def test_the_end_of_a_file_ends_a_document_unless_files_are_joined(tmp_path):
    assert _sentences(_read(tmp_path, "a\nb", "c\n")) == [["a", "b"], ["c"]]
    assert _sentences(_read(tmp_path, "a\nb", "c\n", join_files=True)) == [["a", "b", "c"]]
    assert _sentences(_read(tmp_path, "a\n\n", "c\n", join_files=True)) == [["a"], ["c"]]


def test_parts_follow_the_text_and_lose_nothing(tmp_path):
    text = "\n\n".join("\n".join(f"document {d} sentence {s}" for s in range(d % 7 + 1)) for d in range(200))
    whole = _sentences(_read(tmp_path, text))
    parts = _read(tmp_path, text, part_characters=500)
    assert len(parts) > 10
    assert _sentences(parts) == whole
    assert [part.index for part in parts] == [*range(len(parts))]
    assert all(len(part.documents) >= 2 for part in parts)
    assert len(whole) == 200


def test_a_document_larger_than_parts_is_cut_and_its_pieces_share_a_source(tmp_path):
    long = "\n".join(f"sentence number {s}" for s in range(400))
    parts = _read(tmp_path, f"first\n\n{long}\n\nlast\n", part_characters=300)
    assert len(parts) > 3
    assert [*itertools.chain.from_iterable(_sentences(parts))] == ["first", *long.split("\n"), "last"]
    sources = [document.source for part in parts for document in part.documents]
    assert sources == sorted(sources)
    assert len(set(sources)) == 3
    assert max(sum(len(s) for d in part.documents for s in d.texts) for part in parts) < 6 * 300


def test_only_two_parts_are_in_memory(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("\n\n".join(f"a{n}\nb{n}" for n in range(100_000)))
    read = []
    parts = read_parts([str(path)], part_characters=100, report=read.append)
    next(parts)
    next(parts)
    assert sum(read) <= 1 << 18 < path.stat().st_size
    assert len([*itertools.islice(parts, 20)]) == 20


def test_an_empty_corpus_has_no_part(tmp_path):
    assert _read(tmp_path, "", "\n\n  \n") == []


def test_a_line_that_is_no_sentence_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"0\.txt: line 2 has 1000001 characters, at most 1000000"):
        _read(tmp_path, "a\n" + "b" * (MAX_LINE_CHARACTERS + 1))
