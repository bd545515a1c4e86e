"""Rules for the fields of a manifest, and a digest over all of them: it is read by programs that trust it."""

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from albert_tf.records.masking_rules import DYNAMIC
from albert_tf.records.names import SENTENCE_TASKS
from albert_tf.runtime.json_text import to_json_bytes

DIGEST = "digest"
_LARGEST = 1 << 53  # of what JSON's numbers hold exactly


def digest_of(fields: Mapping[str, Any]) -> str:
    """SHA-256 of the fields but the digest itself, in hexadecimal, whatever their order and the spaces between."""
    covered = {name: value for name, value in fields.items() if name != DIGEST}
    return hashlib.sha256(to_json_bytes(covered, sort_keys=True)).hexdigest()


def find_fault(fields: Mapping[str, Any]) -> str | None:
    """Finds a fault in the types and values of a manifest's fields: part of a sentence; None if there is none."""
    for name, (is_right, wanted) in _FIELDS.items():
        if name in fields and not is_right(fields[name]):
            return f"{name} is not {wanted}"
    if fields.get("masking") == DYNAMIC and (fault := _find_masking_fault(fields.get("masking_parameters", {}))):
        return fault
    if DIGEST in fields and fields[DIGEST] != digest_of(fields):
        return "its digest is not that of its contents"
    return None


def _find_masking_fault(parameters: Mapping[str, Any]) -> str | None:
    for name, value in parameters.items():
        is_right, wanted = _MASKING.get(name, _PIECE)
        if not is_right(value):
            return f"{name} of masking_parameters is not {wanted}"
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _is_size(value: Any) -> bool:
    return _is_count(value) and value > 0


def _is_length(value: Any) -> bool:
    return _is_size(value) and value <= 1 << 20


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_file_name(value: Any) -> bool:
    """Tells whether it names a file in the manifest's own folder, and not that folder, a different one, or nothing."""
    return isinstance(value, str) and value not in ("", ".", "..") and os.path.basename(value) == value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _has(**checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(check(value.get(name)) for name, check in checks.items())


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in values


_RECORD_FILE = _has(name=_is_file_name, examples=_is_count, bytes=_is_count, sha256=_is_text)
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "files": (_list_of(_RECORD_FILE), "a list of names without folders, each with examples, bytes and sha256"),
    "num_examples": (_is_count, "a number of examples"),
    "max_seq_length": (_is_length, "a number of tokens"),
    "max_predictions_per_seq": (_is_length, "a number of predictions"),
    "sentence_task": (_one_of(*SENTENCE_TASKS), "sop, nsp or none"),
    "compression": (_one_of("none", "gzip"), "none or gzip"),
    "vocabulary": (_has(file=_is_text, sha256=_is_text, size=_is_size), "an object with file, sha256 and size"),
    "flags": (_is_object, "an object"),
    "input": (_list_of(_has(name=_is_text, bytes=_is_count, sha256=_is_text)), "a list with names, bytes and sha256"),
    "statistics": (_is_object, "an object"),
    "written_by": (_is_text, "text"),
    "masking": (_is_text, "text"),
    "masking_parameters": (_is_object, "an object"),
}
_MASKING: dict[str, tuple[Callable[[Any], bool], str]] = {
    "masked_lm_prob": (_is_share, "a share"),
    "max_predictions_per_seq": (_is_length, "a number of predictions"),
    "ngram": (_is_length, "a number of words"),
    **dict.fromkeys(("favor_shorter_ngram", "do_whole_word_mask", "reference_quirks"), (_is_flag, "true or false")),
}
_PIECE = (_is_count, "a number of pieces, or the id of one")
