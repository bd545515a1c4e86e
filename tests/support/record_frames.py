"""Record files cut into records without a look at their checksums."""

from albert_tf.records.record_files import FRAME_BYTES


def split_frames(framed: bytes) -> list[bytes]:
    """Cuts framed records that follow one another into one bytes object each, still framed."""
    records, at = [], 0
    while at < len(framed):
        end = at + int.from_bytes(framed[at : at + 8], "little") + FRAME_BYTES
        records.append(framed[at:end])
        at = end
    return records
