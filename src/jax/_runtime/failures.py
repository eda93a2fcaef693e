"""What users see when a program fails: the exception of their own callback, or who holds the memory that ran out."""

from __future__ import annotations

from typing import Any

from jax._base import host_calls

from . import memory


def surfaced(error: BaseException, device: Any = None, executable: Any = None) -> BaseException:
    """What to raise in place of ``error``, which a program (``executable``) or the wait for its results raised.

    That is ``error`` itself unless more is known. It is meant for ``raise surfaced(error)`` in an ``except`` clause.
    """
    known = host_calls.original(error)
    if known is not None:
        return known
    if device is None or not isinstance(error, Exception):
        return error
    better = memory.explained(error, device, executable)
    if better is not error:
        better.__suppress_context__ = True
    return better
