"""An export as ONNX or LiteRT, opened and run by its inputs' names; without TensorFlow and Keras.

Shapes: B batch, S sequence; the table of docs/serving.md has the inputs and outputs of each head.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.exports.export_file import check_files, read_export
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.settings import StrPath
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.serving.outputs import ModelFailedError
from albert_tf.serving.portable_runners import Run, best_onnx_runner, litert_runner
from albert_tf.serving.threads import check_threads
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.vocabularies import make_tokenizer

INPUT_IDS, INPUT_MASK, SEGMENT_IDS = IDS = ("input_ids", "input_mask", "segment_ids")
MASKED_LM_POSITIONS, P_MASK = "masked_lm_positions", "p_mask"
# Names that other libraries have for an input.
_ALIASES = {"attention_mask": INPUT_MASK, "token_type_ids": SEGMENT_IDS}
_RUNNERS: dict[str, Callable[..., Run]] = {"onnx": best_onnx_runner, "litert": litert_runner}


class PortableModel:
    """A folder that export_model wrote, for ids; FillMask and Predictor take text.

    Attributes:
        path: the folder.
        about: what its export.json says.
        config: AlbertConfig of the model.
        task: what it was fine-tuned for; None for a pre-trained one.
        head: as Interface.head of portable.interface.
        batch_size: the number of examples of every call; None: it is free.
        length: the number of pieces of every call; None: it is free.
    """

    def __init__(self, path: StrPath, num_threads: int | None = None) -> None:
        """Checks every file of the folder, then opens the model.

        Args:
            path: the folder.
            num_threads: how many threads compute; None: as many as this process may use of the processor's cores.

        Raises:
            InputError: no export there, a damaged one, or the package that runs its format is not installed.
        """
        check_threads(num_threads)
        self.path = os.fspath(path).rstrip("/") or "/"
        self.about = read_export(self.path, place="")
        for name in (self.about["model_file"], self.about["vocabulary"]["file"]):
            if name not in self.about["files"]:
                raise InputError(f"{self.path}: {name!r} is no file of this export; export the model again")
        check_files(self.path, self.about)
        self.config = AlbertConfig.from_dict(self.about["config"], self.path)
        task = self.about.get("task")
        self.task = None if task is None else FinetunedTask.from_dict(task, self.path)
        self.head: str = self.about["head"]
        self.batch_size: int | None = self.about["batch_size"]
        self.length: int | None = self.about["max_seq_length"] if self.about["fixed_length"] else None
        self._forms = {form["name"]: form for form in self.about["inputs"]}
        self._run = self._open(int(num_threads or count_cores()))

    @property
    def format(self) -> str:
        """The format of the file: "onnx" or "litert"."""
        return str(self.about["model_format"])

    @property
    def rows_share_a_range(self) -> bool:
        """Tells whether the outputs of a row depend on the others: the bytes of a product share one range in a batch.

        So it is in ONNX; LiteRT has a range for each row.
        """
        return self.format == "onnx" and self.about["precision"] == "int8"

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs that `run` takes."""
        return tuple(self._forms)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the vocabulary that lies in the folder, with the cleaning of the model."""
        path = os.path.join(self.path, self.about["vocabulary"]["file"])
        return make_tokenizer(path, TextCleaning(**self.about["cleaning"]))

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Computes every output.

        Args:
            inputs: integers by the names of `input_names`, each of the shape that export.json has.

        Returns:
            the outputs by their names, float32, and of "span_beam" int32 too; docs/serving.md lists them.

        Raises:
            InputError: an input is missing, is not known, has a shape that the model cannot take, or numbers beyond its
                tables.
            ModelFailedError: the model failed.
        """
        arrays = self._checked(inputs)
        try:
            outputs = self._run(arrays)
        # Each library has exceptions of its own, some of which are derived from Exception alone.
        except Exception as error:
            raise ModelFailedError(f"{self.path}: the model failed: {reason_of(error)}") from None
        # A runtime may have more names than the file's own.
        names = [form["name"] for form in self.about["outputs"]]
        if missing := [name for name in names if name not in outputs]:
            raise ModelFailedError(f"{self.path}: the model has no output {missing[0]!r}; export the model again")
        return {name: outputs[name] for name in names}

    def __call__(self, inputs: Any, training: bool = False) -> dict[str, np.ndarray]:
        """The same as `run`, called as a model is: ids alone will do, and Hugging Face's names.

        Args:
            inputs: int [B, S] (multiple choice [B, N, S]), or a dict with "input_ids"; "input_mask" and "segment_ids"
                are all ones and all zeros where they are left out, and "p_mask" is the padding.
            training: must be False.

        Raises:
            InputError: as `run`; or training.
        """
        if training:
            raise InputError(f"{self.path} is an export, which cannot be trained; load the checkpoint it was made of")
        given = dict(inputs) if isinstance(inputs, Mapping) else {INPUT_IDS: inputs}
        given = {_ALIASES.get(name, name): value for name, value in given.items() if value is not None}
        if INPUT_IDS not in given:
            raise InputError(f"A model is called with `{INPUT_IDS}`. Received {', '.join(given) or 'nothing'}.")
        ids = _to_array(INPUT_IDS, given[INPUT_IDS])
        given = {INPUT_MASK: np.ones_like(ids), SEGMENT_IDS: np.zeros_like(ids), **given, INPUT_IDS: ids}
        if MASKED_LM_POSITIONS in self._forms and MASKED_LM_POSITIONS not in given:
            given[MASKED_LM_POSITIONS] = np.zeros((*ids.shape[:1], 1), "int32")
        if P_MASK in self._forms and P_MASK not in given:
            # As the model itself has it: no answer is in the padding.
            given[P_MASK] = 1 - _to_array(INPUT_MASK, given[INPUT_MASK])
        return self.run(given)

    def _open(self, num_threads: int) -> Run:
        name = self.format
        if name not in _RUNNERS:
            raise InputError(
                f"{self.path}: an export as {name}, which this version of albert_tf cannot run; export the model again"
            )
        file = os.path.join(self.path, self.about["model_file"])
        source: bytes | str = file
        own = {}
        if name == "onnx":
            own = {"precision": self.about["precision"], "has_branches": "early_exit" in self.about}
        if files.is_remote(file):
            with files.open_binary(file) as opened:
                source = opened.read()
        try:
            # LiteRT tells of its delegates.
            with quiet_stderr():
                return _RUNNERS[name](source, num_threads, f"{self.path}, an export as {name},", **own)
        # A TypeError is of a call of ours, and no file's fault.
        except (InputError, TypeError):
            raise
        except Exception as error:
            raise InputError(f"{file} cannot be loaded: {reason_of(error)}; export the model again") from None

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The inputs as int32 arrays of one batch, once they are known to fit."""
        unknown, missing = sorted(set(inputs) - set(self._forms)), [name for name in self._forms if name not in inputs]
        if unknown or missing:
            wrong = f"no input {unknown[0]!r}" if unknown else f"an input {missing[0]!r}, which is missing"
            raise InputError(f"{self.path} has {wrong}; its inputs are {', '.join(self._forms)}")
        arrays = {name: _to_array(name, inputs[name]) for name in self._forms}
        free: dict[str, int] = {}
        for name, array in arrays.items():
            self._check_shape(name, array.shape, free)
        length = arrays[INPUT_IDS].shape[-1]
        if not 0 < length <= self.config.max_position_embeddings:
            raise InputError(
                f"{self.path} takes sequences of 1 to {self.config.max_position_embeddings} pieces. Received {length}."
            )
        ends = {INPUT_IDS: self.config.vocab_size, SEGMENT_IDS: self.config.type_vocab_size}
        ends |= {INPUT_MASK: 2, P_MASK: 2, MASKED_LM_POSITIONS: length}
        for name, array in arrays.items():
            if array.size and not (array.min() >= 0 and array.max() < ends[name]):
                raise InputError(f"{self.path}: `{name}` must lie between 0 and {ends[name] - 1}")
        return arrays

    def _check_shape(self, name: str, shape: tuple[int, ...], free: dict[str, int]) -> None:
        """Raises InputError if a shape is not that of the input, or its free axes are not those of inputs before it."""
        axes = self._forms[name]["shape"]
        fits = len(shape) == len(axes) and all(shape)
        for size, axis in zip(shape, axes):
            fits = fits and size == (free.setdefault(axis, size) if isinstance(axis, str) else axis)
        if not fits:
            known = ", ".join(f"{axis}={size}" for axis, size in free.items())
            raise InputError(
                f"{self.path}: `{name}` must have the shape [{', '.join(map(str, axes))}]"
                f"{f' with {known}' if known else ''}. Received {list(shape)}."
            )


def _to_array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"`{name}` has rows of unequal lengths; pad them, and give `{INPUT_MASK}`.") from None
    if array.dtype.kind not in "iub":
        raise InputError(f"`{name}` must be integers. Received the dtype {array.dtype}.")
    if array.size and not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31:
        raise InputError(f"`{name}` must be numbers of 32 bits.")
    return np.ascontiguousarray(array, np.int32)
