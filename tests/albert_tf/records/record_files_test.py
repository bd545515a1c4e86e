"""TFRecord files against tensorflow's writer and reader, and what is said of damaged ones."""

import gzip
import zlib

import pytest

from albert_tf.records.record_files import (
    FRAME_BYTES,
    count_examples,
    detect_compression,
    frame,
    locate_damage,
    masked_crc32c,
    read_records,
)
from albert_tf.runtime.errors import InputError

MESSAGES = [b"first", b"", b"x" * 5000, b"last"]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"".join(map(frame, MESSAGES)))
    return path


def test_checksum_of_a_published_value():
    # RFC 3720, B.4: crc32c of 32 zero bytes is 0x8a9136aa; rotated right by 15 and shifted by 0xa282ead8.
    crc = 0x8A9136AA
    assert masked_crc32c(bytes(32)) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32


def test_files_equal_those_of_tensorflow(written, tmp_path):
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for message in MESSAGES:
            writer.write(message)
    assert written.read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tensorflows_files_are_read_and_their_compression_found(tmp_path, compression):
    import tensorflow as tf

    path = str(tmp_path / "any.name")
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for message in MESSAGES:
            writer.write(message)
    assert detect_compression(path) == compression
    assert [message for _, message in read_records(path)] == MESSAGES
    assert count_examples([path, path]) == 8
    assert locate_damage([path]) is None


def test_offsets_are_those_of_the_file(written):
    contents = written.read_bytes()
    for offset, message in read_records(str(written)):
        assert contents[offset:].startswith(frame(message))


def test_a_flipped_bit_anywhere_is_found_with_file_and_offset(written):
    contents = written.read_bytes()
    second = len(frame(MESSAGES[0]))
    third = second + len(frame(MESSAGES[1]))
    for position, offset in ((0, None), (second + 3, second), (third + 8, third), (third + 100, third)):
        damaged = bytearray(contents)
        damaged[position] ^= 4
        written.write_bytes(damaged)
        found = locate_damage([str(written)])
        assert str(written) in found
        assert "\n" not in found
        assert ("not a TFRecord" in found) if offset is None else (f"offset {offset}:" in found)


def test_every_cut_is_found(written):
    contents = written.read_bytes()
    ends = {0}
    for message in MESSAGES:
        ends.add(max(ends) + len(message) + FRAME_BYTES)
    for cut in [*range(1, 60), len(contents) - 1]:
        written.write_bytes(contents[:cut])
        assert (locate_damage([str(written)]) is None) == (cut in ends)
        if cut not in ends:
            with pytest.raises(InputError, match="records"):
                count_examples([str(written)])


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_a_cut_or_damaged_archive_is_one_line(tmp_path, compress):
    path = tmp_path / "packed"
    packed = compress(b"".join(map(frame, MESSAGES)))
    for contents in (packed[:-9], packed[:20], packed[:30] + b"\xff\xff\xff" + packed[33:]):
        path.write_bytes(contents)
        found = locate_damage([str(path)])
        assert str(path) in found
        assert "\n" not in found


def test_text_is_no_record_file(tmp_path):
    path = tmp_path / "text"
    path.write_text("This is a line of text.\n")
    with pytest.raises(InputError, match="not a TFRecord file"):
        count_examples([str(path)])
    assert "not a TFRecord file" in locate_damage([str(path)])
