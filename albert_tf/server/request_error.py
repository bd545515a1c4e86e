"""The error of a request: one line for its client, and the HTTP status."""

from albert_tf.runtime.errors import InputError

BAD_REQUEST, NOT_FOUND, TOO_SLOW, TOO_LARGE, NO_MEMORY = 400, 404, 408, 413, 429
# Nobody is there to read it; it is for the metrics.
CLIENT_CLOSED = 499
FAULT, BUSY, TIMED_OUT = 500, 503, 504


class RequestError(InputError):
    """A request that gets no answer.

    Args:
        message: one line for the client.
        status: of the HTTP response, as TensorFlow Serving has it for the same error.
        retry_after: seconds after which the same request may succeed; None where it never will.
    """

    def __init__(self, message: str, status: int = BAD_REQUEST, retry_after: int | None = None):
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
