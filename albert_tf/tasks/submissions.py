"""Submissions to the leaderboards of GLUE and SuperGLUE: the files that several tasks wrote, in one zip."""

import os
import zipfile
from collections.abc import Sequence

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import glue, superglue

# The names of all files of each.
FILES_OF = {"GLUE": glue.submission_files(), "SuperGLUE": superglue.submission_files()}


def write_submission_zip(path: str, folders: Sequence[str]) -> list[str]:
    """Puts the submission files of several tasks' output folders into one zip file.

    Args:
        path: where it is to appear.
        folders: where `write_predictions` left them, one or several tasks in each; all of GLUE, or all of SuperGLUE.

    Returns:
        The names that a full submission would also have; the leaderboard wants all of them.

    Raises:
        InputError: none of the files is there, or one is there twice, or there are those of both.
    """
    found = _find(folders)
    present = [benchmark for benchmark, names in FILES_OF.items() if set(names) & set(found)]
    if not present:
        wanted = " or ".join(", ".join(names) for names in FILES_OF.values())
        raise InputError(f"no submission file ({wanted}) in {', '.join(map(str, folders))}")
    if len(present) > 1:
        raise InputError(
            f"{' and '.join(sorted(found))} are of {' and '.join(present)}; name the folders of one of them"
        )
    with files.replace_file(path) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(found):
            with files.open_binary(found[name]) as file:
                # No time of writing: the same predictions give the same bytes.
                archive.writestr(zipfile.ZipInfo(name), file.read(), zipfile.ZIP_DEFLATED)
    return [name for name in FILES_OF[present[0]] if name not in found]


def _find(folders: Sequence[str]) -> dict[str, str]:
    """{name: path} of the submission files in the folders."""
    found: dict[str, str] = {}
    for folder in folders:
        before = len(found)
        for name in (name for names in FILES_OF.values() for name in names):
            source = os.path.join(folder, name)
            if not files.exists(source):
                continue
            if name in found:
                raise InputError(f"{name} lies in two folders, {os.path.dirname(found[name])} and {folder}; name one")
            found[name] = source
        if len(found) == before:
            raise InputError(f"{folder} has no submission file; run_finetuning --do_predict writes one into its folder")
    return found
