"""The configs and flag files that come with the package, found by path or by name from any folder."""

import os

# Folders of configs/, and how the names in them end.
MODELS, PRETRAINING, FINETUNING, EXPERIMENTS = "models", "pretraining", "finetuning", "experiments"
_ENDINGS = {MODELS: ".json", PRETRAINING: ".flags", FINETUNING: ".flags", EXPERIMENTS: ".json"}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def names(kind: str) -> list[str]:
    """The names of the shipped files of a kind, without their ending.

    >>> names(MODELS)[:2]
    ['albert_base_v1', 'albert_base_v2']
    """
    ending = _ENDINGS[kind]
    return sorted(name.removesuffix(ending) for name in os.listdir(_folder(kind)) if name.endswith(ending))


def find(path: str, *kinds: str) -> str:
    """The file at a path, or the shipped one that is meant.

    Args:
        path: of a file; or, where there is none, the name of a shipped one, "albert_base_v2", or its path in the
            source tree, "configs/models/albert_base_v2.json".
        *kinds: MODELS, PRETRAINING, FINETUNING, EXPERIMENTS.

    Returns:
        a path, which is the given one where nothing shipped is meant.
    """
    if os.path.isfile(path):
        return path
    folder, name = os.path.split(path)
    for kind in kinds:
        if folder not in ("", f"configs/{kind}"):
            continue
        found = path_of(name.removesuffix(_ENDINGS[kind]), kind)
        if os.path.isfile(found):
            return found
    return path


def path_of(name: str, kind: str) -> str:
    """The path of the shipped file of a name without ending, whether there is one or not."""
    return os.path.join(_folder(kind), name + _ENDINGS[kind])


def _folder(kind: str) -> str:
    """The folder of a kind: in the package where it was installed, beside it in a checkout."""
    installed = os.path.join(_PACKAGE, "configs", kind)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(_PACKAGE), "configs", kind)
