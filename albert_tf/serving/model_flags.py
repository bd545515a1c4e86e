"""The flags of the commands that ask a model: where it is, and with how many threads it is run."""

from collections.abc import Sequence

from absl import flags

from albert_tf.heads.pooling import POOLINGS
from albert_tf.runtime.errors import FlagError

_HELP = {
    "model": "A run, an export (SavedModel, ONNX or LiteRT), a checkpoint of any format, or hf:// or official://.",
    "saved_model": "The same as --model.",
    "output_dir": "The same as --model.",
}


def define_model_flags(names: Sequence[str], flag_values: flags.FlagValues) -> None:
    """Declares --num_threads, and flags that name the model: one of these is to be given.

    Args:
        names: keys of _HELP, of which "model" is the first.
        flag_values: where to declare them.
    """
    for name in names:
        flags.DEFINE_string(name, None, _HELP[name], flag_values=flag_values)
    flags.DEFINE_integer(
        "num_threads",
        None,
        "Threads that compute an operation; left out: as many as there are cores for this process, or one of a small "
        "model that TensorFlow runs on two cores.",
        flag_values=flag_values,
    )


def model_of(given: flags.FlagValues, names: Sequence[str]) -> str:
    """The path or name of the model.

    Args:
        given: the flags, parsed.
        names: those that may name it.

    Raises:
        InputError: several of them do.
    """
    found = [name for name in names if given[name].value]
    if len(found) > 1:
        raise FlagError(f"give one of {' and '.join(f'--{name}' for name in found)}")
    return str(given[found[0]].value)


def define_pooling_flags(flag_values: flags.FlagValues) -> None:
    """Declares --pooling and --max_seq_length: how a text becomes one vector."""
    flags.DEFINE_enum(
        "pooling",
        None,
        POOLINGS,
        "One vector of a text: the mean of its pieces', that of [CLS], or the pooler's output; left out: as the model "
        "says, else mean.",
        flag_values=flag_values,
    )
    flags.DEFINE_integer(
        "max_seq_length", None, "Where texts are cut, of a checkpoint; left out: as it says.", flag_values=flag_values
    )
