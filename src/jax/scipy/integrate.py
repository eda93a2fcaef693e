"""``jax.scipy.integrate``: integrals of samples."""

from __future__ import annotations

from typing import Any

from jax import numpy as jnp


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: an array of samples.
      x: where they were taken, of the shape of ``y`` or with one axis; equally spaced by default.
      dx: the spacing, unless ``x`` is given.
      axis: the axis to integrate along.

    >>> import jax.numpy as jnp
    >>> float(trapezoid(jnp.array([0.0, 1.0, 4.0])))
    3.0
    """
    return jnp.trapezoid(y, x, dx, axis)
