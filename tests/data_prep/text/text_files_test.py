"""Reading text: line ends, compression, byte counts, and one line for each kind of damage."""

import gzip
import lzma

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.text.text_files import read_lines, size_of_files

TEXT = "first\r\nzweite Zeile ü\n\nlast"
LINES = [(1, "first"), (2, "zweite Zeile ü"), (3, ""), (4, "last")]


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return write_file


def error_of(path: str) -> str:
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert "\n" not in str(caught.value)
    assert path in str(caught.value)
    return str(caught.value)


def test_lines_are_numbered_whatever_the_compression(write):
    raw = TEXT.encode("utf-8")
    for name, content in (("a.txt", raw), ("a.txt.gz", gzip.compress(raw)), ("a.txt.xz", lzma.compress(raw))):
        assert list(read_lines(write(name, content))) == LINES


def test_a_byte_order_mark_is_left_out(write):
    assert list(read_lines(write("a.txt", b"\xef\xbb\xbfone\n"))) == [(1, "one")]


def test_a_carriage_return_alone_ends_a_line_too(write):
    assert list(read_lines(write("a.txt", b"one\rtwo\r\rthree\r"))) == [(1, "one"), (2, "two"), (3, ""), (4, "three")]
    assert list(read_lines(write("b.txt", b"one\r\r\ntwo\r\n"))) == [(1, "one"), (2, "two")]


def test_an_empty_file_has_no_lines(write):
    assert list(read_lines(write("a.txt", b""))) == []


def test_progress_adds_up_to_the_size_on_disk(write):
    raw = b"some text\n" * 100_000
    for name, content in (("a.txt", raw), ("a.txt.gz", gzip.compress(raw))):
        path, reported = write(name, content), []
        list(read_lines(path, reported.append))
        assert sum(reported) == len(content) == size_of_files([path])


def test_text_that_is_not_utf8_names_line_and_byte(write):
    assert "line 2 is not UTF-8 at byte 7 of the text (0xe9)" in error_of(write("a.txt", b"one\ncaf\xe9\n"))
    of_utf16 = error_of(write("b.txt", "text".encode("utf-16")))
    assert "line 1 is not UTF-8 at byte 0" in of_utf16 and "iconv -f utf-16 -t utf-8" in of_utf16
    assert "at byte 4" in error_of(write("c.txt", b"\xef\xbb\xbfa\xff"))


def test_damaged_archives_are_named(write):
    raw = b"line of text\n" * 50_000
    packed = gzip.compress(raw)
    bent = bytearray(packed)
    bent[len(bent) // 2] ^= 0xFF
    for name, content in (
        ("cut.gz", packed[:-20]),
        ("cut.xz", lzma.compress(raw)[:-20]),
        ("bent.gz", bytes(bent)),
        ("plain.gz", b"hello"),
        ("plain.xz", b"hello"),
    ):
        assert "damaged or cut short after line" in error_of(write(name, content))


def test_every_stream_of_an_xz_file_is_read_or_said_to_be_damaged(write):
    first, second = lzma.compress(b"one\n"), lzma.compress(b"two\n" * 100_000)
    for padding in (b"", b"\0" * 4, b"\0" * 100_000):
        content = first + padding + second + padding
        reported: list[int] = []
        lines = list(read_lines(write("a.xz", content), reported.append))
        assert sum(reported) == len(content)
        assert len(lines) == 100_001
        assert lines[:2] == [(1, "one"), (2, "two")]
    bent = bytearray(second)
    bent[8] ^= 1
    for rest in (bytes(bent), second[:6], second[:-3], b"something else"):
        assert "damaged or cut short after line" in error_of(write("b.xz", first + rest))
    assert "damaged or cut short after line 0" in error_of(write("c.xz", b""))


def test_missing_files_and_folders_are_named(tmp_path):
    assert "No such file" in error_of(str(tmp_path / "nothing.txt"))
    assert "directory" in error_of(str(tmp_path))


def test_a_line_of_ten_megabytes_is_one_line(write):
    assert [len(line) for _, line in read_lines(write("a.txt", b"x" * 10_000_000 + b"\ny\n"))] == [10_000_000, 1]
