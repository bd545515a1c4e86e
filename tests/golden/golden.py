"""Numbers that the public commands make of one made-up text, to which a later version is held.

    python tests/golden/golden.py --output_file=golden.json

Texts, records and what they hold are whole numbers and hashes, and are the same everywhere. Losses, scores and outputs
are computed in float32: the same to the last bit on one machine, and close on another. golden_test.py
holds the code to both. To compare two versions of the code to the last bit, run this with both on one machine: it
writes the hashes of all weights too, and with `--compare_to` the other's file it names every difference.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"]
_VOWELS = ["a", "e", "i", "o", "u", "ea", "ou"]
_ENDS = ["", "n", "r", "l", "s", "nd", "ck"]
_VERBS = ["carries", "follows", "remembers", "paints", "crosses", "watches", "repairs", "finds", "leaves", "describes"]
_SHAPE = {
    "attention_probs_dropout_prob": 0.0,
    "embedding_size": 8,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "hidden_size": 32,
    "initializer_range": 0.05,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "num_attention_heads": 4,
    "num_hidden_groups": 1,
    "num_hidden_layers": 3,
    "type_vocab_size": 2,
    "vocab_size": 220,
}
_RECORDS = {
    "static": ["--max_predictions_per_seq=8"],
    "single_words": ["--max_predictions_per_seq=8", "--ngram=1", "--dupe_factor=2", "--short_seq_prob=0.3"],
    "dynamic": ["--max_predictions_per_seq=8", "--masking=dynamic"],
    "next_sentence": ["--max_predictions_per_seq=8", "--sentence_task=nsp"],
    "quirks": ["--max_predictions_per_seq=8", "--reference_quirks"],
}
_RUNS = {
    "lamb": ("static", ["--optimizer=lamb", "--learning_rate=0.01"]),
    "adamw": ("single_words", ["--optimizer=adamw", "--gradient_accumulation_steps=2"]),
    "muon": ("dynamic", ["--optimizer=muon", "--length_schedule=16:0.5,32:0.5", "--masked_lm_prob=0.3:0.5,0.15:0.5"]),
    "unshared": ("next_sentence", ["--optimizer=lamb", "--sentence_task=nsp"]),
    "counted": ("static", ["--optimizer=adamw", "--init_position_waves", "--init_output_bias"]),
}


def write_text(path: Path, documents: int = 60) -> None:
    """Writes sentences of made-up words and documents, one a line, a blank line after each document."""
    number = random.Random(1909).random

    def draw(choices: list[str]) -> str:
        return choices[int(number() * len(choices))]

    words = ["".join(draw(part) for part in (_ONSETS, _VOWELS, _ENDS) * 2) for _ in range(300)]
    lines = []
    for _ in range(documents):
        theme = [draw(words) for _ in range(6)]
        for _ in range(4 + int(number() * 8)):
            first, second, third = (draw(theme) for _ in range(3))
            count = int(number() * 90)
            lines.append(f"The {first} {draw(_VERBS)} the {second} near {count} {third}s, and Dr. Ång's {first} stays.")
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(module: str, *arguments: str) -> str:
    """Runs a command of ours as a process of its own; its output."""
    command = [sys.executable, "-m", module, *arguments]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def digest(data: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def digest_records(pattern: str) -> dict[str, Any]:
    """The number of records in the files of a pattern, and a hash of all of them in order."""
    import tensorflow as tf

    files = sorted(tf.io.gfile.glob(pattern))
    records = [record for file in files for record in tf.data.TFRecordDataset(file).as_numpy_iterator()]
    return {"files": len(files), "records": len(records), "sha256": digest(b"".join(records))}


def training_reports(run_dir: Path) -> list[dict[str, float]]:
    """Losses and accuracies of a run's reports, in order."""
    reports = [json.loads(line) for line in (run_dir / "train_log.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = ("loss", "accuracy", "gradient_norm", "learning_rate")
    return [
        {name: value for name, value in report.items() if name == "step" or name.endswith(kept)}
        for report in reports
        if report["kind"] == "train"
    ]


def hash_weights(checkpoint: Path) -> dict[str, str]:
    """Hashes of the numbers that the model and, where there is one, the optimizer of a checkpoint hold."""
    import tensorflow as tf

    found = {}
    for part in ("model", "optimizer"):
        if not (checkpoint / f"{part}.index").exists():
            continue
        reader, data = tf.train.load_checkpoint(str(checkpoint / part)), b""
        for name in sorted(reader.get_variable_to_shape_map()):
            value = reader.get_tensor(name)
            if hasattr(value, "tobytes"):
                data += name.encode() + value.tobytes()
        found[part] = digest(data)
    return found


def last_checkpoint(run_dir: Path) -> Path:
    """The folder of a run's last checkpoint, or the folder itself where it is a checkpoint."""
    return max(run_dir.glob("checkpoint-*"), default=run_dir)


def make_data(folder: Path) -> dict[str, Any]:
    """Text, vocabulary, counted embeddings and every kind of records, by the commands."""
    text, model = folder / "text.txt", folder / "vocabulary.model"
    write_text(text)
    documents = [" ".join(document.split("\n")) for document in text.read_text(encoding="utf-8").split("\n\n")]
    lines = [json.dumps({"text": document}) for document in documents if document.strip()]
    (folder / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("data_prep.split_sentences", f"--input_file={folder}/documents.jsonl", f"--output_file={folder}/split.txt")
    size = f"--vocab_size={_SHAPE['vocab_size']}"
    run("data_prep.train_vocabulary", f"--input_file={text}", f"--model_prefix={folder}/vocabulary", size)
    given = (f"--input_file={text}", f"--spm_model_file={model}")
    run("data_prep.count_embeddings", *given, "--embedding_size=8", f"--output_file={folder}/embeddings.npz")
    pieces = [line.split("\t")[0] for line in (folder / "vocabulary.vocab").read_text(encoding="utf-8").splitlines()]
    found: dict[str, Any] = {
        "sentences": digest((folder / "split.txt").read_bytes()),
        "vocabulary": digest("\n".join(pieces).encode()),
    }
    for name, flags in _RECORDS.items():
        output = f"--output_file={folder}/{name}@2"
        run("data_prep.create_pretraining_data", *given, "--max_seq_length=32", output, *flags)
        found[f"records, {name}"] = digest_records(f"{folder}/{name}-*")
    return found


def pretrain(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Six steps of every kind of run: reports, and hashes of all weights."""
    reports, weights = {}, {}
    for name, (records, flags) in _RUNS.items():
        shape = _SHAPE | ({"parameter_sharing": "none"} if name == "unshared" else {})
        config = folder / f"{name}.json"
        config.write_text(json.dumps(shape), encoding="utf-8")
        embeddings = [f"--init_embeddings={folder}/embeddings.npz"] if name == "counted" else []
        run(
            "albert_tf.run_pretraining",
            f"--albert_config_file={config}",
            f"--input_file={folder}/{records}-*",
            f"--output_dir={folder}/run_{name}",
            *("--max_seq_length=32", "--max_predictions_per_seq=8", "--train_batch_size=8", "--precision=float32"),
            *("--num_train_steps=6", "--num_warmup_steps=2", "--log_steps=1", "--iterations_per_loop=1"),
            *("--nodo_eval", "--distribution_strategy=one_device", *flags, *embeddings),
        )
        reports[name] = training_reports(folder / f"run_{name}")
        weights[name] = hash_weights(last_checkpoint(folder / f"run_{name}"))
    return reports, weights


def evaluate(folder: Path) -> dict[str, float]:
    """Losses and accuracies of a run's last checkpoint on records."""
    where = (f"--output_dir={folder}/run_lamb", f"--input_file={folder}/single_words-*")
    found = json.loads(run("albert_tf.run_evaluation", *where, "--format=json", "--max_eval_steps=4"))
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def finetune(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Six steps of a classification of made-up texts, and its scores."""
    data = folder / "task"
    data.mkdir()
    sentences = [line for line in (folder / "text.txt").read_text(encoding="utf-8").splitlines() if line]
    for split, rows in (("train", sentences[:96]), ("dev", sentences[96:128])):
        labelled = [f"{row}\t{'river' if len(row) % 2 else 'stone'}" for row in rows]
        (data / f"{split}.tsv").write_text("\n".join(["text\tlabel", *labelled]) + "\n", encoding="utf-8")
    output = folder / "run_task"
    run(
        "albert_tf.run_finetuning",
        *("--task_name=classification", f"--data_dir={data}", f"--init_checkpoint={folder}/run_lamb"),
        *(f"--output_dir={output}", "--do_train", "--do_eval", "--max_seq_length=32", "--train_batch_size=16"),
        *("--num_train_steps=6", "--num_warmup_steps=2", "--log_steps=1", "--iterations_per_loop=1"),
        *("--learning_rate=1e-3", "--distribution_strategy=one_device", "--precision=float32"),
    )
    predictions = [json.loads(line) for line in (output / "dev_predictions.jsonl").read_text().splitlines()]
    return {"reports": training_reports(output), "predictions": predictions}, {
        "task": hash_weights(last_checkpoint(output))
    }


def export(folder: Path) -> dict[str, Any]:
    """Answers of a SavedModel to two texts, as ids and as they are typed."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (the operations of the graph that takes text)

    run("albert_tf.export_saved_model", f"--init_checkpoint={folder}/run_lamb", f"--output_dir={folder}/saved")
    model = tf.saved_model.load(str(folder / "saved"))
    ids = tf.constant([[2, 11, 12, 4, 13, 3, 0], [2, 14, 15, 16, 3, 17, 3]])
    given = {"input_ids": ids, "input_mask": tf.cast(ids > 0, tf.int32), "segment_ids": tf.zeros_like(ids)}
    found = {}
    for name, signature in sorted(model.signatures.items()):
        wanted = signature.structured_input_signature[1]
        if set(wanted) <= set(given):
            arrays = {key: tf.cast(given[key], spec.dtype) for key, spec in wanted.items()}
        elif len(wanted) == 1 and next(iter(wanted.values())).dtype == tf.string:
            arrays = {next(iter(wanted)): tf.constant(["A text.", "Dr. Ång follows 11 words"])}
        else:
            found[name] = sorted(wanted)
            continue
        outputs = sorted(signature(**arrays).items())
        found[name] = {key: value.numpy().ravel()[:48].tolist() for key, value in outputs if value.dtype.is_floating}
    return found


def convert(folder: Path) -> dict[str, Any]:
    """Hashes of the weights in the formats of other code, and of those that came back from there."""
    import h5py
    from safetensors.numpy import load_file

    found: dict[str, Any] = {}
    for name in ("hugging_face", "official", "keras_hub"):
        there, back = folder / f"to_{name}", folder / f"from_{name}"
        run("albert_tf.convert_checkpoint", f"--input={folder}/run_lamb", f"--output={there}", f"--to={name}")
        # A KerasHub preset has no place for the head of sentence order.
        if name != "keras_hub":
            run("albert_tf.convert_checkpoint", f"--input={there}", f"--output={back}", "--to=albert_tf")
            found[f"from {name}"] = hash_weights(last_checkpoint(back))
    tensors = dict(load_file(folder / "to_hugging_face" / "model.safetensors"))
    for file in sorted((folder / "to_keras_hub").glob("*.h5")):
        with h5py.File(file) as weights:
            weights.visititems(lambda name, item: tensors.update({name: item[()]}) if hasattr(item, "dtype") else None)
    found["other formats"] = digest(b"".join(key.encode() + tensors[key].tobytes() for key in sorted(tensors)))
    return found


def collect() -> dict[str, Any]:
    """All values: "exact" the same everywhere, "close" within rounding, "weights" the same on one machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exact = make_data(folder)
        reports, weights = pretrain(folder)
        close = {"pretraining": reports, "evaluation": evaluate(folder)}
        close["finetuning"], task_weights = finetune(folder)
        close["export"] = export(folder)
        return {"exact": exact, "close": close, "weights": weights | task_weights | convert(folder)}


def differences(old: Any, new: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """Names every place where two collections of values are not the same, numbers within a tolerance.

    >>> list(differences({"a": [1.0, 2]}, {"a": [1.1, 2]}, 0.01))
    ['a/0: 1.0 is 1.1']
    """
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key in old:
            yield from differences(old[key], new[key], tolerance, f"{where}/{key}".lstrip("/"))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new)):
            yield from differences(*pair, tolerance, f"{where}/{index}".lstrip("/"))
    elif isinstance(old, float) and isinstance(new, float):
        if not abs(old - new) <= tolerance * max(1.0, abs(old)):
            yield f"{where}: {old} is {new}"
    elif old != new:
        yield f"{where}: {old} is {new}"


def main() -> None:
    """Collects the values, and writes or compares them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_file", required=True, help="Where the values go, as JSON.")
    parser.add_argument("--compare_to", help="Values of another version on this machine: every bit must be the same.")
    given = parser.parse_args()
    found = json.loads(json.dumps(collect()))
    Path(given.output_file).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if given.compare_to:
        differing = list(differences(json.loads(Path(given.compare_to).read_text(encoding="utf-8")), found, 0.0))
        sys.stdout.write("\n".join(differing or ["the same to the last bit"]) + "\n")
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()
