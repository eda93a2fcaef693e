"""Looking into kernels while they run."""

from __future__ import annotations

import string
import time
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import config
from jax._base.source import api_boundary
from jax._callbacks.debugging import watch
from jax._callbacks.printing import debug_print as print_values
from jax._language.avals import typeof
from jax.experimental.checkify._check import check


@api_boundary
def debug_print(fmt: str, *args: Any) -> None:
    """Prints values when the kernel runs.

    Args:
      fmt: a template of ``str.format``. One without fields is printed with the values after it.
      args: arrays.

    Raises:
      TypeError: ``fmt`` is not a string.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     out[...] = jnp.zeros_like(out)
    ...     pl.debug_print("program {}", pl.program_id(0))
    >>> y = pl.pallas_call(kernel, jax.ShapeDtypeStruct((2,), jnp.int32), grid=2, interpret=True)()
    program 0
    program 1
    """
    if not isinstance(fmt, str):
        raise TypeError(f"pl.debug_print: the first argument is a template, a string; got {fmt!r}")
    if args and not any(name is not None for _, name, _, _ in string.Formatter().parse(fmt)):
        fmt = " ".join([fmt, *["{}"] * len(args)])
    print_values(fmt, *args)


@api_boundary
def debug_check(condition: Any, message: str) -> None:
    """Fails unless ``condition`` holds, if the option ``jax_pallas_enable_debug_checks`` is on; it does nothing otherwise.

    Args:
      condition: a boolean scalar.
      message: what to report, a string.

    The error is raised when the kernel has run; under :func:`jax.experimental.checkify.checkify` it is returned.

    Raises:
      TypeError: the condition is no boolean scalar.

    >>> import jax
    >>> from jax.experimental import pallas as pl
    >>> pl.debug_check(False, "not checked")
    >>> with pl.enable_debug_checks(True):
    ...     pl.debug_check(True, "holds")
    """
    if not isinstance(message, str):
        raise TypeError(f"pl.debug_check: the message must be a string, got {message!r}")
    if config.pallas_enable_debug_checks.value:
        check(condition, message.replace("{", "{{").replace("}", "}}"))


@api_boundary
def delay(nanos: Any) -> None:
    """Lets the program sleep for as many nanoseconds: to see whether a kernel depends on how fast its programs are.

    Args:
      nanos: an integer scalar.

    Interpreted programs sleep as precisely as the operating system lets them.

    >>> from jax.experimental import pallas as pl
    >>> pl.delay(1000)
    """
    aval = typeof(nanos)
    if aval.shape != () or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"pl.delay takes an integer scalar, a number of nanoseconds, got {aval.str_short()}")
    watch(_sleep, (nanos,), {}, False)


def _sleep(nanos: Any) -> None:
    time.sleep(max(0, int(nanos)) * 1e-9)


__all__ = ["debug_check", "debug_print", "delay"]
