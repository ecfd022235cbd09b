"""How long to wait before trying again."""

from __future__ import annotations

import random


class Backoff:
    """Rising waits with jitter: the nth is random between half and all of `first * 2**n`, at most `longest` seconds."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._tried = 0

    def next(self) -> float:
        whole = min(self._first * float(1 << min(self._tried, 20)), self._longest)
        self._tried += 1
        return whole * (0.5 + random.random() / 2)

    def reset(self) -> None:
        self._tried = 0
