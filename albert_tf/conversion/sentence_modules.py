"""The files by which sentence-transformers makes one vector of a text, beside the model of transformers in a folder.

modules.json                          the steps: Transformer, Pooling, Dense where there is such a layer, and Normalize
                                      where vectors get length 1
1_Pooling/config.json                 which vectors of pieces are taken
2_Dense/                              the layer and its numbers, see sentence_dense
sentence_bert_config.json             where texts are cut
config_sentence_transformers.json     texts that are put in front of others
"""

import json
import os
from typing import Any

from albert_tf.conversion.sentence_dense import read_dense, write_dense
from albert_tf.heads.pooling import CLS, MEAN, POOLED, Pooling
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tokenization.text_cleaning import TextCleaning

MODULES_NAME = "modules.json"
POOLING_FOLDER = "1_Pooling"
LENGTH_NAME, PROMPTS_NAME = "sentence_bert_config.json", "config_sentence_transformers.json"
_CONFIG_NAME, _TOKENIZER_NAME = "config.json", "tokenizer_config.json"
_TRANSFORMER, _POOLING, _DENSE, _NORMALIZE = _TYPES = ("Transformer", "Pooling", "Dense", "Normalize")
_PREFIX = "sentence_transformers.models."
# {its key: what it is here}; newer files have the last part alone, as the value of "pooling_mode".
_MODES = {"pooling_mode_mean_tokens": MEAN, "pooling_mode_cls_token": CLS}
_NEW_KEY, _OLD_KEYS = "pooling_mode", "pooling_mode_"


def has_modules(folder: str) -> bool:
    """Tells whether the files of sentence-transformers lie in a folder."""
    return files.exists(os.path.join(folder, MODULES_NAME))


def read_pooling(folder: str, cleaning: TextCleaning | None, longest: int) -> Pooling:
    """The pooling of the model in a folder.

    Args:
        folder: for which `has_modules` is true.
        cleaning: of the tokenizer that lies there; None if unknown.
        longest: the most positions of the model.

    Raises:
        InputError: a damaged file, or a step that there is no like of here.
    """
    path = os.path.join(folder, MODULES_NAME)
    modules = _read_modules(path)
    kinds = [kind for kind, _ in modules]
    unknown = next((kind for kind in kinds if kind not in _TYPES), None)
    places = dict(modules)
    # In their order, none twice, and the first two in any case.
    is_read = kinds == [kind for kind in _TYPES if kind in places] and kinds[:2] == [_TRANSFORMER, _POOLING]
    if not is_read or places[_TRANSFORMER]:
        fault = f"its step {unknown!r} has no like here" if unknown is not None else f"its steps are {', '.join(kinds)}"
        raise InputError(
            f"{path}: {fault}; Transformer, Pooling, Dense and Normalize are read, in this order, the last two where "
            "they are there, the first in the folder itself; without this file the folder is a model of transformers "
            "alone"
        )
    mode = _read_mode(os.path.join(folder, places[_POOLING], _CONFIG_NAME))
    dense = read_dense(os.path.join(folder, places[_DENSE])) if _DENSE in places else None
    _check_prompts(os.path.join(folder, PROMPTS_NAME))
    length = _read_length(folder, cleaning)
    return Pooling(mode, _NORMALIZE in places, None if length is None else min(length, longest), dense)


def write_modules(folder: str, pooling: Pooling, hidden_size: int, longest: int) -> None:
    """Writes the files of sentence-transformers beside a model of transformers.

    Args:
        folder: of the model.
        pooling: how it makes one vector of a text.
        hidden_size: H of the model.
        longest: where texts are cut where `pooling` does not say it.

    Raises:
        InputError: a pooling that sentence-transformers has no word for.
    """
    if pooling.mode not in _MODES.values():
        raise InputError(
            f"--pooling={POOLED}: sentence-transformers has no step that reads the pooler's output; choose mean or cls"
        )
    kinds = [_TRANSFORMER, _POOLING]
    kinds += [_DENSE] if pooling.dense is not None else []
    kinds += [_NORMALIZE] if pooling.normalize else []
    modules = [
        {"idx": at, "name": str(at), "path": f"{at}_{kind}" if at else "", "type": _PREFIX + kind}
        for at, kind in enumerate(kinds)
    ]
    modes = {key: mode == pooling.mode for key, mode in _MODES.items()}
    if pooling.dense is not None:
        write_dense(os.path.join(folder, str(modules[kinds.index(_DENSE)]["path"])), pooling.dense)
    files.make_folder(os.path.join(folder, POOLING_FOLDER))
    length = pooling.max_seq_length or longest
    for name, values in (
        (MODULES_NAME, modules),
        (os.path.join(POOLING_FOLDER, _CONFIG_NAME), {"word_embedding_dimension": hidden_size, **modes}),
        (LENGTH_NAME, {"max_seq_length": length, "do_lower_case": False}),
        (PROMPTS_NAME, {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}),
    ):
        with files.replace_file(os.path.join(folder, name)) as file:
            file.write(to_json_bytes(values, indent=2) + b"\n")


def _read_modules(path: str) -> list[tuple[str, str]]:
    """(type without its package, place) of every step."""
    try:
        modules = json.loads(files.read_small(path))
        return [(str(module["type"]).rpartition(".")[2], str(module["path"])) for module in modules]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{path}: no list of steps, each with its type and path, as sentence-transformers has"
        ) from None


def _read_mode(path: str) -> str:
    """The mode of Pooling.

    Raises:
        InputError: the file is not there, is damaged, or names other vectors than those of Pooling, or several.
    """
    if not files.exists(path):
        raise InputError(f"{path} is missing, which says how a text becomes one vector; copy the folder as a whole")
    values = files.read_json(path)
    if _NEW_KEY in values:
        chosen = values[_NEW_KEY]
        chosen = [chosen] if isinstance(chosen, str) else chosen
    else:
        keys = [key for key, value in values.items() if key.startswith(_OLD_KEYS) and value is True]
        chosen = [_MODES.get(key, key.removeprefix(_OLD_KEYS)) for key in keys] or [MEAN]
    if not isinstance(chosen, list) or len(chosen) != 1 or chosen[0] not in _MODES.values():
        named = ", ".join(map(str, chosen)) if isinstance(chosen, list) else chosen
        raise InputError(f"{path}: pooling by {named} has no like here; mean and cls are read")
    return str(chosen[0])


def _check_prompts(path: str) -> None:
    """Raises InputError if every text is to have another in front of it."""
    values = files.read_json(path) if files.exists(path) else {}
    name, prompts = values.get("default_prompt_name"), values.get("prompts")
    if name is not None and isinstance(prompts, dict) and prompts.get(name):
        raise InputError(
            f"{path}: every text is to begin with the prompt {name!r}, {prompts[name]!r}, which is not put there here; "
            "write it in front of the texts, and set default_prompt_name to null"
        )


def _read_length(folder: str, cleaning: TextCleaning | None) -> int | None:
    """The most pieces of a text; None where no file says it."""
    path = os.path.join(folder, LENGTH_NAME)
    values: dict[str, Any] = files.read_json(path) if files.exists(path) else {}
    if values.get("do_lower_case") and cleaning is not None and not cleaning.do_lower_case:
        raise InputError(f"{path}: do_lower_case is true, and the tokenizer's is false; set both alike")
    length = values.get("max_seq_length")
    if length is None:
        tokenizer = os.path.join(folder, _TOKENIZER_NAME)
        path, length = (
            tokenizer,
            (files.read_json(tokenizer) if files.exists(tokenizer) else {}).get("model_max_length"),
        )
    if length is None:
        return None
    if isinstance(length, bool) or not isinstance(length, int | float) or length < 1:
        raise InputError(f"{path}: the length {length!r} is none")
    return int(length)
