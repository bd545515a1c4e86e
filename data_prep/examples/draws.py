"""Random numbers in arrays: the same on every machine and with every version of NumPy.

NumPy promises the bits of its generators for good, but not what its distributions make of them; so only bits are
taken from it, and everything that is drawn is made of them here.
"""

import hashlib

import numpy as np

_TO_UNIT = 2.0**-53


def derive_seed(*keys: int | str) -> int:
    """A 128-bit seed from keys such as (seed, part, duplicate): the same on every machine and version of Python."""
    text = "/".join(map(str, keys))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


class Draws:
    """A stream of draws that a seed decides."""

    def __init__(self, seed: int):
        """Takes a seed of up to 128 bits."""
        self._bits = np.random.Philox(key=seed)

    def unit(self, count: int) -> np.ndarray:
        """`count` numbers from 0 up to 1, float64."""
        return (self._bits.random_raw(count) >> np.uint64(11)) * _TO_UNIT

    def below(self, limits: np.ndarray) -> np.ndarray:
        """A whole number from 0 up to each limit, the limit left out; int64. Limits are positive, below 2^40."""
        return (self.unit(len(limits)) * limits).astype(np.int64)

    def coins(self, count: int) -> np.ndarray:
        """`count` zeros and ones, each as likely; uint8."""
        words = self._bits.random_raw((count + 63) // 64).astype("<u8", copy=False)
        return np.unpackbits(words.view(np.uint8), count=count, bitorder="little")

    def one(self) -> float:
        """One number from 0 up to 1."""
        return (self._bits.random_raw() >> 11) * _TO_UNIT

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.one() * (high - low + 1))


def shuffled_order(count: int, seed: int) -> np.ndarray:
    """The numbers below count in an order that the seed decides; int64."""
    return np.argsort(np.random.Philox(key=seed).random_raw(count), kind="stable")
