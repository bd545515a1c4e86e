"""What a fine-tuned model says of texts: a label, a score, an answer, or tags, as JSON lines or as a table.

predict --saved_model=DIR "A charming film."                       several texts may follow
predict --output_dir=RUN --input_file=texts.tsv --output_file=predictions.jsonl
predict --output_dir=RUN < texts                                   a text in each line, or a JSON object

A file's columns, or the names in a JSON object, are the fields of the task: text, text_pair, question, context, ...
"""

import itertools
import json
import sys
from collections.abc import Iterator

from absl import flags

from albert_tf import command, files
from albert_tf.errors import InputError
from albert_tf.export.export_file import gains_by_frozen_weights


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("saved_model", None, "Folder that export_saved_model wrote.", **fv)
    flags.DEFINE_string("output_dir", None, "A run of run_finetuning, or a checkpoint, instead.", **fv)
    flags.DEFINE_string("input_file", None, "Examples: .tsv or .csv with named columns, .jsonl, or text.", **fv)
    flags.DEFINE_string("output_file", None, "Where the predictions go; left out: standard output.", **fv)
    flags.DEFINE_enum("format", "jsonl", ["jsonl", "tsv"], "Of what is written.", **fv)
    flags.DEFINE_integer("batch_size", 32, "Examples that are run together.", **fv)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    if (given.saved_model is None) == (given.output_dir is None):
        raise InputError("give one of --saved_model and --output_dir")
    if given.input_file is not None and texts:
        raise InputError(f"--input_file takes no further text. Received {texts[0]!r}")
    if given.batch_size < 1:
        raise InputError(f"--batch_size must be at least 1. Received {given.batch_size}.")
    command.import_tensorflow(gains_by_frozen_weights(given.saved_model or ""))
    with command.quiet_stderr():
        from albert_tf.export.predictor import Predictor
    predictor = Predictor(given.saved_model or given.output_dir)
    if given.input_file is not None and not given.input_file.endswith(".txt"):
        examples = _rows_of(given.input_file)
    elif given.input_file is not None:
        examples = _examples_in(files.open_binary(given.input_file), given.input_file, predictor.fields)
    elif texts:
        examples = _examples_in([text.encode() for text in texts], "argument", predictor.fields)
    else:
        examples = _examples_in(sys.stdin.buffer, "stdin, line", predictor.fields)
    lines = _predict(predictor, examples, given.batch_size, given.format)
    if given.output_file is None:
        for line in lines:
            print(line, flush=True)  # noqa: T201
        return
    with files.replace_file(given.output_file) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


def _rows_of(path: str) -> Iterator[tuple[str, dict]]:
    from albert_tf.tasks.tables import read_rows

    yield from ((row.where, row.values) for row in read_rows(path))


def _examples_in(lines, name: str, fields) -> Iterator[tuple[str, dict]]:
    """(where, fields) of each line: a JSON object, or the text of a task that takes one text only."""
    for number, line in enumerate(lines, 1):
        where = f"{name} {number}"
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            raise InputError(f"{where}: not UTF-8; convert it first") from None
        if text.startswith("{"):
            try:
                yield where, json.loads(text)
            except ValueError as error:
                raise InputError(f"{where}: not JSON: {error}") from None
        elif text and any(not field.endswith("?") for field in fields[1:]):
            raise InputError(f"{where}: this task takes {', '.join(fields)}: write them as a JSON object")
        elif text:
            yield where, {fields[0]: text}


def _predict(predictor, examples, batch_size: int, file_format: str) -> Iterator[str]:
    header_written = False
    while batch := list(itertools.islice(examples, batch_size)):
        predictions = predictor.predict([values for _, values in batch], [where for where, _ in batch])
        for prediction in predictions:
            if file_format == "jsonl":
                yield json.dumps(prediction, ensure_ascii=False)
                continue
            cells = _cells(prediction)
            if not header_written:
                header_written = True
                yield "\t".join(cells)
            yield "\t".join(" ".join(str(cell).split()) for cell in cells.values())


def _cells(prediction: dict) -> dict:
    """A prediction as columns: a list as words, probabilities one by one."""
    cells = {}
    for name, value in prediction.items():
        if isinstance(value, dict):
            cells |= {f"{name}: {key}": part for key, part in value.items()}
        else:
            cells[name] = " ".join(map(str, value)) if isinstance(value, list) else value
    return cells


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, positional="text", required=(("saved_model", "output_dir"),))


if __name__ == "__main__":
    main()
