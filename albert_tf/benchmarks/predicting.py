"""Times predict from file to file against the exported signature alone on the same batches, in turns.

The texts are of made-up words, the model has random weights. "signature" runs the batches that predict makes, in a
loop, from tensors that are there already; "unsorted" runs the same rows in the order of the file.
"""

import dataclasses
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from absl import flags, logging

from albert_tf.benchmarks.measure import peak_memory_mb, process_seconds
from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr

_SYLLABLES = [first + vowel for first in "bdfgklmnprst" for vowel in "aeiou"]
# Lines, and words of a line.
_VOCABULARY_TEXT = (2000, 20, 20)
_WORDS, _PIECES = 5000, 2000


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_mini.json", "The model's shape.", **fv)
    flags.DEFINE_enum("precision", "float32", ("float32", "bfloat16"), "Of weights and products.", **fv)
    flags.DEFINE_integer("rows", 4096, "Texts of the file.", lower_bound=1, **fv)
    flags.DEFINE_integer("shortest", 4, "Words of the shortest text.", lower_bound=1, **fv)
    flags.DEFINE_integer("longest", 16, "Words of the longest text.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens after which a text is cut.", lower_bound=1, **fv)
    flags.DEFINE_integer("batch_size", 32, "Texts that are run together.", lower_bound=1, **fv)
    flags.DEFINE_list("formats", ["tsv", "jsonl"], "Endings of the file that is read and of the one written.", **fv)
    flags.DEFINE_integer(
        "rounds", 5, "Turns in which they are timed, after one that is not; the median counts.", lower_bound=1, **fv
    )


def _made_up_texts(count: int, shortest: int, longest: int) -> list[str]:
    rng = random.Random(0)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(_WORDS)]
    return [" ".join(rng.choices(words, k=rng.randint(shortest, longest))) for _ in range(count)]


def _export(folder: str, given) -> str:
    """A SavedModel of a classifier that was never trained; returns its folder."""
    from albert_tf.checkpoints.finetuned_task import FinetunedTask
    from albert_tf.checkpoints.run_checkpoints import write_weights
    from albert_tf.config import AlbertConfig
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings
    from albert_tf.models.finetuning import make_finetuning_model
    from albert_tf.models.named_weights import named_weights
    from albert_tf.tokenization.tokenizer import AlbertTokenizer

    run, saved = os.path.join(folder, "run"), os.path.join(folder, "saved_model")
    os.mkdir(run)
    text = os.path.join(folder, "texts.txt")
    with open(text, "w") as file:
        file.writelines(f"{line}\n" for line in _made_up_texts(*_VOCABULARY_TEXT))
    trained = ("--input_file=" + text, "--model_prefix=" + os.path.join(run, "made_up"), f"--vocab_size={_PIECES}")
    subprocess.run((sys.executable, "-m", "data_prep.train_vocabulary", *trained), check=True, capture_output=True)
    tokenizer = AlbertTokenizer(os.path.join(run, "made_up.model"))
    config = AlbertConfig.from_json_file(given.albert_config_file)
    config = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)
    model = make_finetuning_model(config, "classification", 2)
    settings = {"max_seq_length": given.max_seq_length}
    task = FinetunedTask("classification", 2, ("no", "yes"), "classification", ("text",), settings)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    write_weights(run, config, weights, tokenizer.describe(), task)
    with quiet_stderr():
        export_saved_model(ExportSettings(init_checkpoint=run, output_dir=saved, precision=given.precision))
    return saved


class _Predictions:
    """The file from which predict reads, and the batches that it makes of it."""

    def __init__(self, folder: str, saved_model: str, texts: list[str], given):
        import tensorflow as tf

        from albert_tf.serving.predictor import Predictor

        self._given, self._predictor = given, Predictor(saved_model)
        self._output = os.path.join(folder, f"predictions.{given.formats[1]}")
        self._input = os.path.join(folder, f"rows.{given.formats[0]}")
        self._write_input(texts)
        self._loaded = tf.saved_model.load(saved_model)
        self._signature = self._loaded.signatures["classify"]
        size = given.batch_size
        self.unsorted = [tf.constant(texts[start : start + size]) for start in range(0, len(texts), size)]
        self.signature = [tf.constant(batch) for batch in self._batches_of_predict()]

    def _write_input(self, texts: list[str]) -> None:
        ending = self._given.formats[0]
        if ending == "parquet":
            from albert_tf.runtime.parquet_files import import_pyarrow

            pyarrow = import_pyarrow()
            pyarrow.parquet.write_table(pyarrow.table({"text": texts}), self._input)
            return
        with open(self._input, "w") as file:
            file.writelines(["text\n"] if ending in ("tsv", "csv") else [])
            file.writelines((to_json({"text": text}) if ending == "jsonl" else text) + "\n" for text in texts)

    def _batches_of_predict(self) -> list[list[str]]:
        """The texts of every batch, in the order in which predict runs them."""
        batches: list[list[str]] = []
        answer = self._predictor.answer

        def note(examples):
            batches.append([example["text"] for example in examples])
            return answer(examples)

        self._predictor.answer = note
        self.predict()
        del self._predictor.answer
        return [batch for batch in batches if batch != ["a"]]

    def predict(self) -> None:
        """Runs predict from file to file."""
        from albert_tf.rows.table_prediction import TablePrediction, predict_rows

        if os.path.exists(self._output):
            os.unlink(self._output)
        given = TablePrediction(self._input, output_file=self._output, batch_size=self._given.batch_size)
        predict_rows(self._predictor, given).check()

    def run(self, batches) -> None:
        """Runs batches through the signature, one after another."""
        for texts in batches:
            for value in self._signature(text=texts).values():
                value.numpy()


def _run() -> None:
    given = flags.FLAGS
    if given.shortest > given.longest:
        raise FlagError(f"--shortest={given.shortest} is more than --longest={given.longest}")
    import_tensorflow(frozen_weights=given.precision == "bfloat16")
    logging.set_verbosity(logging.WARNING)
    texts = _made_up_texts(given.rows, given.shortest, given.longest)
    with tempfile.TemporaryDirectory() as folder:
        predictions = _Predictions(folder, _export(folder, given), texts, given)
        ways = {
            "signature": lambda: predictions.run(predictions.signature),
            "predict": predictions.predict,
            "unsorted": lambda: predictions.run(predictions.unsorted),
        }
        turns: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(given.rounds + 1):
            for name, way in ways.items():
                begin, processor = time.perf_counter(), process_seconds()
                way()
                turns[name].append((time.perf_counter() - begin, process_seconds() - processor))
    seconds, processor_seconds = (
        {name: [turn[kind] for turn in taken[1:]] for name, taken in turns.items()} for kind in (0, 1)
    )
    result = {
        "benchmark": "predicting",
        "config": given.albert_config_file,
        "precision": given.precision,
        "rows": given.rows,
        "words": f"{given.shortest} to {given.longest}",
        "batch_size": given.batch_size,
        **{f"{name}_rows_per_second": given.rows / statistics.median(values) for name, values in seconds.items()},
        # Speeds in relation, of the turns of one round, which the machine treats alike.
        "predict_to_signature": _ratio(seconds, "predict", "signature"),
        "sorted_to_unsorted": _ratio(seconds, "signature", "unsorted"),
        # The same by processor time, in which other programs do not count.
        "predict_to_signature_by_processor": _ratio(processor_seconds, "predict", "signature"),
        "sorted_to_unsorted_by_processor": _ratio(processor_seconds, "signature", "unsorted"),
        "peak_memory_mb": peak_memory_mb(),
    }
    print(to_json(result))  # noqa: T201


def _ratio(seconds: dict[str, list[float]], one: str, other: str) -> float:
    """The speed of one way in relation to that of another, the median of the rounds."""
    return statistics.median(theirs / ours for ours, theirs in zip(seconds[one], seconds[other]))


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
