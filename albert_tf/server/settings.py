"""Settings of a server."""

import dataclasses
from typing import Annotated

from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Bounds, Count, Interval, StrPath, check, described


@described
@dataclasses.dataclass(frozen=True)
class ServerSettings:
    """Settings of a server."""

    host: Annotated[str, "Address to listen at; 0.0.0.0 for all of this machine's."] = "127.0.0.1"
    port: Annotated[int, Bounds(0, 65535), "Port to listen at; 0 for one that is free."] = 8501
    page: Annotated[bool, "Serve a page at / where people can try the models."] = False
    page_sentences_file: Annotated[
        StrPath | None, "Sentences, one a line, among which the page finds the nearest to a text."
    ] = None
    max_batch_size: Annotated[Count, "Most rows that run together, and most rows of a request."] = 32
    batch_wait_ms: Annotated[
        float, Interval("[0, 10000]"), "Milliseconds that a request waits for others to run with."
    ] = 2.0
    max_queue: Annotated[Count, "Requests that may wait for a model; to more than that the answer is 503."] = 128
    max_body_bytes: Annotated[Count, "Most bytes of a request's body; to more than that the answer is 413."] = 4 << 20
    max_text_chars: Annotated[Count, "Most characters of a text, and of a row's list of texts together."] = 20_000
    timeout_s: Annotated[float, Interval("(0, 86400]"), "Seconds after which a request's answer is 504."] = 30.0

    def __post_init__(self) -> None:
        check(self)
        if self.page_sentences_file is not None and not self.page:
            raise FlagError("--page_sentences_file is for the page, which --page serves; give both")
