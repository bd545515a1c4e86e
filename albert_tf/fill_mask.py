"""Fills in masked words, or judges the order of two texts, with a SavedModel of export_saved_model.

fill_mask --saved_model=DIR "The capital of France is [MASK]."    several texts may follow; without any, stdin is read
fill_mask --saved_model=DIR --first="It rained." --second="So we stayed in."
"""

import sys
from collections.abc import Iterator

from absl import flags

from albert_tf import command
from albert_tf.errors import InputError
from albert_tf.export.export_file import gains_by_frozen_weights


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("saved_model", None, "Folder that export_saved_model wrote.", **fv)
    flags.DEFINE_integer("top_k", 5, "How many pieces to show for each [MASK].", **fv)
    flags.DEFINE_string("first", None, "With --second: print the probability that the two stand in order.", **fv)
    flags.DEFINE_string("second", None, "The text that is to follow --first.", **fv)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    judge_order = given.first is not None or given.second is not None
    if judge_order and (given.first is None or given.second is None):
        raise InputError("--first and --second go together; one of them is missing")
    if judge_order and texts:
        raise InputError(f"--first and --second take no further text. Received {texts[0]!r}")
    command.import_tensorflow(gains_by_frozen_weights(given.saved_model))
    with command.quiet_stderr():
        from albert_tf.export.served_model import ServedModel
    model = _quietly(ServedModel, given.saved_model)
    if judge_order:
        in_order, swapped = _quietly(model.order, given.first, given.second)
        sys.stdout.write(f"in order  {in_order:.4f}\nswapped   {swapped:.4f}\n")
        return
    for batch in [texts] if texts else ([line] for line in _lines_of_stdin()):
        for filled in _quietly(model.fill_mask, batch, given.top_k):
            sys.stdout.write(_layout(filled))
        sys.stdout.flush()


def _quietly(function, *arguments):
    """Calls a function without what TensorFlow prints when it loads a graph or first runs it."""
    with command.quiet_stderr():
        try:
            return function(*arguments)
        except InputError as error:
            mistake = error
    raise mistake


def _lines_of_stdin() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            raise InputError(f"stdin, line {number}: not UTF-8; convert it first") from None
        if text:
            yield text


def _layout(filled) -> str:
    """A FilledText for a person: the text, under it a table for each mask, and if there are several the best of all."""
    lines = [filled.text]
    for number, candidates in enumerate(filled.masks, 1):
        lines += [f"  [MASK] {number}"] if len(filled.masks) > 1 else []
        width = max(len(candidate.piece) for candidate in candidates)
        lines += [f"  {one.probability:6.4f}  {one.piece:<{width}}  {one.text}" for one in candidates]
    if len(filled.masks) > 1:
        lines.append(f"  => {filled.best}")
    return "\n".join(lines) + "\n\n"


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, positional="text", required=("saved_model",))


if __name__ == "__main__":
    main()
