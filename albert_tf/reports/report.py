"""One page about a run, an experiment, or several runs beside one another: read, put together, written."""

from collections.abc import Sequence

from albert_tf.reports.blocks import Group, Page
from albert_tf.reports.comparison import comparison_sections
from albert_tf.reports.experiment_report import experiment_page, experiments_in
from albert_tf.reports.finetuning_report import finetuning_sections, shown_alone
from albert_tf.reports.layer_figure import layer_section
from albert_tf.reports.masked_samples import fill_in, held_out_texts, read_texts
from albert_tf.reports.page import render
from albert_tf.reports.pretraining_report import pretraining_sections
from albert_tf.reports.records_facts import Records, find_records
from albert_tf.reports.run_folder import (
    DISTILLATION,
    EMBEDDING,
    FINETUNING,
    OF_VECTORS,
    PRETRAINING,
    RunFolder,
    read_run,
)
from albert_tf.reports.vectors_report import vectors_sections
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.run_names import name_runs

_LEADS = {
    **{PRETRAINING: "Pre-training", FINETUNING: "Fine-tuning", "": "A run"},
    **{EMBEDDING: "Training of vectors of texts", DISTILLATION: "Distillation of vectors of texts"},
}
_MOST_RUNS = 8


def write_report(
    output_dirs: Sequence[str], output_file: str, texts_file: str | None = None, num_samples: int = 5
) -> None:
    """Writes a page about one run, about an experiment, or one that compares runs; it needs nothing from elsewhere.

    Args:
        output_dirs: folders of runs of pre-training, of fine-tuning or of vectors, finished or not; or an experiment's.
        output_file: the HTML; appears whole or not at all.
        texts_file: texts with [MASK], one a line, for the newest checkpoint of a pre-training run to fill in; None:
            held-out records, where they still lie.
        num_samples: how many of those; 0 for none, and no figure of layers, and then TensorFlow is not needed.

    Raises:
        InputError: a folder that is no run, more runs than there are colours, texts that cannot be used, or jinja2 is
            not installed.
    """
    if len(output_dirs) > _MOST_RUNS:
        raise InputError(f"--output_dir names {len(output_dirs)} runs; a page compares at most {_MOST_RUNS}")
    texts = read_texts(texts_file) if texts_file else []
    experiment = _experiment_of(output_dirs)
    if experiment is not None:
        if texts:
            raise InputError(f"--texts is for one run of pre-training; {experiment} is an experiment")
        _write(experiment_page(experiment, with_layers=num_samples > 0), output_file)
        return
    runs = [read_run(path, name) for path, name in zip(output_dirs, name_runs(list(output_dirs)))]
    if texts and (len(runs) > 1 or runs[0].command in (FINETUNING, *OF_VECTORS)):
        raise FlagError("--texts is for one run of pre-training, whose newest checkpoint fills them in")
    _write(_page_of(runs[0], texts, num_samples) if len(runs) == 1 else _page_of_several(runs), output_file)


def _write(page: Page, output_file: str) -> None:
    html = render(page)
    with files.replace_file(output_file) as file:
        file.write(html.encode("utf-8", errors="replace"))


def _experiment_of(output_dirs: Sequence[str]) -> str | None:
    """The folder of the experiment that is asked for; None if it is runs that are.

    Raises:
        InputError: an experiment among several folders, or a folder of several experiments.
    """
    for path in output_dirs:
        found = experiments_in(path)
        if found and found != [path]:
            raise InputError(f"{path} holds experiments; name the folder of one: {', '.join(found)}")
        if found and len(output_dirs) > 1:
            raise InputError(f"{path} is an experiment, with a page of its own; received {len(output_dirs)} folders")
        if found:
            return path
    return None


def _page_of(run: RunFolder, texts: list[str], num_samples: int) -> Page:
    is_pretraining = run.command not in (FINETUNING, *OF_VECTORS)
    found = [find_records(run, flag) for flag in ("input_file", "eval_input_file")] if is_pretraining else []
    records = [one for one in found if one]
    layers = layer_section(shown_alone(run)[0], records) if num_samples or texts else None
    if run.command == FINETUNING:
        sections = finetuning_sections(run, layers)
    elif run.command in OF_VECTORS:
        sections = vectors_sections(run, layers)
    else:
        held_out = next((one for one in records if one.title == "held out"), None)
        sections = pretraining_sections(run, records, *_fill_in(run, texts, held_out, num_samples), layers)
    state = "going on, or killed: its run.lock is there" if run.is_locked else ""
    return Page(run.name, ", ".join(filter(None, (f"{_LEADS[run.command]} in {run.path}", state))), sections)


def _page_of_several(runs: Sequence[RunFolder]) -> Page:
    return Page(", ".join(run.name for run in runs), f"{len(runs)} runs side by side", comparison_sections(runs))


def _fill_in(run: RunFolder, texts: list[str], held_out: Records | None, num_samples: int) -> tuple[Group | None, str]:
    """Masked texts filled in, and a remark on them; held-out records where there are no texts."""
    if not run.checkpoints:
        if texts:
            raise InputError(f"{run.path} has no checkpoint that could fill in --texts")
        return None, ""
    step = f"{run.checkpoints[-1].step:,}"
    if texts:
        return fill_in(run, texts), f"By the checkpoint of step {step}."
    try:
        found, truths = held_out_texts(run, held_out, num_samples) if num_samples else ([], [])
        if not found:
            return None, ""
        note = (
            f"Short records of the held-out data, by the checkpoint of step {step}. Each has masks at several places "
            "at once; words that training shows as others stand as they were shown."
        )
        return fill_in(run, found, truths), note
    except InputError as error:
        return None, f"Nothing is filled in: {error}."
