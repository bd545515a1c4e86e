"""One flipped bit of a file."""

# The tensors of a checkpoint.
TENSORS = "model.data-00000-of-00001"


def flip_bit(path, place: int = 0, bit: int = 0) -> None:
    """Flips a bit of the byte at a place of the file."""
    with open(path, "r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))
