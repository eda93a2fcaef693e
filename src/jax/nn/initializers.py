"""Initial values of weights: functions ``init(key, shape, dtype=...) -> array``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jax import dtypes, lax, random
from jax import numpy as jnp
from jax._api.sharding_constraints import laid_out
from jax._language.avals import typeof
from jax.lax._creation import as_shape

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """The type of initialisers: ``(key, shape, dtype=None, out_sharding=None) -> array``."""

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        raise NotImplementedError


def _settled(dtype: Any, default: Any, where: str) -> Any:
    """The dtype of a call: the one given to it, else the initialiser's, else the default float."""
    dtype = default if dtype is None else dtype
    return dtypes.scalar_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, where)


# --- constants ------------------------------------------------------------------------------------------------------

def zeros(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros; the key is not used.

    >>> import jax, jax.numpy as jnp
    >>> zeros(jax.random.key(0), (2,), jnp.float32).tolist()
    [0.0, 0.0]
    """
    if out_sharding is not None:
        return laid_out(zeros(key, shape, dtype), out_sharding, "jax.nn.initializers.zeros")
    return jnp.zeros(as_shape(shape), _settled(dtype, None, "zeros"))


def ones(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; the key is not used."""
    if out_sharding is not None:
        return laid_out(ones(key, shape, dtype), out_sharding, "jax.nn.initializers.ones")
    return jnp.ones(as_shape(shape), _settled(dtype, None, "ones"))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initialiser that fills with ``value``, a scalar or an array that broadcasts to the shape asked for."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        if out_sharding is not None:
            return laid_out(init(key, shape, dtype), out_sharding, "jax.nn.initializers.constant")
        return jnp.full(as_shape(shape), value, _settled(dtype, default, "constant"))
    return init


# --- independent numbers --------------------------------------------------------------------------------------------

def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initialiser of numbers uniform in ``[0, scale)``."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = _settled(dtype, default, "uniform")
        return _scaled(random.uniform(key, shape, dtype, out_sharding=out_sharding), scale)
    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initialiser of normal numbers with mean 0 and standard deviation ``stddev``."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = _settled(dtype, default, "normal")
        return _scaled(random.normal(key, shape, dtype, out_sharding=out_sharding), stddev)
    return init


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """An initialiser of numbers of the normal distribution with standard deviation ``stddev``, cut off.

    Args:
      stddev: the standard deviation before cutting; that of the numbers is smaller.
      dtype: the default dtype.
      lower, upper: where to cut, in units of ``stddev``.
    """
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = _settled(dtype, default, "truncated_normal")
        return _scaled(random.truncated_normal(key, lower, upper, shape, dtype, out_sharding=out_sharding), stddev)
    return init


def _scaled(x: Any, factor: Any) -> Any:
    """``x`` times a scalar, in the dtype of ``x``."""
    dtype = typeof(x).dtype
    on_host = isinstance(factor, (int, float, np.number, np.ndarray))
    return lax.mul(x, np.asarray(factor, dtype) if on_host else jnp.asarray(factor, dtype))


# --- numbers whose variance depends on the shape --------------------------------------------------------------------

def _axis_tuple(axes: Axes, ndim: int) -> tuple[int, ...]:
    given = (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
    for a in given:
        if not -ndim <= a < ndim:
            raise ValueError(f"variance_scaling: axis {a} does not exist in a shape with {ndim} axes")
    return tuple(a % ndim for a in given)


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs each output reads, and how many outputs each input feeds."""
    if len(shape) <= 1 and in_axis == -2:
        raise ValueError(f"variance_scaling needs a shape with an input and an output axis, got {tuple(shape)}; give "
                         "in_axis and out_axis, or use normal or uniform")
    ins, outs, batch = (_axis_tuple(a, len(shape)) for a in (in_axis, out_axis, batch_axis))
    size_in, size_out, size_batch = (math.prod(shape[a] for a in axes) for axes in (ins, outs, batch))
    total = math.prod(shape)
    receptive = total / (size_in * size_out * size_batch) if total else 0.0
    return size_in * receptive, size_out * receptive


def variance_scaling(scale: Any, mode: str, distribution: str, in_axis: Axes = -2, out_axis: Axes = -1,
                     batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """An initialiser of numbers with mean 0 and variance ``scale / n``, where ``n`` depends on the shape.

    Args:
      scale: a positive factor.
      mode: what ``n`` is: ``"fan_in"`` (inputs that an output reads), ``"fan_out"`` (outputs that an input feeds),
        ``"fan_avg"`` or ``"fan_geo_avg"`` (their arithmetic or geometric mean).
      distribution: ``"normal"``, ``"uniform"``, or ``"truncated_normal"`` (cut at two standard deviations).
      in_axis, out_axis: the axes of inputs and outputs.
      batch_axis: axes that are neither, nor part of a receptive field, as the others are.
      dtype: the default dtype, a float or complex one.

    Raises:
      ValueError: an unknown ``mode`` or ``distribution``, or a shape without the axes (when called).
    """
    if mode not in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        raise ValueError("variance_scaling: mode must be 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg', got "
                         f"{mode!r}")
    if distribution not in ("normal", "uniform", "truncated_normal"):
        raise ValueError("variance_scaling: distribution must be 'normal', 'uniform' or 'truncated_normal', got "
                         f"{distribution!r}")
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        shape = as_shape(shape)
        dtype = _settled(dtype, default, "variance_scaling")
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
             "fan_geo_avg": math.sqrt(fan_in * fan_out)}[mode]
        if out_sharding is not None:
            return laid_out(init(key, shape, dtype), out_sharding, "jax.nn.initializers.variance_scaling")
        return _with_variance(key, shape, dtype, scale / max(n, 1.0), distribution)
    return init


# The standard deviation of a standard normal variable cut at -2 and 2, and of a standard complex one cut at absolute
# value 2 (whose squared absolute value is exponential, cut at 4).
_CUT = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2)))
_COMPLEX_CUT = math.sqrt(1 - 4 * math.exp(-4) / (1 - math.exp(-4)))


def _root(x: Any, dtype: Any) -> Any:
    """The square root of a scalar in ``dtype``, on the host if it can be."""
    if isinstance(x, (int, float, np.number)):
        return np.asarray(np.sqrt(np.asarray(x, dtype)), dtype)
    return jnp.sqrt(jnp.asarray(x, dtype))


def _with_variance(key: Any, shape: tuple[Any, ...], dtype: Any, variance: Any, distribution: str) -> Any:
    real = dtypes.to_real_dtype(dtype)
    if distribution == "normal":
        return _scaled(random.normal(key, shape, dtype), _root(variance, real))
    if distribution == "uniform":
        if real != dtype:
            return _scaled(_in_disc(key, shape, real, lambda u: jnp.sqrt(2 * u)), _root(variance, real))
        three = np.asarray(3, real)
        return _scaled(random.uniform(key, shape, dtype, -1), _root(three * np.asarray(variance, real), real)
                       if isinstance(variance, (int, float, np.number)) else _root(three * variance, real))
    if real != dtype:
        inside = np.asarray(1 - math.exp(-4), real)
        numbers = _in_disc(key, shape, real, lambda u: jnp.sqrt(-jnp.log1p(-inside * u)))
        return _scaled(numbers, _root(variance, real) / np.asarray(_COMPLEX_CUT, real))
    return _scaled(random.truncated_normal(key, -2, 2, shape, dtype), _root(variance, real) / np.asarray(_CUT, real))


def _in_disc(key: Any, shape: tuple[Any, ...], real: Any, radius: Any) -> Any:
    """Complex numbers of random argument, whose absolute value is ``radius`` of a uniform number."""
    keys = random.split(key)
    r = radius(random.uniform(keys[0], shape, real))
    theta = random.uniform(keys[1], shape, real) * np.asarray(2 * math.pi, real)
    return lax.complex(r * jnp.cos(theta), r * jnp.sin(theta))


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, with variance ``2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010). See :func:`variance_scaling`."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, with variance ``2 / (fan_in + fan_out)``. See :func:`variance_scaling`."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, with variance ``1 / fan_in`` (LeCun et al., 1998). See :func:`variance_scaling`."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, with variance ``1 / fan_in``. See :func:`variance_scaling`."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, with variance ``2 / fan_in`` (He et al., 2015). See :func:`variance_scaling`."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, with variance ``2 / fan_in``. See :func:`variance_scaling`."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal


# --- orthogonal matrices --------------------------------------------------------------------------------------------

def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initialiser of matrices with orthonormal columns, or rows if these are fewer, times ``scale``.

    All axes but ``column_axis`` count as one (Saxe et al., 2014).

    Raises:
      ValueError: a shape with fewer than two axes (when called).
    """
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        shape = as_shape(shape)
        if out_sharding is not None:
            return laid_out(init(key, shape, dtype), out_sharding, "jax.nn.initializers.orthogonal")
        dtype = _settled(dtype, default, "orthogonal")
        if len(shape) < 2:
            raise ValueError(f"orthogonal needs a shape with at least two axes, got {shape}")
        axis = column_axis % len(shape)
        columns = shape[axis]
        rows = math.prod(shape) // columns if columns else 0
        matrix = random.orthogonal(key, rows, (), dtype, columns)
        rest = (*shape[:axis], *shape[axis + 1:])
        return _scaled(jnp.moveaxis(jnp.reshape(matrix, (*rest, columns)), -1, axis), scale)
    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initialiser of convolution kernels that are an orthogonal matrix at the centre and zero elsewhere.

    The last two axes of the shape are input and output channels; there may be up to three spatial axes before
    (Xiao et al., 2018).

    Raises:
      ValueError: another number of axes, or more input than output channels (when called).
    """
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        shape = as_shape(shape)
        if out_sharding is not None:
            return laid_out(init(key, shape, dtype), out_sharding, "jax.nn.initializers.delta_orthogonal")
        dtype = _settled(dtype, default, "delta_orthogonal")
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal needs a shape with 3, 4 or 5 axes, got {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(f"delta_orthogonal: there may not be more input channels than output channels, got {shape}")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        centre = tuple((n - 1) // 2 for n in shape[:-2])
        return jnp.zeros(shape, dtype).at[centre].set(matrix)
    return init
