"""What users see when a program is given memory that it, or another one, has taken over."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from jax._base._jaxlib import xla

from .array import gone_message

ArrayImpl = xla.ArrayImpl


def explained(error: BaseException, args: Sequence[Any], donated: Container[int], name_of: Callable[[int], str],
              program: str) -> BaseException:
    """The error to raise in place of ``error``, which a call with ``args`` raised: ``error`` itself if it is not about
    memory that is gone.

    Args:
      error: what XLA raised.
      args: the flat arguments.
      donated: positions of those whose memory the program takes over.
      name_of: what the function calls the argument at a position.
      program: what was called.
    """
    text = str(error)
    if not text.startswith("INVALID_ARGUMENT") or "donate" not in text:
        return error
    for i, x in enumerate(args):
        if type(x) is ArrayImpl and x.is_deleted():
            return RuntimeError(f"{gone_message(x)} It was passed to {program} as {name_of(i)}.")
    for i, x in enumerate(args):
        if i in donated and type(x) is ArrayImpl:
            for j, y in enumerate(args):
                if j != i and type(y) is ArrayImpl and _same_memory(x, y):
                    return xla.JaxRuntimeError(
                        f"{program} takes over the memory of its argument {name_of(i)} ({x.aval.str_short()}), which is "
                        f"donated, and was given the same array as {name_of(j)}. Pass a copy there (jnp.copy), or do not "
                        f"donate {name_of(i)}.\nXLA says: {text}")
    return error


def _same_memory(x: Any, y: Any) -> bool:
    if x is y:
        return True
    try:
        return x.unsafe_buffer_pointer() == y.unsafe_buffer_pointer()
    except (ValueError, RuntimeError):  # of arrays in several pieces
        return False
