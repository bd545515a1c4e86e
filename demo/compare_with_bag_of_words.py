"""Puts the scores of fine-tuned models beside that of a bag of words on the same texts.

python demo/compare_with_bag_of_words.py --data_dir=packages --run='pre-trained=runs/a' --run='random weights=runs/b'

The bag of words is scikit-learn's: TF-IDF of words and pairs of words, and a logistic regression whose strength of
regularization is chosen by cross-validation among the examples of training.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Mapping

from absl import flags

from albert_tf.runtime import command, files, output_paths
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import scores
from albert_tf.tasks.tables import columns_of, read_rows, require_columns

FLAGS = flags.FLAGS

TRAIN, DEV = "train.tsv", "dev.tsv"
TEXT, LABEL = "text", "label"
ACCURACY, MACRO_F1 = "accuracy", "macro_f1"
BAG_OF_WORDS, CONSTANT = "bag of words", "always the same class"
# C of scikit-learn's LogisticRegression: the inverse of the strength.
_STRENGTHS = (1.0, 10.0, 100.0)
_FOLDS = 5


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this script."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("data_dir", None, f"Folder with {TRAIN} and {DEV}.", **fv)
    flags.DEFINE_multi_string("run", [], "NAME=FOLDER: a run of run_finetuning on these files.", **fv)
    flags.DEFINE_string("output_file", None, "Where the scores go as JSON, too; left out: nowhere.", **fv)
    output_paths.define_overwrite(flag_values)


def read_examples(path: str) -> tuple[list[str], list[str]]:
    """The texts and the labels of a table.

    Raises:
        InputError: it cannot be read, or lacks a column or a row.
    """
    require_columns(path, (TEXT, LABEL), columns_of(path))
    rows = list(read_rows(path))
    if not rows:
        raise InputError(f"{path} has no row after its header")
    return [row.text(TEXT) for row in rows], [row.text(LABEL) for row in rows]


def score_of_words(train: tuple[list[str], list[str]], dev: tuple[list[str], list[str]]) -> dict[str, float]:
    """Scores a bag of words that learned from some examples on others.

    Args:
        train: texts and labels to learn from.
        dev: texts and labels to score.

    Returns:
        Accuracy and macro F1, as fractions of 1.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits

    rarest = min(Counter(train[1]).values())
    if rarest < 2 or len(set(train[1])) < 2:
        raise InputError(f"{TRAIN}: two classes, with two examples of each, were expected; it has {Counter(train[1])}")
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = GridSearchCV(
        make_pipeline(vectors, LogisticRegression(max_iter=1000)),
        {"logisticregression__C": _STRENGTHS},
        cv=min(_FOLDS, rarest),
    )
    # The matrices are small: several threads mostly wait for each other.
    with threadpool_limits(1):
        predicted = model.fit(*train).predict(dev[0])
    return scores_of(dev[1], predicted)


def scores_of(gold, predicted) -> dict[str, float]:
    """The scores that run_finetuning gives a task of classes."""
    return {ACCURACY: scores.accuracy(gold, predicted), MACRO_F1: scores.macro_f1(gold, predicted)}


def score_of_run(named: str) -> tuple[str, Mapping[str, float]]:
    """A name, and the scores on the dev split of the run in a folder.

    Args:
        named: NAME=FOLDER.

    Raises:
        InputError: it is not of this form, or the folder has no such results.
    """
    name, sign, folder = named.partition("=")
    if not (name and sign and folder):
        raise InputError(f"--run must be NAME=FOLDER. Received {named!r}")
    path = os.path.join(folder, "results.json")
    if not files.exists(path):
        raise InputError(f"--run: {path} is missing; give the --output_dir of a run with --do_eval")
    results = files.read_json(path).get("scores")
    of_dev = results.get("dev") if isinstance(results, dict) else None
    if not isinstance(of_dev, dict) or not {ACCURACY, MACRO_F1} <= of_dev.keys():
        raise InputError(
            f"{path}: no {ACCURACY} and {MACRO_F1} of the dev split; give a run of --task_name=classification"
        )
    return name, of_dev


def format_scores(table: Mapping[str, Mapping[str, float]], count: int) -> str:
    """The scores as lines, with the standard error of the accuracies.

    >>> print(format_scores({"bag of words": {"accuracy": 0.5, "macro_f1": 0.25}}, 100), end="")
                  accuracy  macro F1
    bag of words     0.500     0.250
    100 held-out texts: the standard error of an accuracy is up to 0.050

    Args:
        table: scores by name.
        count: texts that were scored.
    """
    width = max(map(len, table))
    lines = [f"{'':<{width}}  {'accuracy':>8}  {'macro F1':>8}"]
    lines += [f"{name:<{width}}  {row[ACCURACY]:>8.3f}  {row[MACRO_F1]:>8.3f}" for name, row in table.items()]
    error = max(math.sqrt(row[ACCURACY] * (1 - row[ACCURACY]) / count) for row in table.values())
    lines.append(f"{count} held-out texts: the standard error of an accuracy is up to {error:.3f}")
    return "\n".join(lines) + "\n"


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite)
    table = dict(score_of_run(named) for named in FLAGS.run)
    scores.check_packages()
    train, dev = (read_examples(os.path.join(FLAGS.data_dir, name)) for name in (TRAIN, DEV))
    table[BAG_OF_WORDS] = score_of_words(train, dev)
    most_frequent = Counter(train[1]).most_common(1)[0][0]
    table[CONSTANT] = scores_of(dev[1], [most_frequent] * len(dev[1]))
    if FLAGS.output_file:
        files.write_json(FLAGS.output_file, {"examples": len(train[1]), "heldout": len(dev[1]), "scores": table})
    sys.stdout.write(format_scores(table, len(dev[1])))


main = command.entry_point(__name__, _run, required=("data_dir",))

if __name__ == "__main__":
    main()
