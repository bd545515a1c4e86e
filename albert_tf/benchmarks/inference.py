"""Times an exported encoder: batches of one length, and ragged batches beside the same batches padded."""

import statistics
import tempfile
import time

from absl import flags

from albert_tf.benchmarks.measure import peak_memory_mb
from albert_tf.benchmarks.train_step import ragged_batch, random_batch
from albert_tf.runtime import command
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_mini.json", "The model's shape.", **fv)
    flags.DEFINE_enum("precision", "float32", ("float32", "bfloat16"), "Of weights and products.", **fv)
    flags.DEFINE_list("batch_sizes", ["1", "32"], "Sequences of a batch, without padding.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of a sequence.", lower_bound=1, **fv)
    flags.DEFINE_integer("shortest", 8, "Tokens of the shortest sequence of a ragged batch.", lower_bound=1, **fv)
    flags.DEFINE_integer("ragged_batch_size", 32, "Sequences of a ragged batch.", lower_bound=1, **fv)
    flags.DEFINE_integer("repeats", 7, "Times each batch is timed; the median counts.", lower_bound=1, **fv)


_NAMES = ("input_ids", "input_mask", "segment_ids")


def save_model(folder: str, model, precision: str = "float32") -> None:
    """Saves a model as a SavedModel with the one signature "tokens", from ids to what it computes.

    Args:
        folder: to write.
        model: an AlbertModel, or an AlbertForSequenceClassification.
        precision: "float32" or "bfloat16".
    """
    import tensorflow as tf

    from albert_tf.exports.served_copy import serving_copy
    from albert_tf.models.albert import AlbertModel
    from albert_tf.models.named_weights import named_weights

    outputs_wanted = ("sequence_output", "pooled_output") if isinstance(model, AlbertModel) else ("logits",)
    model = serving_copy(model, precision)
    module = tf.Module()
    module.weights = {name: variable.value for name, variable in named_weights(model).items()}
    signature = [tf.TensorSpec([None, None], tf.int32, name=name) for name in _NAMES]

    def tokens(*ids):
        outputs = model(dict(zip(_NAMES, ids, strict=True)), training=False, skip_padding=True)
        return {name: tf.cast(outputs[name], tf.float32) for name in outputs_wanted}

    with quiet_stderr():
        traced = tf.function(tokens, input_signature=signature, autograph=False)
        tf.saved_model.save(module, folder, signatures={"tokens": traced})


def load_model(folder: str):
    """Loads what `save_model` saved.

    Returns:
        function of a batch as `random_batch` makes it, to a dict of "sequence_output" and "pooled_output", or of
        "logits".
    """
    import tensorflow as tf

    with quiet_stderr():
        loaded = tf.saved_model.load(folder)

    def compute(batch):
        # Through `loaded`, which holds the weights; a signature by itself does not.
        return loaded.signatures["tokens"](**{name: tf.constant(batch[name]) for name in _NAMES})

    return compute


def random_model(config, classify: bool = False):
    """A model with random weights: an encoder, or a classifier of two classes."""
    from albert_tf.models.albert import AlbertModel
    from albert_tf.models.classification import AlbertForSequenceClassification

    return (AlbertForSequenceClassification if classify else AlbertModel)(config)


def export_and_load(config, precision: str = "float32", classify: bool = False):
    """The function of `load_model`, of a SavedModel of `random_model`."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder, random_model(config, classify), precision)
        return load_model(folder)


def _median_seconds(encode, batch, repeats: int) -> float:
    encode(batch)
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        encode(batch)["pooled_output"].numpy()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def _run() -> None:
    given = flags.FLAGS
    # As the commands that serve do.
    import_tensorflow(frozen_weights=given.precision == "bfloat16")
    from albert_tf.config import AlbertConfig

    config = AlbertConfig.from_json_file(given.albert_config_file)
    encode = export_and_load(config, given.precision)
    result = {
        "benchmark": "inference",
        "config": given.albert_config_file,
        "precision": given.precision,
        "length": given.max_seq_length,
    }
    for size in map(int, given.batch_sizes):
        seconds = _median_seconds(encode, random_batch(config, size, given.max_seq_length, 1), given.repeats)
        result[f"sequences_per_second_batch_{size}"] = size / seconds
    size = given.ragged_batch_size
    ragged = ragged_batch(config, size, given.max_seq_length, given.shortest)
    result["ragged_sequences_per_second"] = size / _median_seconds(encode, ragged, given.repeats)
    result["peak_memory_mb"] = peak_memory_mb()
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
