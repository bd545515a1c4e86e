"""A folder put into a repository of the Hugging Face hub, as one commit."""

from typing import Any

from absl import logging

from albert_tf.published.hub_client import explained, import_hub
from albert_tf.published.names import HubName
from albert_tf.runtime.errors import InputError


def check_sign_in(name: HubName) -> None:
    """Sees that an upload can be tried, before the work that leads to it.

    Raises:
        InputError: huggingface_hub is not installed, HF_HUB_OFFLINE is set, or there is no token.
    """
    hub = import_hub()
    if hub.constants.HF_HUB_OFFLINE:
        raise InputError(f"{name}: HF_HUB_OFFLINE keeps from uploading; start without it, or with --dry_run")
    if hub.get_token() is None:
        raise InputError(f"{name}: an upload needs a token; sign in by `hf auth login`, or set HF_TOKEN")


def upload(folder: str, name: HubName, private: bool, message: str) -> str:
    """Uploads the files of a folder; repository and branch are made if they are not there.

    Args:
        folder: to upload; files of the same names are replaced, others stay.
        name: the repository, and the branch; None is main.
        private: whether the repository is to be seen by its owner alone.
        message: of the commit.

    Returns:
        the address of the commit.

    Raises:
        InputError: no right to write, a repository that is public though `private` is asked for, or no network.
    """
    hub = import_hub()
    with explained(name):
        api = hub.HfApi()
        api.create_repo(name.repository, private=True if private else None, exist_ok=True)
        if private and api.model_info(name.repository).private is False:
            raise InputError(f"{name} is there already, and public; leave --private out, or name another repository")
        if name.revision not in (None, "main"):
            api.create_branch(name.repository, branch=name.revision, exist_ok=True)
        options: dict[str, Any] = {"revision": name.revision, "commit_message": message}
        commit = api.upload_folder(repo_id=name.repository, folder_path=folder, **options)
    logging.info("uploaded to %s", commit.commit_url)
    return str(commit.commit_url)
