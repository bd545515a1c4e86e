"""A file of a web server, fetched whole or not at all; a connection that is cut is taken up again where it was cut."""

import base64
import contextlib
import hashlib
import http.client
import re
import time
import urllib.error
import urllib.request
from typing import Any, BinaryIO

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

_BLOCK = 1 << 20
_TIMEOUT_S = 60
_ATTEMPTS, _PAUSE_S = 4, 0.5
_USER_AGENT = {"User-Agent": "albert_tf", "Accept-Encoding": "identity"}


def download(address: str, path: str) -> None:
    """Fetches a file.

    What arrives must be as long as the server said, and have the MD5 that it gave, where it gave one in x-goog-hash.

    Args:
        address: http:// or https://.
        path: where the file is to appear.

    Raises:
        InputError: no such file there, no right to it, the server is not reached or lost too often, or what arrived
            is not what the server said.
        OSError: no room, or no right to write.
    """
    if not address.startswith(("http://", "https://")):
        raise InputError(f"{address} is no address of a web server, http:// or https://")
    with files.replace_file(path) as file:
        transfer = _Transfer(address, file)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                transfer.go_on()
                break
            except urllib.error.HTTPError as error:
                raise InputError(f"{address}: the server answers {error.code} {error.reason}") from None
            except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
                reason = getattr(error, "reason", None) or str(error) or type(error).__name__
                if attempt == _ATTEMPTS or not transfer.received:
                    raise InputError(f"{address}: not reached, or lost on the way: {reason}; try again") from None
                logging.warning("%s: the download was cut (%s); going on with it", address, reason)
                time.sleep(_PAUSE_S)
        transfer.check()


class _Transfer:
    """One file on its way, over as many connections as it takes."""

    def __init__(self, address: str, file: BinaryIO):
        self.address = address
        self.received = 0
        self._file = file
        self._size: int | None = None
        self._stamp: str | None = None
        self._md5_wanted: str | None = None
        self._md5: Any = hashlib.md5(usedforsecurity=False)

    def go_on(self) -> None:
        """Receives the rest of the file; raises the network's errors, after which it can be called again."""
        headers = dict(_USER_AGENT)
        if self.received and self._stamp:
            headers |= {"Range": f"bytes={self.received}-", "If-Range": self._stamp}
        request = urllib.request.Request(self.address, headers=headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
                self._begin(answer)
            while block := answer.read(_BLOCK):
                self._file.write(block)
                self._md5.update(block)
                self.received += len(block)
        if self._size is not None and self.received < self._size:
            raise ConnectionError(f"{self.received:,} of {self._size:,} bytes arrived")

    def _begin(self, answer: Any) -> None:
        """Starts anew: the first time, and where the server has another file by now or knows no ranges."""
        self._file.seek(0)
        self._file.truncate()
        self.received, self._md5 = 0, hashlib.md5(usedforsecurity=False)
        length = answer.headers.get("Content-Length")
        self._size = int(length) if length and length.isdecimal() else None
        self._stamp = answer.headers.get("ETag")
        given = ",".join(answer.headers.get_all("x-goog-hash") or ())
        found = re.search(r"\bmd5=([A-Za-z0-9+/=]+)", given)
        self._md5_wanted = found[1] if found else None

    def check(self) -> None:
        """Raises InputError unless what arrived is what the server said."""
        if self._size is not None and self.received != self._size:
            came, said = f"{self.received:,}", f"{self._size:,}"
            raise InputError(f"{self.address}: {came} bytes arrived, the server said {said}; try again")
        if self._md5_wanted is None:
            return
        with contextlib.suppress(ValueError):
            if base64.b64decode(self._md5_wanted) == self._md5.digest():
                return
        raise InputError(f"{self.address}: what arrived has not the MD5 that the server gave; try again")
