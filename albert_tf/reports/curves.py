"""The charts of one run, or of several over one another."""

import dataclasses
from collections.abc import Callable, Sequence

from albert_tf.analysis.training_log import Curves, is_score
from albert_tf.reports.charts import COLORS, Chart, Curve, line_chart, percent, short_number

_NOTHING: tuple[list[int], list[float]] = ([], [])
_TASKS = {"sop": "sentence order", "nsp": "next sentence", "none": "sentence task"}
_TOKENS, _TRAINING = "tokens", "training"
# The sum is left out where its parts are shown; of runs that count no right answers it may be a squared distance.
_SUM, _LOSS, _LOSS_OF_ANY = "loss", "Loss (nats)", "Loss"


@dataclasses.dataclass(frozen=True)
class _Spec:
    """A chart: its title, the figures of the log that it shows with their names, and how values are written."""

    title: str
    keys: dict[str, str]
    number: Callable[[float], str] = short_number
    bounds: tuple[float | None, float | None] = (None, None)
    is_smoothed: bool = True


_SPECS = (
    _Spec("Loss of masked LM (nats)", {"masked_lm_loss": _TRAINING, "unigram_loss": "without context"}),
    _Spec("Masked pieces right", {"masked_lm_accuracy": _TRAINING}, percent, (0.0, None)),
    _Spec("Loss of {task} (nats)", {"sentence_order_loss": _TRAINING}),
    _Spec("{task}: pairs right", {"sentence_order_accuracy": _TRAINING}, percent),
    _Spec(_LOSS, {_SUM: _TRAINING}),
    _Spec("Examples right", {"accuracy": _TRAINING}, percent),
    _Spec("Cosine with the teacher's vectors", {"cosine": _TRAINING}),
    _Spec("Divergence of relations from the teacher's (nats)", {"relation": _TRAINING}),
    _Spec("Learning rate", {"learning_rate": "of the step"}, bounds=(0.0, None), is_smoothed=False),
    _Spec("Gradient norm, before clipping", {"gradient_norm": _TRAINING}, bounds=(0.0, None)),
    _Spec("Tokens a second, padding included", {"tokens_per_second": _TRAINING}, bounds=(0.0, None)),
    _Spec("Share of what the device reaches", {"matmul_peak_share": _TRAINING}, percent, (0.0, None)),
    _Spec("Share of the time waiting for input", {"input_wait_share": _TRAINING}, percent, (0.0, None)),
    _Spec(
        "Inside the encoder",
        {
            "position_similarity": "similarity of positions",
            "attention_entropy": "entropy of attention",
            "pooler_saturation": "pooler at its ends",
        },
        percent,
        (0.0, 1.0),
        is_smoothed=False,
    ),
)
# Titles of the same figures where they are of vectors of texts.
_OF_VECTORS = {_LOSS: _LOSS_OF_ANY, "Examples right": "Right text is the nearest of the batch"}
# Shown as a line of reference.
_REFERENCES = ("unigram_loss",)
_GRAY = COLORS - 1
_HELD_OUT = "Scores on held-out examples"


def charts_of(run: Curves, of_vectors: bool = False) -> list[Chart]:
    """The charts of one run: training as lines, held-out data as dots; steps below, tokens above.

    Args:
        run: its log.
        of_vectors: whether it trained vectors of texts.
    """
    top = (_TOKENS, tokens_by_step(run))
    charts = []
    for spec in _specs(run):
        curves = [
            Curve(
                name,
                run.train.get(key, _NOTHING),
                color=_GRAY if key in _REFERENCES else number,
                is_dashed=key in _REFERENCES,
                is_smoothed=spec.is_smoothed and key not in _REFERENCES,
            )
            for number, (key, name) in enumerate(spec.keys.items())
        ]
        main = next(iter(spec.keys))
        curves.append(Curve("held out", marks=run.evaluation.get(main, _NOTHING), color=1))
        charts.append(line_chart(_title(spec, [run], of_vectors), curves, spec.number, bounds=spec.bounds, top=top))
    scores = [(name.replace("_", " "), points) for name, points in _scores_of(run).items()]
    charts.append(_score_chart(_HELD_OUT, scores, top))
    return [chart for chart in charts if chart is not None]


def compare_charts(runs: Sequence[Curves], of_vectors: bool = False) -> list[Chart]:
    """The charts of several runs, a colour for each, dashed when all are used; the first figure of each chart alone.

    Args:
        runs: their logs.
        of_vectors: whether all of them trained vectors of texts.
    """
    charts = []
    for spec in {spec.title: spec for run in runs for spec in _specs(run)}.values():
        key = next(iter(spec.keys))
        curves = [
            Curve(
                run.name,
                run.train.get(key, _NOTHING),
                run.evaluation.get(key, _NOTHING),
                color=number,
                is_dashed=number >= COLORS,
                is_smoothed=spec.is_smoothed,
                has_faint=False,
            )
            for number, run in enumerate(runs)
        ]
        is_one_of_several = len(spec.keys) > 1 and spec.keys[key] != _TRAINING
        shown = [run for run in runs if key in run.train or key in run.evaluation]
        title = _title(spec, shown, of_vectors) + (f": {spec.keys[key]}" if is_one_of_several else "")
        charts.append(line_chart(title, curves, spec.number, bounds=spec.bounds))
    scores = [(run.name, *next(iter(_scores_of(run).items()), ("", _NOTHING))) for run in runs]
    metrics = " and ".join(dict.fromkeys(metric.replace("_", " ") for _, metric, _ in scores if metric))
    charts.append(_score_chart(f"{_HELD_OUT}: {metrics}", [(name, points) for name, _, points in scores]))
    return [chart for chart in charts if chart is not None]


def tokens_by_step(run: Curves) -> list[tuple[int, float]]:
    """(step, tokens until then, padding included), from what the log says of each report; [] if it says too little.

    The tokens of an example are those of the report: tokens a second by examples a second.
    """
    steps, examples = run.train.get("examples_seen", _NOTHING)
    speeds = [dict(zip(*run.train.get(f"{name}_per_second", _NOTHING))) for name in (_TOKENS, "examples")]
    found, seen, total = [(0, 0.0)], 0.0, 0.0
    for step, count in zip(steps, examples):
        tokens, rows = (speed.get(step, 0.0) for speed in speeds)
        if not tokens or not rows:
            return []
        total += max(0.0, count - seen) * tokens / rows
        seen = count
        found.append((step, total))
    return found if len(found) > 1 else []


def _specs(run: Curves) -> list[_Spec]:
    """The charts that a run has something for."""
    is_pretraining = "masked_lm_loss" in run.train
    return [
        spec
        for spec in _SPECS
        if any(key in run.train or key in run.evaluation for key in spec.keys)
        and not (is_pretraining and _SUM in spec.keys)
    ]


def _title(spec: _Spec, runs: Sequence[Curves], of_vectors: bool) -> str:
    title = _OF_VECTORS.get(spec.title, spec.title) if of_vectors else spec.title
    if title == _LOSS and not all("accuracy" in run.train for run in runs):
        title = _LOSS_OF_ANY
    *others, last = dict.fromkeys(_TASKS[run.sentence_task] for run in runs)
    title = title.format(task=f"{', '.join(others)} and {last}" if others else last)
    return title[0].upper() + title[1:]


def _scores_of(run: Curves) -> dict[str, tuple[list[int], list[float]]]:
    """The scores of a task or of vectors on held-out data that lie between -1 and 1, the task's own metric first."""
    if "masked_lm_accuracy" in run.evaluation:
        return {}
    return {
        name: (steps, values)
        for name, (steps, values) in run.evaluation.items()
        if is_score(name) and all(-1 <= value <= 1 for value in values)
    }


def _score_chart(title: str, scores: Sequence[tuple[str, tuple[list[int], list[float]]]], top=("", ())) -> Chart | None:
    """Scores as lines with dots; None where nothing was scored twice: one dot tells no more than the table."""
    if all(len(steps) < 2 for _, (steps, _) in scores):
        return None
    curves = [
        Curve(label, points, points, color=number, is_smoothed=False) for number, (label, points) in enumerate(scores)
    ]
    return line_chart(title, curves, lambda value: f"{value:.4g}", top=top)
