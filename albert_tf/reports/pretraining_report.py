"""The page of a pre-training run."""

from collections.abc import Sequence

from albert_tf.pretraining.settings import WARMUP_OF_PLANNED
from albert_tf.pretraining.signs_of_trouble import FEWEST_STEPS, Sign, signs_for
from albert_tf.reports.blocks import Block, Figure, Group, Notes, Section
from albert_tf.reports.records_facts import Records, records_blocks
from albert_tf.reports.run_folder import RunFolder
from albert_tf.reports.run_sections import (
    curve_blocks,
    evaluation_blocks,
    model_section,
    progress_figures,
    score_text,
    settings_section,
    speed_section,
    stop_notes,
)

_SCORES = {
    "masked_lm_accuracy": "masked pieces right",
    "masked_lm_loss": "nats a masked piece",
    "sentence_order_accuracy": "pairs right",
}


def pretraining_sections(
    run: RunFolder, records: Sequence[Records], samples: Group | None, sample_note: str, layers: Section | None = None
) -> list[Section]:
    """The sections of a run's page.

    Args:
        run: of pre-training.
        records: that it trained and was evaluated on, as far as they are found.
        samples: masked texts that the newest checkpoint filled in; None for none.
        sample_note: how they came about, or why there are none.
        layers: a look into the model's.
    """
    figures = [*progress_figures(run), *_score_figures(run)]
    warnings = [*run.notes, *stop_notes(run), *signs_of(run)]
    blocks: list[Block] = [Group("figures", figures), *([Notes(warnings, is_warning=True)] if warnings else [])]
    filled: list[Block] = [block for block in (samples, Notes([sample_note]) if sample_note else None) if block]
    sections = [
        Section("", blocks),
        Section("Curves", curve_blocks(run)),
        Section("Held-out data", evaluation_blocks(run)),
        Section("Masked words filled in", filled),
        Section("Records", records_blocks(records)),
        layers,
        model_section(run),
        speed_section(run),
        settings_section(run),
    ]
    return [section for section in sections if section is not None and section.blocks]


def signs_of(run: RunFolder) -> list[str]:
    """The warnings that a run gives of its own figures, from those in its log."""
    steps = run.curves.train.get("masked_lm_loss", ([], []))[0]
    tables = {key: dict(zip(*columns)) for key, columns in run.curves.train.items()}
    first = max(_warmup_end(run), FEWEST_STEPS)
    reports = [
        (step, {key: table[step] for key, table in tables.items() if step in table}) for step in steps if step >= first
    ]
    return [text for sign in signs_for(run.curves.sentence_task) if (text := _tell(sign, reports))]


def _tell(sign: Sign, reports: Sequence[tuple[int, dict[str, float]]]) -> str:
    looked = [(step, figures) for step, figures in reports if sign.figure in figures]
    held = [(step, figures) for step, figures in looked if sign.holds(figures)]
    if not held:
        return ""
    when = f"At {len(held):,} of {len(looked):,} reports after the warm-up, from step {held[0][0]:,} to {held[-1][0]:,}"
    return f"{when}: {sign.text.format(**held[-1][1])}."


def _warmup_end(run: RunFolder) -> int:
    """The step at which the warm-up is over; 0 where the settings are not known."""
    if run.settings is None:
        return 0
    value = run.settings.value
    share = value("warmup_proportion")
    if share is None and value("train_minutes") is not None:
        share = WARMUP_OF_PLANNED
    steps = value("num_warmup_steps") if share is None else round(share * (run.planned_steps or run.last_step))
    return (value("start_warmup_step") or 0) + (steps or 0)


def _score_figures(run: RunFolder) -> list[Figure]:
    best = run.best
    if best is None or best.evaluation is None:
        return []
    return [
        Figure(name, score_text(key, best.evaluation[key]), f"held out, step {best.step:,}")
        for key, name in _SCORES.items()
        if type(best.evaluation.get(key)) in (int, float)
    ]
