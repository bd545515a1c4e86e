"""The results of several runs in one: by learning rate, over seeds or folds; and results as a table."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from albert_tf.finetuning.evaluation import format_scores

# What varies between the results of several runs: name in a result, word in a table.
_VARYING = (("learning_rate", "rate"), ("random_seed", "seed"), ("fold", "fold"))


def summarise(results: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    """Median, best and spread of several runs; of several learning rates also of each.

    Args:
        results: of each, as FinetuningRun.run returns them; with "learning_rate" and "fold" where these vary.
        metric: by which the best run is chosen, on the first dev split.

    Returns:
        "scores", "best" and "spread" {split: {score: number}}: the medians, of folds the means; those of the best run;
        largest less smallest. "checkpoint" of the best run; "seeds", the results themselves, or "runs" where more than
        the seed varies. Of several rates, "rates" has these of each, and "scores" and "spread" are those of
        "best_learning_rate", whose median is the highest.
    """
    key = "runs" if any(name in results[0] for name in ("learning_rate", "fold")) else "seeds"
    summary: dict[str, Any] = {"task_name": results[0]["task_name"], "metric": metric, key: results}
    if "scores" not in results[0]:
        return summary
    first = next(iter(results[0]["scores"]))
    best = max(results, key=lambda result: result["scores"][first][metric])
    summary |= {"checkpoint": best["checkpoint"], "best_seed": best["random_seed"], "best": best["scores"]}
    rates = list(dict.fromkeys(result.get("learning_rate") for result in results))
    by_rate = {rate: _over_runs([one for one in results if one.get("learning_rate") == rate]) for rate in rates}
    chosen = max(rates, key=lambda rate: by_rate[rate]["scores"][first][metric])
    if len(rates) > 1:
        summary["rates"] = [{"learning_rate": rate, **by_rate[rate]} for rate in rates]
        summary["best_learning_rate"] = chosen
    return summary | by_rate[chosen]


def _over_runs(results: list[dict[str, Any]]) -> dict[str, Any]:
    """{"scores", "spread"} of runs: medians, of folds means; largest less smallest; of the runs that have the score.

    A fold may lack some: without a question that has no answer there is no NoAns_f1.
    """
    centre: Callable = statistics.fmean if "fold" in results[0] else statistics.median
    reducers: dict[str, Callable] = {"scores": centre, "spread": lambda values: max(values) - min(values)}
    found: dict[str, dict[str, list[float]]] = {}
    for result in results:
        for split, scores in result["scores"].items():
            of_split = found.setdefault(split, {})
            for name, value in scores.items():
                of_split.setdefault(name, []).append(value)
    return {
        key: {split: {name: reduce(values) for name, values in scores.items()} for split, scores in found.items()}
        for key, reduce in reducers.items()
    }


def format_results(results: dict[str, Any]) -> str:
    """The scores as a table for a person; one line where nothing was scored."""
    if "scores" not in results and "test_scores" not in results:
        return f"{results['task_name']}: no evaluation"
    rows = list(results.get("test_scores", {}).items())
    runs = results.get("runs", results.get("seeds"))
    for split, scores in results.get("scores", {}).items():
        if runs is None:
            rows.append((split, scores))
        else:
            rows += _rows_of_runs(split, results, runs)
    for split, scores in results.get("ensemble", {}).get("scores", {}).items():
        rows.append((f"{split}, ensemble of {len(runs or ())}", scores))
    return format_scores(rows)


def _rows_of_runs(split: str, results: dict[str, Any], runs: Sequence[dict[str, Any]]) -> list[tuple[str, dict]]:
    """A line for each run; then what they come to, of each rate where there are several."""
    words = [(name, word) for name, word in _VARYING if any(run.get(name) != runs[0].get(name) for run in runs)]
    # Runs of one seed each are told apart by it all the same.
    words = words or [("random_seed", "seed")]
    rows = []
    for run in runs:
        told = ", ".join(f"{word} {run[name]}" for name, word in words)
        rows.append((f"{split}, {told}", run["scores"][split]))
    centre = "mean" if "fold" in runs[0] else "median"
    for rate in results.get("rates", ()):
        rows.append((f"{split}, {centre} of rate {rate['learning_rate']}", rate["scores"][split]))
        rows.append((f"{split}, spread of rate {rate['learning_rate']}", rate["spread"][split]))
    if "rates" in results:
        return [*rows, (f"{split}, best", results["best"][split])]
    return rows + [(f"{split}, {word}", results[key][split]) for word, key in _summary(centre)]


def _summary(centre: str) -> tuple[tuple[str, str], ...]:
    return ((centre, "scores"), ("best", "best"), ("spread", "spread"))
