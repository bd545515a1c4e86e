"""The files of a repository that are needed: the weights in one form, the config, the vocabulary; nothing else."""

import os
import re
from collections.abc import Iterable

from albert_tf.tokenization.vocabulary_file import is_vocabulary

# Small files that go along with weights of any form.
_ALONG = re.compile(
    r"config\.json|albert_config\.json|bert_config\.json|generation_config\.json|vocab\.txt"
    r"|tokenizer(_config)?\.json|special_tokens_map\.json|added_tokens\.json"
    # How sentence-transformers makes one vector of a text.
    r"|modules\.json|sentence_bert_config\.json|config_sentence_transformers\.json|\d_Pooling/config\.json"
    r"|\d_Dense/(config\.json|model\.safetensors|pytorch_model\.bin)"
)
# Forms of weights, the first that is there counts: the file that tells of the form, and all that belongs to it.
_FORMS = [
    (re.compile(told), re.compile(belongs))
    for told, belongs in (
        (r"model\.safetensors", r"model\.safetensors"),
        (r"model\.safetensors\.index\.json", r"model\.safetensors\.index\.json|model-[^/]*\.safetensors"),
        # A checkpoint of ours, without the state of its optimizer.
        (r"checkpoint\.json", r"checkpoint\.json|evaluation\.json|model\.(index|data-[^/]*)"),
        (r"[^/]*\.weights\.(h5|json)", r"[^/]*\.weights\.h5|[^/]*\.json|assets/.*"),
        (r"variables/variables\.index", r"variables/variables\.(index|data-[^/]*)|assets/[^/]*"),
        (r"[^/]*\.index", r"[^/]*\.(index|data-\d{5}-of-\d{5})"),
        (r"pytorch_model\.bin", r"pytorch_model\.bin"),
        (r"pytorch_model\.bin\.index\.json", r"pytorch_model\.bin\.index\.json|pytorch_model-[^/]*\.bin"),
    )
]
# A vocabulary that stands for itself, beside weights as transformers keeps them.
VOCABULARY_NAME = "spiece.model"
_OWN_STATE = "checkpoint.json"


def needed_files(names: Iterable[str], weights: bool = True) -> list[str]:
    """The files to fetch, sorted; none if the repository has no weights that can be read here.

    >>> needed_files(["README.md", "config.json", "model.safetensors", "pytorch_model.bin", "spiece.model"])
    ['config.json', 'model.safetensors', 'spiece.model']

    Args:
        names: all files of the repository, by their paths in it.
        weights: whether the weights are needed; without, the vocabulary alone is fetched, if it stands for itself.
    """
    names = sorted(set(names))
    if not weights and stands_for_itself(names):
        return [name for name in names if _goes_along(name)]
    for told, belongs in _FORMS:
        if any(told.fullmatch(name) for name in names):
            return [name for name in names if belongs.fullmatch(name) or _goes_along(name)]
    return []


def names_in(folder: str) -> list[str]:
    """The files of a folder and those below it, by their paths in it, sorted."""
    return sorted(
        os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names
    )


def stands_for_itself(names: Iterable[str]) -> bool:
    """Tells whether a vocabulary is all of a tokenizer; in a checkpoint of ours stands how texts are cleaned."""
    names = list(names)
    return VOCABULARY_NAME in names and _OWN_STATE not in names


def _goes_along(name: str) -> bool:
    return bool(_ALONG.fullmatch(name)) or ("/" not in name and is_vocabulary(name))
