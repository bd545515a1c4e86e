"""Names by which runs, or models, are told apart in a figure or a table."""

import os

from albert_tf.runtime import files


def name_runs(paths: list[str]) -> list[str]:
    """Names by which runs are told apart: the folders' own, with as many of those above as that takes."""
    parts = [os.path.abspath(path).split(os.sep) if not files.is_remote(path) else path.split("/") for path in paths]
    parts = [[part for part in one if part] for one in parts]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-depth:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(paths, 1)]
