"""SQuAD v1.1 and v2.0: one task, in which questions may or may not go without an answer."""

import copy
import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks import reports
from albert_tf.tasks.split_files import SplitFiles, SplitFilesTask
from albert_tf.tasks.squad_answers import SquadPrediction, best_answers
from albert_tf.tasks.squad_examples import SquadExample, read_squad
from albert_tf.tasks.squad_scores import best_threshold, gold_texts, means_by_kind, raw_scores
from albert_tf.tasks.squad_windows import squad_features
from albert_tf.tasks.task import Report, with_all_labels_or_none
from albert_tf.tasks.text_classification import text_fields

VERSIONS = {"squad_v1": "v1.1", "squad_v2": "v2.0"}
# Where no other threshold is known: the model finds an answer and none equally likely.
_DEFAULT_THRESHOLD = 0.0
# Of the scores, the threshold that test splits and exported models go by.
_THRESHOLD_SCORE = "best_f1_thresh"


class SquadTask(SplitFilesTask):
    """Questions whose answers stand in a paragraph."""

    def __init__(
        self,
        name: str,
        split_files: SplitFiles,
        beam: bool | None = None,
        null_score_diff_threshold: float | None = None,
    ):
        """Looks at no file yet.

        Args:
            name: squad_v1 or squad_v2.
            split_files: where the files are.
            beam: whether to use the head that chooses the end given the start; None: on v2.0, as the official code.
            null_score_diff_threshold: null odds above which the answer is "no answer"; None: `scores` finds the best
                one for a dev split, with_threshold carries it to other splits, and without it is 0.
        """
        self.name, self.split_files = name, split_files
        self.with_impossible = name == "squad_v2"
        self.is_beam = self.with_impossible if beam is None else beam
        self.head = "span_beam" if self.is_beam else "span"
        self.metric = "best_f1" if self.with_impossible else "f1"
        self.null_score_diff_threshold = null_score_diff_threshold
        if self.with_impossible and null_score_diff_threshold is None:
            self.threshold_score = _THRESHOLD_SCORE

    cut_by = ("max_query_length",)
    threshold_title = "a question has no answer where its null_odds exceed"

    @property
    def metrics(self):
        return ("f1", "exact", "best_f1", "best_exact") if self.with_impossible else ("f1", "exact")

    def with_threshold(self, threshold: float) -> "SquadTask":
        """The task with these null odds in place of those that are best for the split at hand."""
        task = copy.copy(self)
        task.null_score_diff_threshold, task.threshold_score = threshold, None
        return task

    def examples(self, split: str) -> list[SquadExample]:
        path = self.split_files.find(split)
        examples = read_squad(path, self.with_impossible, need_answers=split != "test")
        return with_all_labels_or_none(examples, path, is_impossible=None, answers=())

    @property
    def input_fields(self) -> tuple[str, ...]:
        return "question", "context"

    def make_example(self, fields: Mapping[str, Any], where: str) -> SquadExample:
        return SquadExample(where, *text_fields(fields, self.input_fields, where))

    def features(self, index, example, tokenizer, settings):
        """One feature for each window over the paragraph; see squad_windows."""
        return squad_features(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings) -> list[SquadPrediction]:
        return best_answers(examples, features, outputs, settings, self.is_beam, self.with_impossible)

    def scores(self, examples, predictions) -> dict[str, float]:
        """Exact match and F1; on v2.0 also the best there could be, with the threshold that gives it.

        Those of v2.0 go by the threshold of the task, else by the one with the best F1 on these very questions: that
        is what a dev split is for.
        """
        _require_truth(self.name, examples)
        has_answer = [not example.is_impossible for example in examples]
        best: dict[str, float] = {}
        task = self
        if self.with_impossible:
            for name, (score, threshold) in self._best_thresholds(examples, predictions).items():
                best |= {f"best_{name}": score, f"best_{name}_thresh": threshold}
            if self.null_score_diff_threshold is None:
                task = self.with_threshold(best[_THRESHOLD_SCORE])
        return means_by_kind(self._raw_scores(examples, task.answers(predictions)), has_answer) | best

    def answers(self, predictions: Sequence[SquadPrediction]) -> list[str]:
        """The answer to each question; "" where none is more likely, by the threshold of the task, else by 0."""
        if not self.with_impossible:
            return [prediction.best.text for prediction in predictions]
        given = self.null_score_diff_threshold
        threshold = _DEFAULT_THRESHOLD if given is None else given
        return ["" if p.null_odds > threshold else p.best.text for p in predictions]

    def _best_thresholds(self, examples, predictions) -> dict[str, tuple[float, float]]:
        texts, odds = [p.best.text for p in predictions], [p.null_odds for p in predictions]
        has_answer = [not example.is_impossible for example in examples]
        return {
            name: best_threshold(values, texts, has_answer, odds)
            for name, values in self._raw_scores(examples, texts).items()
        }

    def _raw_scores(self, examples: Sequence[SquadExample], texts: Sequence[str]) -> dict[str, list[float]]:
        return raw_scores(examples, texts, self.with_impossible)

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes predictions.json, nbest_predictions.json and, on v2.0, null_odds.json.

        Their names begin with SPLIT_, but for the dev split.
        """
        contents: dict[str, Any] = {
            "predictions.json": dict(zip(_ids(examples), self.answers(predictions))),
            "nbest_predictions.json": {
                example.qas_id: [
                    {
                        "text": candidate.text,
                        "probability": candidate.probability,
                        "start_log_prob" if self.is_beam else "start_logit": candidate.start_score,
                        "end_log_prob" if self.is_beam else "end_logit": candidate.end_score,
                    }
                    for candidate in prediction.candidates
                ]
                for example, prediction in zip(examples, predictions)
            },
        }
        if self.with_impossible:
            contents["null_odds.json"] = dict(zip(_ids(examples), [p.null_odds for p in predictions]))
        prefix = "" if split == "dev" else f"{split}_"
        paths = [os.path.join(folder, prefix + name) for name in contents]
        for path, values in zip(paths, contents.values()):
            files.write_json(path, values)
        return paths

    def report(self, examples, predictions) -> Report:
        """Counts the answers that are right, partly right, wrong, missed or made up; lists the surest wrong ones."""
        _require_truth(self.name, examples)
        answers = self.answers(predictions)
        values = self._raw_scores(examples, answers)
        kinds = [_kind(*row) for row in zip(examples, answers, values["exact"], values["f1"])]
        counts = {kind: kinds.count(kind) for kind in _KINDS}
        wrong = [i for i, kind in enumerate(kinds) if not kind.startswith("right")]
        wrong.sort(key=lambda i: (values["f1"][i], -predictions[i].best.probability))
        errors = [
            {
                "id": examples[i].qas_id,
                "kind": kinds[i],
                "question": examples[i].question,
                "prediction": answers[i],
                "gold": gold_texts(examples[i], self.with_impossible),
                "f1": values["f1"][i],
            }
            for i in wrong[: reports.ERRORS_LISTED]
        ]
        lines = reports.table_lines(
            ["answers", "questions"], [[kind, count] for kind, count in counts.items() if count]
        )
        for error in errors[:5]:
            said = to_json(error["prediction"], ensure_ascii=False)
            truth = to_json(error["gold"][0], ensure_ascii=False)
            lines.append(f"  {error['kind']}: {reports.shorten(error['question'])} {said} instead of {truth}")
        return Report("\n".join(lines), {"counts": counts, "errors": errors})


_KINDS = ("right", "right: no answer", "partly right", "wrong", "missed", "made up")


def _kind(example: SquadExample, answer: str, exact: float, f1: float) -> str:
    if example.is_impossible:
        return "made up" if answer else "right: no answer"
    if not answer:
        return "missed"
    return "right" if exact else "partly right" if f1 else "wrong"


def _ids(examples: Sequence[SquadExample]) -> list[str]:
    return [example.qas_id for example in examples]


def _require_truth(name: str, examples: Sequence[SquadExample]) -> None:
    if not examples or any(example.is_impossible is None for example in examples):
        raise InputError(f"{name}: these questions have no answers, so there is nothing to score")
