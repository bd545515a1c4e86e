"""Scores of a fine-tuned model on its dev split in every format and precision, and the bytes of each file.

python -m albert_tf.benchmarks.export_scores --init_checkpoint=runs/mrpc --data_dir=glue/MRPC

Each file is exported, checked and opened as a user would, and given the features of the whole split. Prints one JSON
line, and a Markdown table to keep.
"""

import os
import tempfile
from collections.abc import Sequence

from absl import flags

from albert_tf.benchmarks.compare_peers import append_tables
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr

_USUAL_FORMS = ("onnx_float32", "onnx_int8", "litert_int8")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("init_checkpoint", None, "A fine-tuned run's --output_dir, or a checkpoint of it.", **fv)
    flags.DEFINE_string("data_dir", None, "Folder with the files of its task.", **fv)
    flags.DEFINE_list("forms", list(_USUAL_FORMS), "Formats and precisions, compared with the first.", **fv)
    flags.DEFINE_string("output_file", None, "Markdown file to append the table to.", **fv)


def dev_split(checkpoint: str, data_dir: str, folder: str):
    """The checkpoint's task, its settings and its first dev split, whose features are kept in the folder."""
    from albert_tf.conversion.pretrained import stored_tasks
    from albert_tf.finetuning.finetune import open_data
    from albert_tf.finetuning.settings import FinetuningSettings
    from albert_tf.tasks.registry import TaskOptions
    from albert_tf.tasks.task import TaskSettings

    stored = next(stored_tasks(checkpoint, None), None)
    if stored is None:
        raise InputError(f"--init_checkpoint={checkpoint} is no fine-tuned run; run_finetuning makes one")
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.options.items()}
    settings = FinetuningSettings(
        task_name=stored.name,
        data_dir=data_dir,
        init_checkpoint=checkpoint,
        output_dir=folder,
        task_settings=TaskSettings(**stored.settings),
        task_options=TaskOptions(**given),
        do_eval=True,
    )
    _, data = open_data(settings)
    return data.task, settings.task_settings, data.dev_splits()[0]


def _measure(folder: str, task, settings, split) -> dict[str, float]:
    """Bytes of the file of an export, and its scores on a split."""
    from albert_tf.serving.like_lengths import run_rows, to_row
    from albert_tf.serving.portable_model import PortableModel

    model = PortableModel(folder)
    pad_id = model.tokenizer().pad_id
    rows = [to_row(feature, pad_id) for feature in split.features]
    outputs = {form["name"]: [None] * len(rows) for form in model.about["outputs"]}
    for number, row in run_rows(model, rows, pad_id):
        for name, values in row.items():
            outputs[name][number] = values
    scores = task.scores(split.examples, task.predictions(split.examples, split.features, outputs, settings))
    return {"bytes": os.path.getsize(os.path.join(folder, model.about["model_file"])), **scores}


def format_table(results: dict[str, dict[str, float]], metrics: Sequence[str]) -> str:
    """A Markdown table of a task: a row for each form, with what it loses to the first in brackets; in percent.

    Args:
        results: figures by form.
        metrics: of the task, the scores for which higher is better.
    """
    first, *_ = results.values()
    names = [name for name in first if name in metrics]
    lines = ["| | MB | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for form, found in results.items():
        cells = [f"{100 * found[name]:.2f} ({100 * (found[name] - first[name]):+.2f})" for name in names]
        lines.append(f"| {form} | {found['bytes'] / 1e6:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _run() -> None:
    command.require_flags("init_checkpoint", "data_dir")
    import_tensorflow()
    from albert_tf.portable.export import export_model
    from albert_tf.portable.settings import ModelExportSettings

    given, results = flags.FLAGS, {}
    with tempfile.TemporaryDirectory() as folder:
        task, settings, split = dev_split(given.init_checkpoint, given.data_dir, os.path.join(folder, "data"))
        for form in given.forms:
            format_name, _, precision = form.partition("_")
            output_dir = os.path.join(folder, form)
            with quiet_stderr():
                export_model(
                    ModelExportSettings(
                        init_checkpoint=given.init_checkpoint,
                        output_dir=output_dir,
                        format=format_name,
                        precision=precision,
                    )
                )
            results[form] = _measure(output_dir, task, settings, split)
    if given.output_file is not None:
        append_tables(given.output_file, [format_table(results, task.metrics)])
    print(to_json({"benchmark": "export_scores", "task": task.name, **results}))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
