"""Texts in, texts with their masks filled in out: what fill_mask does with texts, a file of them, or lines of stdin."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from albert_tf.rows.answered_rows import ERROR, ROW, Begun
from albert_tf.rows.input_lines import LineFile, check_input, read_lines
from albert_tf.rows.input_rows import OpenRows
from albert_tf.rows.line_rows import InputRow
from albert_tf.rows.prediction_job import Outcome, PredictionJob, run_job
from albert_tf.rows.result_formats import (
    JSONL,
    TABLE,
    LineForm,
    choose_format,
    json_line,
    printable,
)
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.serving.model_identity import identify_model
from albert_tf.tokenization.special_pieces import MASK

_TEXT = "text"


@dataclasses.dataclass(frozen=True)
class MaskPrediction:
    """Settings of fill_mask, in the words of its flags.

    Attributes:
        source: a path, standard input, or texts of the command line; lines are texts, and nothing else.
        top_k: how many pieces for a mask.
        output_file: None for standard output.
        output_format: "jsonl", "table" or "auto".
        batch_size: texts that are run together; of standard input to standard output one.
        overwrite: whether an unfinished job that is a different one is thrown away.
    """

    source: str | BinaryIO | Sequence[str]
    top_k: int = 5
    output_file: str | None = None
    output_format: str = "auto"
    batch_size: int = 32
    overwrite: bool = False


class MaskAsker:
    """A FillMask that is asked about rows of a text each; see answered_rows.Asker.

    Args:
        model: an albert_tf.serving.fill_mask.FillMask.
        top_k: how many pieces for a mask.
    """

    def __init__(self, model: Any, top_k: int):
        self._model, self._top_k = model, top_k

    def begin(self, row: InputRow) -> Begun:
        """See Asker."""
        text = row.values[_TEXT]
        result = {ROW: row.number, _TEXT: text}
        if MASK.lower() not in text.lower():
            # Refused before anything is computed; in a batch it would be the end of the others.
            try:
                self._model.fill_mask([text], self._top_k)
            except InputError as error:
                return result | {ERROR: str(error)}, None
        return result, text

    def order(self, example: str) -> int:
        """By length."""
        return len(example)

    def answer(self, examples: list[str]) -> list[dict[str, Any]]:
        """See Asker."""
        return [dataclasses.asdict(filled) for filled in self._model.fill_mask(examples, self._top_k)]


def fill_rows(model: Any, wanted: MaskPrediction) -> Outcome:
    """Fills in the masks of all texts by a FillMask; errors are those of prediction_job.run_job."""
    file_format = choose_format(wanted.output_format, wanted.output_file)
    if file_format not in (JSONL, TABLE):
        raise FlagError(f"--output_file: masks are written as jsonl, not as {file_format}; give --format=jsonl")
    is_stream = wanted.output_file is None and not isinstance(wanted.source, str) and hasattr(wanted.source, "read")
    flags = {"top_k": wanted.top_k, "format": file_format}
    job = PredictionJob(
        *(wanted.source, wanted.output_file, 1 if is_stream else wanted.batch_size),
        *(lambda: {"files": identify_model(model.saved_model)}, flags, wanted.overwrite),
    )
    form = LineForm(json_line if file_format == JSONL else describe_filled)
    return run_job(job, MaskAsker(model, wanted.top_k), _open(wanted.source), form)


def _open(source: str | BinaryIO | Sequence[str]) -> OpenRows:
    if isinstance(source, str):
        check_input(source)
        file = LineFile(source)
        return OpenRows(_rows(file.lines(), f"{source}, line"), share_read=file.share_read)
    if hasattr(source, "read"):
        return OpenRows(_rows(read_lines(source, "stdin"), "stdin, line"))
    return OpenRows(_rows(source, "argument"))


def _rows(texts: Iterable[str], name: str) -> Iterator[InputRow]:
    return (InputRow(number, f"{name} {number}", {_TEXT: text}) for number, text in enumerate(texts, 1))


def describe_filled(result: Mapping[str, Any]) -> str:
    """A result for a person: the text, under it a table for each mask, and if there are several the best of all."""
    lines = [printable(result[_TEXT])]
    if ERROR in result:
        return "\n".join([*lines, f"  error: {printable(result[ERROR])}", ""])
    masks = result["masks"]
    for number, candidates in enumerate(masks, 1):
        lines += [f"  [MASK] {number}"] if len(masks) > 1 else []
        width = max(len(one["piece"]) for one in candidates)
        lines += [
            f"  {one['probability']:6.4f}  {one['piece']:<{width}}  {printable(one['text'])}" for one in candidates
        ]
    if len(masks) > 1:
        lines.append(f"  => {printable(result['best'])}")
    return "\n".join([*lines, ""])
