"""Convolution and correlation of sequences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax.lax._precision import canonical_precision
from jax.numpy._products import operands, requested
from jax.numpy._ufuncs_floating import conjugate

_MODES = ("full", "same", "valid")


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The convolution of two sequences: ``out[k] = sum_n a[n] * v[k - n]``.

    Args:
      a, v: vectors with at least one element.
      mode: ``"full"``: wherever they overlap, ``len(a) + len(v) - 1`` elements; ``"same"``: the middle part, as long as
        the longer one; ``"valid"``: where they overlap completely.
      precision, preferred_element_type: as for ``jnp.matmul``.

    Raises:
      ValueError: for other ranks, empty vectors and other modes.

    >>> import jax.numpy as jnp
    >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 10])).tolist()
    [1, 12, 23, 30]
    """
    return _checked("convolve", a, v, mode, precision, preferred_element_type)


def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The cross-correlation of two sequences: ``out[k] = sum_n a[n + k] * conj(v[n])``.

    Arguments and errors as for :func:`convolve`.
    """
    return _checked("correlate", a, v, mode, precision, preferred_element_type)


def _checked(name: str, a: Any, v: Any, mode: str, precision: Any, preferred_element_type: Any) -> Any:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")
    return _slide(a, v, name=name, mode=mode, precision=canonical_precision(precision),
                  preferred_element_type=requested(name, preferred_element_type))


@functools.partial(composite, static_argnames=("name", "mode", "precision", "preferred_element_type"))
def _slide(a: Any, v: Any, name: str, mode: str, precision: Any, preferred_element_type: Any) -> Any:
    (a, v), dtype = operands(name, a, v)
    s, t = typeof(a).shape, typeof(v).shape
    if len(s) != 1 or len(t) != 1:
        raise ValueError(f"{name}: vectors are needed, got shapes {s} and {t}")
    if 0 in (s[0], t[0]):
        raise ValueError(f"{name}: vectors must have elements, got shapes {s} and {t}")
    # Where the middle is not in the middle it is left of it, seen from the longer operand.
    shorter = min(s[0], t[0])
    before, after = (shorter - 1) // 2, shorter // 2
    if name == "correlate":
        v = lax.rev(conjugate(v), (0,))
        if s[0] < t[0]:
            before, after = after, before
    pad = {"full": (shorter - 1, shorter - 1), "same": (after, before), "valid": (0, 0)}[mode]
    if s[0] < t[0]:
        a, v = v, a
    bool_in = dtype == np.bool_
    if bool_in:
        a, v = (convert(x, dtypes.scalar_dtype(int)) for x in (a, v))
    out = lax.conv_general_dilated(
        lax.expand_dims(a, (0, 1)), lax.expand_dims(lax.rev(v, (0,)), (0, 1)), (1,), [pad], precision=precision,
        preferred_element_type=preferred_element_type)
    out = lax.squeeze(out, (0, 1))
    return convert(out, dtype) if bool_in and preferred_element_type is None else out
