"""matplotlib, where it is installed: texts that it can draw, figures written whole."""

import contextlib
import warnings
from collections.abc import Iterator

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError


def import_pyplot():
    """matplotlib.pyplot, drawing into files.

    Raises:
        InputError: it is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise InputError("drawing needs matplotlib: pip install 'albert_tf[plot]'") from None
    return pyplot


def drawable(text: str) -> str:
    """A text that matplotlib can draw as it is: it cannot draw lone surrogates, and leaves labels with "_" out."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "?")
    return f" {text}" if text.startswith("_") else text


def save_figure(figure, output_file: str) -> None:
    """Writes a PNG, as a whole or not at all."""
    with _told_of_missing_glyphs(), files.replace_file(output_file) as file:
        figure.savefig(file, format="png", dpi=130)


@contextlib.contextmanager
def _told_of_missing_glyphs() -> Iterator[None]:
    """Says in one line that the font lacks characters, for which matplotlib gives a warning each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if any("Glyph" in str(warning.message) for warning in caught):
        logging.warning("the font lacks some characters of the title or of a name; boxes stand in their place")
