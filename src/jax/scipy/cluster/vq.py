"""``jax.scipy.cluster.vq``: vector quantisation."""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each observation, and its Euclidean distance.

    Args:
      obs: observations of shape ``(m, d)``, or ``(m,)`` for numbers.
      code_book: codes of shape ``(k, d)``, or ``(k,)``.
      check_finite: has no effect: values are not known while a program is traced. Observations with NaN have distance NaN.

    Returns:
      ``(codes, distances)``, integers and floats of shape ``(m,)``; the first of equally near codes.

    Raises:
      ValueError: for shapes that do not fit.

    >>> import jax.numpy as jnp
    >>> codes, distances = vq(jnp.array([0.2, 3.0]), jnp.array([0.0, 2.0]))
    >>> codes.tolist()
    [0, 1]
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    shapes = jnp.shape(obs), jnp.shape(code_book)
    if len(shapes[0]) != len(shapes[1]):
        raise ValueError(f"Observation and code_book should have the same rank: got shapes {shapes[0]} and {shapes[1]}")
    if len(shapes[0]) not in (1, 2):
        raise ValueError(f"scipy.cluster.vq.vq: one or two axes are supported, got shapes {shapes[0]} and {shapes[1]}")
    if shapes[0][1:] != shapes[1][1:]:
        raise ValueError(f"scipy.cluster.vq.vq: observations of {shapes[0][1]} and codes of {shapes[1][1]} components")
    if not shapes[1][0]:
        raise ValueError("scipy.cluster.vq.vq: the code book is empty")
    return _nearest(obs, code_book)


@composite
def _nearest(obs: Any, code_book: Any) -> tuple[Any, Any]:
    obs, code_book = (jnp.asarray(v) for v in promote_dtypes_inexact(unwrap(obs), unwrap(code_book)))
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    gaps = obs[:, None, :] - code_book[None, :, :]
    squares = jnp.sum(jnp.square(jnp.abs(gaps)), axis=-1)
    codes = jnp.argmin(squares, axis=1)
    square = jnp.take_along_axis(squares, codes[:, None], axis=1)[:, 0]
    none = square == 0  # where the root has no slope
    return codes, jnp.where(none, jnp.zeros_like(square), jnp.sqrt(jnp.where(none, jnp.ones_like(square), square)))
