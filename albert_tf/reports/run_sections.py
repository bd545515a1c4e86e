"""The parts of a page that runs of every kind have: how far it came, its curves, model, settings, and warnings."""

from collections.abc import Sequence

from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC
from albert_tf.config import AlbertConfig
from albert_tf.reports.blocks import Block, Figure, Group, Notes, Section, Table
from albert_tf.reports.charts import short_number
from albert_tf.reports.curves import charts_of, tokens_by_step
from albert_tf.reports.model_parts import count_parts, count_pretraining_heads
from albert_tf.reports.run_folder import OF_VECTORS, PRETRAINING, RunFolder
from albert_tf.reports.run_settings import Setting, show_value

# Evaluations that are listed; the curve shows them all.
_MOST_EVALUATIONS = 25
_SHAPE = (
    *("num_hidden_layers", "num_hidden_groups", "inner_group_num", "hidden_size", "embedding_size"),
    *("num_attention_heads", "intermediate_size", "vocab_size", "max_position_embeddings", "hidden_act"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "parameter_sharing"),
)


def duration(seconds: float) -> str:
    """A time as a person says it: "41 s", "12 min", "3 h 05 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def score_text(name: str, value: float) -> str:
    """A score of a log or a results.json: shares of what was right in per cent, everything else as a number."""
    if ("accuracy" in name or name == "exact") and 0 <= value <= 1:
        return f"{100 * value:.2f} %"
    return f"{value:,.0f}" if name.startswith("num_") or isinstance(value, int) else f"{value:.4f}"


def progress_figures(run: RunFolder) -> list[Figure]:
    """Figures of how far the run came, how large its model is, and how long it took."""
    planned, done = run.planned_steps, run.last_step
    figures = [Figure("steps", f"{done:,}", f"of {planned:,}" if planned else "")]
    if run.curves.starts and type(run.curves.starts[-1].get("parameters")) is int:
        figures.append(Figure("parameters", short_number(run.curves.starts[-1]["parameters"])))
    examples = run.curves.train.get("examples_seen", ([], []))[1]
    epochs = run.curves.train.get("epochs", ([], []))[1]
    if examples:
        figures.append(Figure("examples", short_number(examples[-1]), f"{epochs[-1]:,.2f} epochs" if epochs else ""))
    if tokens := tokens_by_step(run.curves):
        figures.append(Figure("tokens", short_number(tokens[-1][1]), "padding included"))
    if seconds := run.curves.train.get("seconds", ([], []))[1]:
        figures.append(Figure("time in steps", duration(sum(seconds))))
    return figures


def speed_figures(run: RunFolder) -> list[Figure]:
    """Medians of speed over the reports."""
    names = {
        "tokens_per_second": "tokens a second",
        "examples_per_second": "examples a second",
        "model_flops_per_second": "FLOP a second, of matrix products",
        "matmul_peak_share": "of what the device reaches",
        "input_wait_share": "of the time waiting for input",
    }
    figures = []
    for key, name in names.items():
        if values := sorted(run.curves.train.get(key, ([], []))[1]):
            middle = values[len(values) // 2]
            figures.append(Figure(name, f"{100 * middle:.1f} %" if "share" in key else short_number(middle), "median"))
    for start in run.curves.starts[-1:]:
        words = [str(start[key]) for key in ("precision",) if start.get(key)]
        if type(start.get("replicas")) is int:
            words.append(f"{start['replicas']} device{'s' if start['replicas'] > 1 else ''}")
        if words:
            figures.append(Figure("computed in", words[0], ", ".join(words[1:])))
    return figures


def curve_blocks(run: RunFolder) -> list[Block]:
    """The curves of a run, or a line that there are none."""
    charts = charts_of(run.curves, run.command in OF_VECTORS)
    return [Group("charts", charts)] if charts else [Notes(["No step was reported yet."])]


def speed_section(run: RunFolder) -> Section | None:
    """Speed, and when processes took the run up."""
    blocks: list[Block] = []
    figures = speed_figures(run)
    if figures:
        rows = [[one.name, one.value, one.remark] for one in figures]
        blocks.append(Table(["", "", ""], rows, words=1))
    if len(run.curves.starts) > 1:
        keys = ("precision", "replicas", "batch_size", "gradient_accumulation_steps")
        rows = [[f"{start['step']:,}", *(show_value(start.get(key)) for key in keys)] for start in run.curves.starts]
        columns = ["taken up at step", "precision", "devices", "batch", "micro-batches"]
        blocks.append(Table(columns, rows, "Processes that trained it", words=0))
    return Section("Speed", blocks) if blocks else None


def stop_notes(run: RunFolder) -> list[str]:
    """Notes on losses that were not finite, by what the run left of them."""
    notes = []
    for name, stop in run.stops.items():
        values = {key: value for key, value in stop.items() if type(value) in (int, float, str)}
        shown = ", ".join(f"{key} {value}" for key, value in list(values.items())[:6])
        notes.append(f"{name}: a loss that was not finite ({shown}).")
    for key, text in {
        "nonfinite_steps": "steps were left out because their loss was not finite",
        "overflow_steps": "steps were left out because gradients overflowed in float16; the scale of the loss fell",
    }.items():
        counts = run.curves.train.get(key, ([], []))[1]
        if counts and counts[-1]:
            notes.append(f"{counts[-1]:,.0f} {text}.")
    return notes


def evaluation_blocks(run: RunFolder, title: str = "By checkpoint") -> list[Block]:
    """The evaluations in training, the checkpoints that are still there, and which is the best."""
    kept = {one.step: one for one in run.checkpoints}
    found: dict[int, dict[str, float]] = {}
    for name, (steps, values) in run.curves.evaluation.items():
        for step, value in zip(steps, values):
            found.setdefault(step, {})[name] = value
    for step, one in kept.items():
        if one.evaluation is not None:
            found[step] = {key: value for key, value in one.evaluation.items() if type(value) in (int, float)}
    if not found:
        return []
    best = run.best.step if run.best else None
    shown = sorted(found)[-_MOST_EVALUATIONS:]
    shown = [best, *shown] if best is not None and best not in shown else shown
    names = list(dict.fromkeys(name for step in shown for name in found[step] if name != BEST_METRIC))
    rows = []
    for step in shown:
        remark = "best" if step == best else "kept" if step in kept else ""
        cells = [score_text(name, found[step][name]) if name in found[step] else "–" for name in names]
        rows.append([f"{step:,}", *cells, remark])
    left_out = len(found) - len(shown)
    note = f"{left_out} earlier evaluations are in train_log.jsonl." if left_out else ""
    columns = ["step", *(name.replace("_", " ") for name in names), "checkpoint"]
    return [Table(columns, rows, title, words=0, note=note)]


def model_section(run: RunFolder) -> Section | None:
    """The shape of the model, and its parameters by part."""
    if run.config is None:
        return None
    start = run.curves.starts[-1] if run.curves.starts else {}
    whole = start.get("parameters") if type(start.get("parameters")) is int else None
    parts = parts_of(run.config, run.command, whole)
    total = sum(parts.values())
    rows = [[part, f"{count:,}", f"{100 * count / total:.1f} %"] for part, count in parts.items() if count]
    rows.append(["together", f"{total:,}", ""])
    shape = [[name, show_value(getattr(run.config, name))] for name in _SHAPE]
    blocks = [Table(["part", "parameters", "share"], rows), Table(["", ""], shape, "albert_config.json")]
    return Section("Model", blocks)


def parts_of(config: AlbertConfig, command: str, whole: int | None) -> dict[str, int]:
    """The parameters of a run's model by part.

    Args:
        config: of the model.
        command: that trains it; "" for the encoder alone.
        whole: all parameters as the run counted them; what no part accounts for is the head's. None: not known.
    """
    parts = count_parts(config) | (count_pretraining_heads(config) if command == PRETRAINING else {})
    rest = 0 if whole is None else whole - sum(parts.values())
    name = "pooler or dense layer, to a vector" if command in OF_VECTORS else "pooler and head of the task"
    return parts | ({name: rest} if rest > 0 else {})


def settings_section(run: RunFolder) -> Section | None:
    """The flags of the run: those that are not at their defaults first, the others folded away."""
    if run.settings is None:
        return None
    changed = [one for one in run.settings.settings if one.is_changed()]
    rest = [one for one in run.settings.settings if not one.is_changed() and one.is_given]
    blocks: list[Block] = [
        Table(["flag", "value", "default"], _rows(changed, with_default=True), "Different from the defaults", words=3)
    ]
    if rest:
        title = f"{len(rest)} more, as they are by default"
        blocks.append(Table(["flag", "value"], _rows(rest, with_default=False), title, words=2, is_folded=True))
    return Section("Settings", blocks)


def _rows(settings: Sequence[Setting], with_default: bool) -> list[list[str]]:
    """A row for each flag; one of a single cell, the group's title, before those of a group."""
    rows: list[list[str]] = []
    group = ""
    for one in settings:
        if one.group != group:
            group = one.group
            rows.append([group])
        value = [f"--{one.name}", show_value(one.value)]
        rows.append([*value, show_value(one.default)] if with_default else value)
    return rows
