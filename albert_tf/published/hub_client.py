"""The package huggingface_hub, where it is installed: quiet, and with every failure of it as one line."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from albert_tf.published.names import HubName
from albert_tf.runtime.errors import InputError

_LONGEST_TEXT = 300
# Answers that pass: too many requests, and faults of the server's own.
_PASSING = (429, 500, 502, 503, 504)
# The libraries by which huggingface_hub reaches the hub, in its versions.
_NETWORK = ("requests", "urllib3", "httpx", "httpcore", "httpx2", "httpcore2")
_LOGIN = "`hf auth login`, or HF_TOKEN in the environment"


def import_hub() -> Any:
    """Imports huggingface_hub.

    Its settings are its own: HF_HOME, HF_TOKEN, HF_HUB_OFFLINE, HF_ENDPOINT and others of the environment.

    Raises:
        InputError: it is not installed.
    """
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError as error:
        raise InputError(
            f"names of the Hugging Face hub (hf://) need {error.name}: pip install 'albert_tf[hub]'"
        ) from None
    if "HF_HUB_VERBOSITY" not in os.environ:
        huggingface_hub.utils.logging.set_verbosity_error()
    for name in _NETWORK:
        logging.getLogger(name).setLevel(logging.WARNING)
    if not sys.stderr.isatty():
        huggingface_hub.utils.disable_progress_bars()
    return huggingface_hub


def is_network_error(error: BaseException | None) -> bool:
    """Tells whether an error, or what caused it, is that a server was not reached, or was lost on the way."""
    while error is not None:
        if type(error).__module__.partition(".")[0] in _NETWORK:
            return True
        if isinstance(error, ConnectionError | TimeoutError):
            return True
        error = error.__cause__ or error.__context__
    return False


def status_of(error: BaseException) -> int | None:
    """The HTTP status of the answer that an error is about, if there was an answer."""
    return getattr(getattr(error, "response", None), "status_code", None)


@contextlib.contextmanager
def explained(name: HubName) -> Iterator[None]:
    """Turns every failure of huggingface_hub in a block into an InputError that says what to do.

    Args:
        name: what is fetched or written.
    """
    hub = import_hub()
    errors, endpoint = hub.errors, hub.constants.ENDPOINT
    try:
        yield
    except InputError:
        raise
    except errors.GatedRepoError:
        raise InputError(
            f"{name}: given only to those who were granted access; ask for it at {endpoint}/{name.repository}, then "
            f"sign in: {_LOGIN}"
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(
            f"{name}: the repository has no revision {name.revision or 'main'!r}; its branches and tags are at "
            f"{endpoint}/{name.repository}/tree/main"
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"{name}: no such repository at {endpoint}, or a private one; check the name, or sign in: {_LOGIN}"
        ) from None
    except errors.HFValidationError as error:
        raise InputError(f"{name}: {_text_of(error)}") from None
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise InputError(f"{name}: {_why_not_here(hub, error)}") from None
    except errors.EntryNotFoundError as error:
        raise InputError(f"{name}: a file that the hub lists is not there: {_text_of(error)}") from None
    except Exception as error:
        line = _explain_other(error, endpoint)
        if line is None:
            raise
        raise InputError(f"{name}: {line}") from None


def _why_not_here(hub: Any, error: Exception) -> str:
    if hub.constants.HF_HUB_OFFLINE:
        return (
            f"not in the cache {hub.constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE keeps from fetching it; start once "
            "without it"
        )
    if is_network_error(error):
        return (
            f"{hub.constants.ENDPOINT} is not reached, and the cache {hub.constants.HF_HUB_CACHE} lacks it; try again"
        )
    return f"not in the cache {hub.constants.HF_HUB_CACHE}, and not fetched: {_text_of(error.__cause__ or error)}"


def _explain_other(error: Exception, endpoint: str) -> str | None:
    """The line for any other failure; None for what is none of the network's, the hub's or the disk's."""
    status = status_of(error)
    if status in (401, 403):
        return f"{endpoint} refuses access ({status}); sign in with a token that may do this: {_LOGIN}"
    if status is not None:
        later = "; try again later" if status in _PASSING else ""
        return f"{endpoint} answers {status}: {_text_of(error)}{later}"
    if is_network_error(error):
        return f"{endpoint} is not reached, or was lost on the way: {_text_of(error)}; try again"
    if isinstance(error, OSError) and error.errno is None:
        # A file of another size than the hub said.
        return f"{_text_of(error)}; start again"
    return None


def _text_of(error: BaseException) -> str:
    """The message of an exception on one line, without the full stop at its end."""
    return " ".join(str(error).split())[:_LONGEST_TEXT].rstrip(".") or type(error).__name__
