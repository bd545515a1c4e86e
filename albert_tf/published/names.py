"""Names of published weights, which stand where a checkpoint's path may: hf://owner/name@revision, official://name."""

import dataclasses
import os
import re

from albert_tf.runtime.errors import InputError

HUB, OFFICIAL = "hf://", "official://"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_REPOSITORY = re.compile(rf"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_FORM = "hf://owner/name, or hf://owner/name@revision"
# Owners of models that are known by their own names too.
_OWNERS = {"albert-": "albert", "bert-": "google-bert", "all-": "sentence-transformers"}


@dataclasses.dataclass(frozen=True)
class HubName:
    """A repository of the Hugging Face hub at a revision.

    Attributes:
        repository: "owner/name".
        revision: a branch, a tag or a commit; None for the repository's main branch.
    """

    repository: str
    revision: str | None = None

    def __str__(self) -> str:
        """The name as a user writes it."""
        return HUB + self.repository + (f"@{self.revision}" if self.revision else "")


def is_published(path: object) -> bool:
    """Tells whether a path is a name of published weights, right or wrong.

    >>> is_published("hf://albert/albert-base-v2"), is_published("runs/base")
    (True, False)
    """
    return isinstance(path, str) and path.startswith((HUB, OFFICIAL))


def parse_hub_name(text: str) -> HubName:
    """Takes a name of the Hugging Face hub apart.

    >>> parse_hub_name("hf://albert/albert-base-v2@main")
    HubName(repository='albert/albert-base-v2', revision='main')

    Args:
        text: with HUB at its start; a slash at its end does not count.

    Raises:
        InputError: it is not of that form.
    """
    repository, at, revision = text.removeprefix(HUB).rstrip("/").partition("@")
    check_repository(repository, text)
    if at and not _is_revision(revision):
        raise InputError(f"{text}: {revision!r} can be no revision; give a branch, a tag or a commit, as in {_FORM}")
    return HubName(repository, revision if at else None)


def hub_advice(path: str) -> str:
    """The end of a message about a path with nothing there that looks like a name of the hub; "" for other paths.

    >>> hub_advice("bert-base-uncased"), hub_advice("my/runs/base")
    ('; on the Hugging Face hub it would be hf://google-bert/bert-base-uncased', '')
    """
    owner = next((owner for start, owner in _OWNERS.items() if path.startswith(start)), None)
    name = path if owner is None or "/" in path else f"{owner}/{path}"
    if not _REPOSITORY.fullmatch(name) or os.path.exists(path.partition("/")[0]):
        return ""
    return f"; on the Hugging Face hub it would be {HUB}{name}"


def check_repository(repository: str, where: str) -> None:
    """Raises InputError, which begins with `where`, unless a text can be a repository of the hub, "owner/name"."""
    if not _REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
        raise InputError(f"{where}: {repository!r} is no repository of the Hugging Face hub; the form is {_FORM}")


def _is_revision(text: str) -> bool:
    return bool(_REVISION.fullmatch(text)) and ".." not in text
