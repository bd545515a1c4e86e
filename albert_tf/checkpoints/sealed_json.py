"""JSON files that carry their own SHA-256, so that no bit of them changes unnoticed.

The digest is the last entry, and that of the file as it was without it:

    {
      "step": 5000,
      "sha256": "…"
    }
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError, InputError
from albert_tf.runtime.json_text import to_json_bytes

_DIGEST = "sha256"
_SEAL = re.compile(rb',\n  "sha256": "([0-9a-f]{64})"\n\}\n\Z')


def seal(values: Mapping[str, Any]) -> bytes:
    """The file's contents for a JSON object, which is not empty and has no entry "sha256"."""
    unsealed = to_json_bytes(dict(values), indent=2)
    ending = f',\n  "{_DIGEST}": "{hashlib.sha256(unsealed).hexdigest()}"\n}}\n'
    return unsealed.removesuffix(b"\n}") + ending.encode()


def write_sealed_json(path: str, values: Mapping[str, Any]) -> None:
    """Writes a JSON object with its digest; the file appears whole or not at all."""
    with files.replace_file(path) as file:
        file.write(seal(values))


def read_sealed_json(path: str) -> tuple[dict[str, Any], bool]:
    """Reads a JSON object.

    Returns:
        its entries without the digest; and whether there was one. Without one nothing is known of the values.

    Raises:
        DamagedError: the digest is that of other contents, or this is no JSON object.
    """
    contents = files.read_small(path)
    found = _SEAL.search(contents)
    if found is not None:
        contents = contents[: found.start()] + b"\n}"
        if hashlib.sha256(contents).hexdigest() != found[1].decode():
            raise DamagedError(f"{path}: damaged, its contents do not match the SHA-256 in it")
    try:
        return files.parse_json(contents, path), found is not None
    except InputError as error:
        raise DamagedError(str(error)) from None
