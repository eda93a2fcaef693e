"""Looking for NaN and infinities in results, under ``jax_debug_nans`` and ``jax_debug_infs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import config
from jax._base._jaxlib import xla
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.trace import bottom, run_in

_INEXACT = "fcV"  # the extension floats are of kind V


def enabled() -> bool:
    """Whether results are to be checked in this thread."""
    return bool(config.debug_nans.value or config.debug_infs.value)


def check_results(outs: Sequence[Any], name: str, jaxpr: ClosedJaxpr | None = None, args: Sequence[Any] = ()) -> None:
    """Raises FloatingPointError if an array of ``outs`` holds what the options forbid.

    With the ``jaxpr`` of the program, and if its arguments still exist, the program is run again one operation at a
    time, so that the error comes from the operation that made the value.
    """
    found = next((kind for x in outs if (kind := _forbidden(x))), None)
    if found is None:
        return
    if jaxpr is None or len(jaxpr.jaxpr.eqns) <= 1 or any(_is_gone(x) for x in args):
        raise FloatingPointError(f"{found} in the result of {name}")
    # Each operation ends up in this function by itself.
    run_in(bottom, eval_jaxpr, jaxpr.jaxpr, jaxpr.consts, *args)
    raise FloatingPointError(
        f"{found} in the result of the compiled {name}, but not when its operations run one at a time: the compiler "
        "has changed the order or precision of operations. jax.disable_jit() and jax_debug_nans=False get around it.")


def _is_gone(x: Any) -> bool:
    return isinstance(x, xla.ArrayImpl) and x.is_deleted()


def _forbidden(x: Any) -> str | None:
    dtype = getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in _INEXACT or not isinstance(x, xla.ArrayImpl):
        return None
    if not x.is_fully_addressable:
        return None
    value = np.asarray(x)
    if dtype.kind == "V":
        value = value.astype(np.float32)
    if config.debug_nans.value and np.isnan(value).any():
        return "NaN"
    if config.debug_infs.value and np.isinf(value).any():
        return "an infinity"
    return None
