"""AlbertConfig: the shape of a model, with the official JSON keys, every rule checked when it is made."""

import dataclasses
import difflib
import json
import os
import reprlib
from typing import Any, cast

from albert_tf.runtime import files, shipped_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats, to_json
from albert_tf.runtime.settings import StrPath

# Keys of published albert_config.json files that the official model code reads nowhere (modeling.py of
# google-research/ALBERT, 2020-07). They are accepted, and have no effect.
DEAD_KEYS = ("down_scale_factor", "gap_size", "layers_to_keep", "net_structure_type", "num_memory_blocks")

# The official code's "gelu" is the tanh form; "gelu_new" is Hugging Face's name for it; "gelu_erf" is exact.
ACTIVATIONS = ("gelu", "gelu_new", "gelu_erf", "relu", "tanh", "linear")

PARAMETER_SHARING = ("all", "attention", "ffn", "none")

# The largest value of each integer, far beyond any published model: what exceeds it is a mistake or a damaged file, and
# would run for hours or use up the memory before it showed.
LARGEST = {
    "vocab_size": 10_000_000,
    "embedding_size": 100_000,
    "hidden_size": 100_000,
    "num_hidden_layers": 1_000,
    "num_hidden_groups": 1_000,
    "num_attention_heads": 10_000,
    "intermediate_size": 1_000_000,
    "inner_group_num": 100,
    "max_position_embeddings": 1_000_000,
    "type_vocab_size": 1_000,
}
# Of applications of a block: layers times inner blocks. A step of so many takes minutes to trace.
LARGEST_DEPTH = 1_000
# A normal distribution beyond it has values that float32 cannot square and add up.
_LARGEST_INITIALIZER_RANGE = 1e3
_PROBABILITIES = ("hidden_dropout_prob", "attention_probs_dropout_prob")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlbertConfig:
    """The shape of an ALBERT model. The defaults are those of the official AlbertConfig, which are xxlarge's.

    Integers lie between 1 and LARGEST.

    Attributes:
        vocab_size: V, number of word pieces.
        embedding_size: E, width of the embeddings; projected to hidden_size unless equal to it.
        hidden_size: H, width of the encoder.
        num_hidden_layers: L, number of times a block is applied.
        num_hidden_groups: G, number of sets of parameters; layer l uses set l * G // L. 1 shares all.
        num_attention_heads: N, must divide hidden_size.
        intermediate_size: I, width of the feed-forward layer.
        inner_group_num: number of distinct blocks that are applied one after the other in every layer.
        hidden_act: one of ACTIVATIONS.
        hidden_dropout_prob: rate of dropout after embeddings, attention and feed-forward.
        attention_probs_dropout_prob: rate of dropout on the attention probabilities.
        max_position_embeddings: longest sequence the model can take, in pieces.
        type_vocab_size: number of segments.
        initializer_range: standard deviation of the truncated normal that kernels and embeddings start from.
        parameter_sharing: what the layers of a group share: "all", only "attention", only "ffn" (each with
            its LayerNorm), or "none" (paper, table 4). No official key; left out of the JSON when "all".

    Raises:
        InputError: a value of the wrong type, out of range, or an impossible combination.
    """

    vocab_size: int
    embedding_size: int = 128
    hidden_size: int = 4096
    num_hidden_layers: int = 12
    num_hidden_groups: int = 1
    num_attention_heads: int = 64
    intermediate_size: int = 16384
    inner_group_num: int = 1
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    parameter_sharing: str = "all"

    def __post_init__(self) -> None:
        self._check_types()
        self._check_ranges()
        self._check_combinations()

    def _check_types(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), cast(type, field.type)
            if kind is float and type(value) is int and abs(value) < 2**53:
                object.__setattr__(self, field.name, float(value))
            elif type(value) is not kind:
                raise InputError(
                    f"`{field.name}` must be of type {kind.__name__}. Received {field.name}={_shortened(value)}."
                )

    def _check_ranges(self) -> None:
        for name, largest in LARGEST.items():
            value = getattr(self, name)
            if not 1 <= value <= largest:
                bound = f"at most {largest:,}" if value > largest else "at least 1"
                raise InputError(f"`{name}` must be {bound}. Received {name}={_shortened(value)}.")
        for name in _PROBABILITIES:
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"`{name}` must lie in [0, 1). Received {name}={getattr(self, name)}.")
        if not 0 < self.initializer_range <= _LARGEST_INITIALIZER_RANGE:
            raise InputError(
                f"`initializer_range` must be a positive number of at most {_LARGEST_INITIALIZER_RANGE:,.0f}. "
                f"Received initializer_range={self.initializer_range}."
            )
        for name, allowed in (("hidden_act", ACTIVATIONS), ("parameter_sharing", PARAMETER_SHARING)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"`{name}` must be one of {', '.join(allowed)}. Received {name}={_shortened(getattr(self, name))}."
                )

    def _check_combinations(self) -> None:
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                "`hidden_size` must be a multiple of `num_attention_heads`. "
                f"Received hidden_size={self.hidden_size} and num_attention_heads={self.num_attention_heads}."
            )
        if self.num_hidden_groups > self.num_hidden_layers:
            raise InputError(
                "`num_hidden_groups` must not exceed `num_hidden_layers`. Received "
                f"num_hidden_groups={self.num_hidden_groups} and num_hidden_layers={self.num_hidden_layers}."
            )
        depth = self.num_hidden_layers * self.inner_group_num
        if depth > LARGEST_DEPTH:
            raise InputError(
                f"`num_hidden_layers` times `inner_group_num` must be at most {LARGEST_DEPTH:,}. Received "
                f"num_hidden_layers={self.num_hidden_layers} and inner_group_num={self.inner_group_num}."
            )
        if self.parameter_sharing == "none" and self.num_hidden_groups > 1:
            raise InputError(
                "`parameter_sharing='none'` gives every layer its own parameters; leave `num_hidden_groups` "
                f"at 1. Received num_hidden_groups={self.num_hidden_groups}."
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any], where: str = "config") -> "AlbertConfig":
        """Makes a config from the keys of an albert_config.json.

        Args:
            values: official keys, DEAD_KEYS and parameter_sharing; every key has a default but vocab_size.
            where: what to call the source in an error, usually the file's path.

        Raises:
            InputError: unknown keys (all of them named), no vocab_size, or a value that a rule forbids.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = [key for key in values if key not in known and key not in DEAD_KEYS]
        if unknown:
            hints = [close[0] for key in unknown if (close := difflib.get_close_matches(key, known, n=1))]
            advice = f"did you mean {', '.join(hints)}?" if hints else "remove what this model does not have."
            raise InputError(f"{where}: unknown keys: {', '.join(sorted(unknown))}; {advice}")
        if "vocab_size" not in values:
            raise InputError(f"{where}: `vocab_size` is missing; it is the one key without a default.")
        try:
            return cls(**{key: value for key, value in values.items() if key in known})
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    @classmethod
    def from_json_file(cls, path: StrPath) -> "AlbertConfig":
        """Reads an albert_config.json, official or ours.

        Args:
            path: of the file; or what `from_name` takes.

        Raises:
            InputError: no such file, not JSON, not an object, or what `from_dict` raises; the path is named.
        """
        path = shipped_files.find(os.fspath(path), shipped_files.MODELS)
        try:
            with files.open_binary(path) as file:
                values = json.loads(file.read(), object_pairs_hook=refuse_repeats)
        except FileNotFoundError:
            known = "" if os.path.dirname(path) else f"; shipped ones are {', '.join(shipped_files.names('models'))}"
            raise InputError(f"{path}: no such config file{known}") from None
        except IsADirectoryError:
            raise InputError(f"{path}: is a folder; name the albert_config.json in it") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not a JSON config: {error}") from None
        if not isinstance(values, dict):
            raise InputError(f"{path}: a config is a JSON object; this is a {type(values).__name__}")
        return cls.from_dict(values, where=path)

    @classmethod
    def from_name(cls, name: str) -> "AlbertConfig":
        """Makes one of the configs that come with the package.

        >>> AlbertConfig.from_name("albert_base_v2").hidden_size
        768

        Args:
            name: of a file in configs/models, without its ending.

        Raises:
            InputError: there is none of that name.
        """
        if name not in shipped_files.names(shipped_files.MODELS):
            raise InputError(
                f"`name` must be one of {', '.join(shipped_files.names(shipped_files.MODELS))}. Received {name!r}."
            )
        return cls.from_json_file(shipped_files.path_of(name, shipped_files.MODELS))

    def to_dict(self) -> dict[str, Any]:
        """The official keys and values; parameter_sharing only where it is not "all"."""
        values = dataclasses.asdict(self)
        if self.parameter_sharing == "all":
            del values["parameter_sharing"]
        return values

    def to_json_file(self, path: StrPath) -> None:
        """Writes the config as JSON; the file appears whole or not at all."""
        with files.replace_file(os.fspath(path)) as file:
            file.write((to_json(self.to_dict(), indent=2, sort_keys=True) + "\n").encode())


def _shortened(value: Any) -> str:
    """A value for a message, of bounded length."""
    return reprlib.repr(value)
