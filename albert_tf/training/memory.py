"""The memory that training takes, estimated from the flags; and what to change when there is not enough."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from albert_tf.config import AlbertConfig
from albert_tf.runtime.errors import InputError
from albert_tf.training.strategy import errors_of_jax

# Copies of the weights in float32 that are alive at the end of a step: weights, two moments, gradients, and the
# gradients once more while they are clipped.
_COPIES_OF_WEIGHTS = 5
# What TensorFlow's pool takes of the system for what it hands out: fitted to the cases in docs/training.md.
_POOL = 1.25


@dataclasses.dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that one replica keeps in memory at the peak of a step.

    Attributes:
        weights: weights, moments, gradients.
        activations: what the forward pass keeps for the backward pass, of one micro-batch.
        logits: the masked-LM scores and their gradient.
    """

    weights: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.activations + self.logits


def estimate_memory(
    config: AlbertConfig,
    num_parameters: int,
    batch_size: int,
    max_seq_length: int,
    max_predictions_per_seq: int,
    precision: str = "float32",
    remat: bool = False,
    gradient_accumulation_steps: int = 1,
    batch_halves: bool = False,
) -> MemoryEstimate:
    """Estimates the memory of one replica from what the layers keep.

    Measured on a CPU (float32 and bfloat16, ALBERT-base and mini, sequences of 128 and 512, with and without remat)
    the peak was within a quarter of it, beside what TensorFlow itself takes, 0.75 GB then. A step compiled by XLA takes
    a different course.

    Args:
        config: of the model.
        num_parameters: trainable numbers of the model.
        batch_size: examples of one replica in a step.
        max_seq_length: S.
        max_predictions_per_seq: P.
        precision: "float32", "bfloat16" or "float16".
        remat: whether layers are computed again in the backward pass.
        gradient_accumulation_steps: micro-batches of a step.
        batch_halves: whether the halves of a batch are computed side by side.
    """
    examples = -(-batch_size // gradient_accumulation_steps)
    tokens = examples * max_seq_length
    width = 4 if precision == "float32" else 2
    hidden, intermediate = config.hidden_size, config.intermediate_size
    blocks = config.num_hidden_layers * config.inner_group_num
    # Of one block: queries, keys and values, the context, attention's output before and after its LayerNorm, and the
    # same two of the feed-forward half; the activation function's argument and value; the attention probabilities.
    block = tokens * (8 * hidden + 2 * intermediate) * width
    scores = tokens * max_seq_length * config.num_attention_heads
    block += scores * width
    # What dropout made of them, and its masks.
    if config.attention_probs_dropout_prob > 0:
        block += scores * (1 + width)
    if config.hidden_dropout_prob > 0:
        block += 3 * tokens * hidden * (1 + width)
    if remat:
        # Each block's input; and one block computed again, with about two more of its size on the way back.
        kept = blocks * tokens * hidden * width + 3 * block
    else:
        # The last layer computes only the positions that are read.
        kept = max(blocks - 1, 1) * block
    copies = _COPIES_OF_WEIGHTS + (gradient_accumulation_steps > 1 or batch_halves)
    # Logits and their gradient.
    logits = 2 * examples * max_predictions_per_seq * config.vocab_size * width
    return MemoryEstimate(copies * 4 * num_parameters, int(_POOL * kept), logits)


def machine_memory() -> int:
    """Bytes of this machine's main memory that can be had now; 0 if that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    names = os.sysconf_names
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0


@contextlib.contextmanager
def explain_memory_errors(settings) -> Iterator[None]:
    """Turns an error for want of memory into one line that names the flags to change.

    Args:
        settings: PretrainingSettings, or others with the same flags.

    Raises:
        InputError: there was not enough memory.
    """
    import tensorflow as tf

    try:
        yield
    except (tf.errors.ResourceExhaustedError, tf.errors.InternalError, MemoryError, *errors_of_jax()) as error:
        text = " ".join(str(error).split())
        if not isinstance(error, MemoryError) and not _is_about_memory(text):
            raise
        raise InputError(f"out of memory ({text[:120] or 'in Python'}); {advise(settings)}") from None


def advise(settings) -> str:
    """Names the flags that make a step smaller, those first that change nothing but time."""
    steps, batch = settings.gradient_accumulation_steps, settings.train_batch_size
    ways = [f"raise --gradient_accumulation_steps (now {steps}; the same results in smaller parts)"]
    if not settings.remat:
        ways.append("give --remat (less memory, more time)")
    if not settings.release_memory:
        ways.append("give --release_memory (somewhat less on a CPU, more time)")
    if settings.precision == "float32":
        ways.append("try --precision=bfloat16")
    ways.append(f"lower --train_batch_size (now {batch}) or --max_seq_length (now {settings.max_seq_length})")
    return ", ".join(ways)


def _is_about_memory(text: str) -> bool:
    # A full disk is a ResourceExhaustedError too.
    lower = text.lower()
    return any(
        word in lower for word in ("resource_exhausted", "oom when", "out of memory", "out_of_memory", "allocat")
    )
