"""Objects on the host of devices of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_MISSING = object()


class Instance:
    """An object that is made when it is first asked for, once, whichever threads ask.

    Args:
      make: makes it. If it raises, whoever asks next tries again.
    """

    __slots__ = ("_make", "_made", "_lock")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = _MISSING
        self._lock = threading.RLock()

    def get(self) -> Any:
        """The object."""
        if self._made is _MISSING:
            with self._lock:
                if self._made is _MISSING:
                    self._made = self._make()
        return self._made


__all__ = ["Instance"]
