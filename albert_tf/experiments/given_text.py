"""Text of the user's: known by what is in its files and how the commands read those; and held out from training."""

import dataclasses
from collections.abc import Mapping

from albert_tf.experiments.steps import Given
from albert_tf.runtime.digests import describe_file, digest_of_described
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import list_files
from albert_tf.runtime.text_endings import COMPRESSED, RAW_FORMATS


@dataclasses.dataclass(frozen=True)
class GivenText(Given):
    """Text that the user names.

    Attributes:
        files: the paths of its files that are not empty, by the SHA-256 of each.
    """

    files: Mapping[str, str]


def read_text(patterns: str, flag: str = "input_file") -> GivenText:
    """The text that comma-separated paths and globs name.

    Raises:
        InputError: there is none.
    """
    paths = list_files(patterns, flag)
    described = [describe_file(path) for path in paths]
    digest = digest_of_described(described)
    formats = list(map(_format_of, paths))
    if any(formats):
        digest += f" {','.join(formats)}"
    files = {about["sha256"]: path for about, path in zip(described, paths, strict=True) if about["bytes"]}
    return GivenText(patterns, digest, files)


def check_held_out(text: GivenText, held_out: Mapping[str, str], where: str) -> None:
    """Refuses text to train on that has a file of the text to evaluate on, by whatever name.

    Args:
        text: to train on.
        held_out: GivenText.files of the text to evaluate on.
        where: the flag or the key that names `text`, for the error.

    Raises:
        InputError: one line that names both files.
    """
    both = [digest for digest in text.files if digest in held_out]
    if both:
        raise InputError(
            f"{where}: {text.files[both[0]]} has the text of {held_out[both[0]]}, of which models are to be evaluated; "
            "nothing of it is held out: leave it out of one of the two"
        )


def _format_of(path: str) -> str:
    """The way in which commands read a file of such an ending; "" for plain text."""
    name = path.lower()
    packed = next((ending for ending in COMPRESSED if name.endswith(ending)), "")
    name = name.removesuffix(packed)
    return next((kind for ending, kind in RAW_FORMATS.items() if name.endswith(ending)), "") + packed
