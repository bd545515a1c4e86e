"""Every head in every format and precision: bytes of the file, largest error beside the model, time of a text.

Models have random weights. A file is run by onnxruntime or ai-edge-litert, one text at a time; formats of one head
take turns. Prints one JSON line, and a Markdown table to keep.
"""

import statistics
import time

import numpy as np
from absl import flags

from albert_tf.benchmarks.compare_peers import append_tables
from albert_tf.runtime import command
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr

# Classes of the heads that have some.
_CLASSES = {"classification": 3, "multi_label": 3, "regression": 1, "token_classification": 9, "span_categories": 9}
_FORMS = tuple(
    (format_name, precision)
    for format_name, precisions in (
        ("onnx", ("float32", "bfloat16", "float16", "int8")),
        ("litert", ("float32", "float16", "int8")),
    )
    for precision in precisions
)
_HEADS = ("encoder", "pretraining", *_CLASSES, "multiple_choice", "span", "span_beam")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_base_v2.json", "The model's shape.", **fv)
    flags.DEFINE_list("heads", list(_HEADS), "Which heads.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of the text.", lower_bound=1, **fv)
    flags.DEFINE_integer("repeats", 5, "Turns of each file; the median counts.", lower_bound=1, **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the table to.", **fv)


def _model_and_interface(config, head: str):
    from albert_tf.models.finetuning import make_finetuning_model
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.portable.interface import ENCODER, PRETRAINING, make_interface

    if head in (ENCODER, PRETRAINING):
        return AlbertForPretraining(config), make_interface(head, config), 0
    num_labels = _CLASSES.get(head, 0)
    model = make_finetuning_model(config, head, num_labels)
    beam = model.span.beam_size if head == "span_beam" else 0
    return model, make_interface(head, config, num_labels, has_pooler=model.albert.pooler is not None, beam=beam), beam


def _measure(config, head: str, length: int, repeats: int) -> dict[tuple[str, str], dict[str, float]]:
    """Figures of one head, by format and precision."""
    from albert_tf.portable.export import compute, make_file
    from albert_tf.portable.settings import TOLERANCES
    from albert_tf.portable.verification import largest_error, sample_inputs

    model, interface, beam = _model_and_interface(config, head)
    (text,) = sample_inputs(interface, config, ((1, length),))
    text |= {"input_mask": np.ones_like(text["input_mask"])}
    text |= {"p_mask": np.zeros_like(text["p_mask"])} if "p_mask" in text else {}
    found, runs = {}, {}
    for form in _FORMS:
        with quiet_stderr():
            contents, run = make_file(form[0], model, interface, form[1], beam)
            error = largest_error(
                run, lambda inputs: compute(model, inputs, interface), interface, config, TOLERANCES[form[1]]
            )
        run(text)
        found[form] = {"bytes": len(contents), "largest_error": error}
        runs[form] = run
    turns: dict[tuple[str, str], list[float]] = {form: [] for form in _FORMS}
    for _ in range(repeats):
        for form, run in runs.items():
            begin = time.perf_counter()
            run(text)
            turns[form].append(time.perf_counter() - begin)
    return {form: {**found[form], "milliseconds": 1e3 * statistics.median(turns[form])} for form in _FORMS}


def format_table(results: dict[str, dict[tuple[str, str], dict[str, float]]]) -> str:
    """A Markdown table: a row for each head, a column for each format and precision."""
    lines = ["| head | " + " | ".join(f"{name} {precision}" for name, precision in _FORMS) + " |"]
    lines.append("|---" * (len(_FORMS) + 1) + "|")
    for head, found in results.items():
        cells = (
            "{:.1f} MB, {:.1g}, {:.0f} ms".format(
                *(found[form]["bytes"] / 1e6, found[form]["largest_error"], found[form]["milliseconds"])
            )
            for form in _FORMS
        )
        lines.append(" | ".join([f"| `{head}`", *cells]) + " |")
    return "\n".join(lines) + "\n"


def _run() -> None:
    import_tensorflow()
    from albert_tf.config import AlbertConfig

    given = flags.FLAGS
    config = AlbertConfig.from_json_file(given.albert_config_file)
    results = {head: _measure(config, head, given.max_seq_length, given.repeats) for head in given.heads}
    if given.output_file is not None:
        append_tables(given.output_file, [format_table(results)])
    by_name = {
        head: {f"{name}_{precision}": figures for (name, precision), figures in found.items()}
        for head, found in results.items()
    }
    print(to_json({"benchmark": "export_table", "config": given.albert_config_file, **by_name}))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
