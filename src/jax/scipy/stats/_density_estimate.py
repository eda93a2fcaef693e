"""Density estimation with Gaussian kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import lax, random
from jax import numpy as jnp
from jax.lax.linalg import cholesky
from jax.lax.linalg._triangular import solve as triangular
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap
from jax.scipy.special import logsumexp, ndtr
from jax.tree_util import register_pytree_node_class


@register_pytree_node_class
class gaussian_kde:
    """A density estimated from a sample: the mean of normal densities centred at its points.

    Args:
      dataset: a real sample of shape ``(n,)``, or ``(d, n)`` for points of ``d`` components.
      bw_method: the factor by which the sample's covariance is scaled: ``"scott"`` (the default, ``neff**(-1/(d+4))``),
        ``"silverman"`` (``(neff (d+2) / 4)**(-1/(d+4))``), a number, or a function of the estimate that returns one.
      weights: of shape ``(n,)``; equal by default.

    Attributes:
      dataset: of shape ``(d, n)``.
      weights: normalised, of shape ``(n,)``.
      neff: the effective number of points, ``1 / sum(weights**2)``.
      covariance, inv_cov: of the kernel, and its inverse.

    A pytree, so estimates pass through ``jit``, ``grad`` and ``vmap``. Deviations from SciPy: the bandwidth is fixed at
    construction (``set_bandwidth`` raises), ``resample`` takes a key, and ``integrate_box`` exists in one dimension only.

    Raises:
      ValueError: for empty or single samples, shapes that do not fit, unknown methods.
      TypeError: for complex samples.

    >>> import jax.numpy as jnp
    >>> kde = gaussian_kde(jnp.array([-1.0, 0.0, 1.0]))
    >>> round(float(kde.integrate_box_1d(-jnp.inf, 0.0)), 4)
    0.5
    """

    dataset: Any
    weights: Any
    neff: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: None | str | float | Callable[[Any], Any] = None,
                 weights: Any = None) -> None:
        check_arraylike("gaussian_kde", dataset)
        points = jnp.atleast_2d(jnp.asarray(promote_dtypes_inexact(unwrap(dataset))[0]))
        if jnp.issubdtype(points.dtype, jnp.complexfloating):
            raise TypeError(f"gaussian_kde: the sample must be real, got {points.dtype}")
        if points.ndim != 2 or points.shape[1] < 2:
            raise ValueError(f"gaussian_kde: the sample must have shape (n,) or (d, n) with n > 1, got {np.shape(dataset)}")
        n = points.shape[1]
        if weights is None:
            scaled = jnp.full((n,), 1 / n, points.dtype)
        else:
            check_arraylike("gaussian_kde", weights)
            scaled = jnp.asarray(unwrap(weights)).astype(points.dtype)
            if scaled.shape != (n,):
                raise ValueError(f"gaussian_kde: {n} points need weights of shape ({n},), got {scaled.shape}")
            scaled = scaled / jnp.sum(scaled)
        self.dataset, self.weights = points, scaled
        self.neff = 1 / jnp.sum(scaled**2)
        factor = self._factor(bw_method)
        spread = jnp.atleast_2d(jnp.cov(points, rowvar=True, bias=False, aweights=scaled))
        self.covariance = spread * factor**2
        self.inv_cov = jnp.linalg.inv(spread) / factor**2

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return self.neff ** (-1.0 / (self.d + 4))
        if isinstance(bw_method, str):
            if bw_method != "silverman":
                raise ValueError(f"gaussian_kde: bw_method must be 'scott', 'silverman', a number or a function, got "
                                 f"{bw_method!r}")
            return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        if callable(bw_method):
            return jnp.asarray(bw_method(self)).astype(self.dataset.dtype)
        check_arraylike("gaussian_kde", bw_method)
        if np.ndim(bw_method):
            raise ValueError(f"gaussian_kde: a number is needed as bw_method, got shape {np.shape(bw_method)}")
        return jnp.asarray(bw_method).astype(self.dataset.dtype)

    def tree_flatten(self) -> Any:
        """Leaves (the arrays) and no other data."""
        return (self.dataset, self.weights, self.neff, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        """The inverse of :meth:`tree_flatten`."""
        del aux_data
        kde = object.__new__(cls)
        kde.dataset, kde.weights, kde.neff, kde.covariance, kde.inv_cov = children
        return kde

    @property
    def d(self) -> int:
        """The number of components of a point."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of points in the sample."""
        return int(self.dataset.shape[1])

    def evaluate(self, points: Any) -> Any:
        """The density at points of shape ``(d, m)``, as an array of shape ``(m,)``.

        In one dimension ``points`` may have shape ``(m,)``; an array of shape ``(d,)`` is one point.
        """
        return jnp.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density; arguments as for :meth:`evaluate`."""
        points = self._points("logpdf", x)
        return _log_mixture(points, self.dataset, self.weights, self.covariance)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times a normal density with this mean (``(d,)``) and covariance (``(d, d)``)."""
        check_arraylike("gaussian_kde.integrate_gaussian", mean, cov)
        mean = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean)))
        cov = jnp.atleast_2d(jnp.asarray(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(f"gaussian_kde.integrate_gaussian: points of {self.d} components need a mean of shape "
                             f"({self.d},) and a covariance of shape ({self.d}, {self.d}), got {mean.shape} and {cov.shape}")
        mean, cov, own = (jnp.asarray(v) for v in promote_dtypes_inexact(mean, cov, self.covariance))
        return jnp.exp(_log_mixture(mean[:, None], self.dataset, self.weights, own + cov)[0])

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of the interval from ``low`` to ``high``, for one component.

        Raises:
          ValueError: for more components.
        """
        if self.d != 1:
            raise ValueError(f"gaussian_kde.integrate_box_1d: the points have {self.d} components, one is needed")
        check_arraylike("gaussian_kde.integrate_box_1d", low, high)
        if np.ndim(low) or np.ndim(high):
            raise ValueError("gaussian_kde.integrate_box_1d: scalar bounds are needed, got shapes "
                             f"{np.shape(low)} and {np.shape(high)}; use jax.vmap")
        sigma, centres = jnp.sqrt(self.covariance[0, 0]), self.dataset[0]
        return jnp.sum(self.weights * (ndtr((high - centres) / sigma) - ndtr((low - centres) / sigma)))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two estimated densities.

        Raises:
          ValueError: when their points have different numbers of components.
        """
        if other.d != self.d:
            raise ValueError(f"gaussian_kde.integrate_kde: points of {self.d} and of {other.d} components")
        logs = _log_mixture(other.dataset, self.dataset, self.weights, self.covariance + other.covariance)
        return jnp.exp(logsumexp(logs, b=other.weights))

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Points drawn from the density, of shape ``(d, *shape)``."""
        shape = tuple(shape)
        pick, move = random.split(key)
        at = random.choice(pick, self.n, shape, p=self.weights)
        noise = random.normal(move, (self.d, *shape), self.dataset.dtype)
        step = jnp.tensordot(cholesky(self.covariance), noise, axes=1)
        return self.dataset[:, at] + step

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Raises: the normal distribution function of several variables has no implementation here."""
        raise NotImplementedError("gaussian_kde.integrate_box is not supported; in one dimension use integrate_box_1d, else "
                                  "average over points of resample")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Raises: estimates do not change; make another one with ``bw_method``."""
        raise NotImplementedError("gaussian_kde.set_bandwidth: an estimate does not change once it is made; make another "
                                  "one: gaussian_kde(dataset, bw_method=...)")

    def _points(self, name: str, x: Any) -> Any:
        check_arraylike(f"gaussian_kde.{name}", x)
        x = jnp.asarray(promote_dtypes_inexact(unwrap(x), self.dataset)[0])
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"gaussian_kde.{name}: points must be real, got {x.dtype}")
        points = jnp.atleast_2d(x)
        if points.shape[0] == 1 and points.shape[1] == self.d:
            points = points.T
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(f"gaussian_kde.{name}: points of {self.d} components need shape ({self.d}, m), got {x.shape}")
        return points


def _log_mixture(points: Any, centres: Any, weights: Any, covariance: Any) -> Any:
    """The logarithm of ``sum_i weights_i normal(points; centres_i, covariance)`` for each column of ``points``."""
    factor = cholesky(covariance)
    points, centres = (triangular(factor, v.astype(factor.dtype), left=True, lower=True) for v in (points, centres))
    log_norm = jnp.sum(jnp.log(jnp.diagonal(factor))) + 0.5 * points.shape[0] * math.log(2 * math.pi)

    def at(point: Any) -> Any:
        gaps = point[:, None] - centres
        return logsumexp(-0.5 * jnp.sum(gaps * gaps, axis=0), b=weights) - log_norm
    return lax.map(at, points.T, batch_size=256)  # memory for 256 times n differences, however many points
