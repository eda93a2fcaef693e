"""``pjit``, which :func:`jax.jit` has replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.jit import jit


def pjit(fun: Callable[..., Any], in_shardings: Any = None, out_shardings: Any = None,
         static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
         donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
         keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool = False,
         abstracted_axes: Any = None) -> Any:
    """The same as :func:`jax.jit`. ``abstracted_axes`` must be None."""
    if abstracted_axes is not None:
        raise NotImplementedError("pjit: abstracted_axes (dynamic shapes) is not supported")
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, static_argnums=static_argnums,
               static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames,
               keep_unused=keep_unused, device=device, backend=backend, inline=inline)


__all__ = ["pjit"]
