"""Composite library functions: inlined while a program is staged, one compiled call otherwise.

Most of ``jax.numpy`` is written in terms of ``lax``. Traced into a program such a function leaves its operations there,
without a nested program; on concrete arrays it is one cached compiled call; under eager ``grad`` or ``vmap`` that call
is differentiated or batched as a whole, from caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.jit import jit
from jax._base.config import numpy_rank_promotion
from jax._base.source import api_boundary, filter_traceback
from jax._language.trace import current_trace

_get_trace = current_trace.get


def composite(fun: Callable[..., Any] | None = None, *, static_argnames: str | Sequence[str] = ()) -> Any:
    """Decorator for a library function of arrays; arguments named in ``static_argnames`` must be hashable.

    Anything that is not an array (axes, shapes, flags, modes) must be static, and made hashable before.
    """
    if fun is None:
        return functools.partial(composite, static_argnames=static_argnames)

    def compiled(*args: Any, **kwargs: Any) -> Any:  # made at the first eager call: most functions are never called
        nonlocal compiled
        compiled = jit(fun, static_argnames=static_argnames or None).in_cpp
        return compiled(*args, **kwargs)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            # Warnings about ranks are due at each call, and compiled calls are cached.
            if _get_trace().staged or numpy_rank_promotion.value == "warn":
                return fun(*args, **kwargs)
            return compiled(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    call.filters_errors = True  # type: ignore[attr-defined]
    return call


__all__ = ["api_boundary", "composite"]
