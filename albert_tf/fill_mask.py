"""Fills in masked words, or judges the order of two texts.

fill_mask --model=DIR "The capital of France is [MASK]."    several texts may follow; without any, stdin is read
fill_mask --model=hf://albert/albert-base-v2 "The capital of France is [MASK]."
fill_mask --model=DIR --first="It rained." --second="So we stayed in."

The model is a run of run_pretraining, an export of it (a SavedModel, or ONNX or LiteRT, which need no TensorFlow), a
checkpoint, or hf:// or official:// published weights: what lies there is recognised.

Every text, and every line of stdin, gives one result, in order; one without [MASK] has an error in place of an answer.
"""

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.serving import model_flags
from albert_tf.serving.export_file import gains_by_frozen_weights
from albert_tf.serving.model_kind import PORTABLE, kind_of

# The first is the flag's own name, the other an older one.
_NAMES = ("model", "saved_model")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    model_flags.define_model_flags(_NAMES, flag_values)
    flags.DEFINE_integer("top_k", 5, "How many pieces to show for each [MASK].", **fv)
    flags.DEFINE_string("first", None, "With --second: print the probability that the two stand in order.", **fv)
    flags.DEFINE_string("second", None, "The text that is to follow --first.", **fv)
    flags.DEFINE_enum(
        "format", "auto", ["auto", "jsonl", "table"], "Results; auto: jsonl, on a terminal a table.", **fv
    )


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    judge_order = given.first is not None or given.second is not None
    if judge_order and (given.first is None or given.second is None):
        raise InputError("--first and --second go together; one of them is missing")
    if judge_order and texts:
        raise InputError(f"--first and --second take no further text. Received {texts[0]!r}")
    if given.top_k < 1:
        raise InputError(f"--top_k must be at least 1. Received {given.top_k}")
    path = model_flags.model_of(given, _NAMES)
    if kind_of(path) != PORTABLE:
        import_tensorflow(gains_by_frozen_weights(path), log_level=3)
    with quiet_stderr():
        from albert_tf.serving.fill_mask import FillMask
        from albert_tf.serving.input_lines import read_lines
        from albert_tf.serving.result_formats import TABLE, choose_format, to_bytes
    model = FillMask(path, given.num_threads)
    as_table = choose_format(given.format) == TABLE
    if judge_order:
        in_order, swapped = model.order(given.first, given.second)
        results: Iterable[dict[str, Any]] = [
            {"first": given.first, "second": given.second, "in_order": in_order, "swapped": swapped}
        ]
    else:
        results = _fill(model, texts or read_lines(sys.stdin.buffer, "stdin"), given.top_k)
    errors = []
    for result in results:
        errors += [result["error"]] if "error" in result else []
        sys.stdout.buffer.write(to_bytes(_layout(result) if as_table else to_json(result, ensure_ascii=False)))
        sys.stdout.buffer.flush()
    if errors:
        raise InputError(f"{len(errors)} texts without an answer, each with its error; the first: {errors[0]}")


def _fill(model, texts: Iterable[str], top_k: int) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(texts, 1):
        try:
            (filled,) = model.fill_mask([text], top_k)
        except InputError as error:
            yield {"row": number, "text": text, "error": str(error)}
        else:
            yield {"row": number, **dataclasses.asdict(filled)}


def _layout(result: dict[str, Any]) -> str:
    """A result for a person: the text, under it a table for each mask, and if there are several the best of all."""
    from albert_tf.serving.result_formats import printable

    if "in_order" in result:
        return f"in order  {result['in_order']:.4f}\nswapped   {result['swapped']:.4f}"
    lines = [printable(result["text"])]
    if "error" in result:
        return "\n".join([*lines, f"  error: {printable(result['error'])}", ""])
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


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
