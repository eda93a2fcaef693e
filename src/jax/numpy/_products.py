"""Products that sum: matrices, vectors, tensors; Kronecker and cross products."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.jit import jit
from jax._api.sharding_constraints import laid_out
from jax._ground.structural import permute
from jax._language import dims
from jax._language.avals import typeof
from jax._language.trace import bottom, current_trace
from jax.lax._precision import canonical_precision
from jax.numpy import _calls as calls
from jax.numpy._contraction import contract
from jax.numpy._promotion import (
    check_arraylike,
    check_rank_promotion,
    promote_dtypes,
    refuse_out,
)
from jax.numpy._ufuncs_floating import conjugate

_get_trace = current_trace.get
_PLAIN: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def requested(name: str, dtype: Any) -> Any:
    """``preferred_element_type=`` as a dtype or None."""
    return None if dtype is None else dtypes.requested_dtype(dtype, name)


def operands(name: str, *args: Any) -> tuple[list[Any], Any]:
    """The operands in one dtype, and that dtype."""
    dtype = None
    for x in args:
        aval = getattr(x, "aval", None)
        if aval is None or (dtype is not None and aval.dtype is not dtype):
            break
        dtype = aval.dtype
    else:
        return list(args), dtype
    check_arraylike(name, *args)
    args = tuple(promote_dtypes(*args))
    return list(args), typeof(args[0]).dtype


# --- matmul ---------------------------------------------------------------------------------------------------------

def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None,
           out_sharding: Any = None) -> Any:
    """The matrix product ``a @ b`` over the last two axes of each operand.

    A vector (rank 1) is a row on the left and a column on the right, without that axis in the result. Axes in front of
    the last two are broadcast together.

    Args:
      a: an array of shape ``(..., n, k)`` or ``(k,)``.
      b: an array of shape ``(..., k, m)`` or ``(k,)``.
      precision: how floats may be rounded inside, see :class:`jax.lax.Precision`; ``None`` takes the option
        ``jax_default_matmul_precision``.
      preferred_element_type: dtype in which products are summed and returned; by default the operands' common dtype.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Returns:
      An array of shape ``(..., n, m)``.

    Raises:
      TypeError: when the summed axes differ in size; the message shows both shapes.
      ValueError: for 0-d operands, or leading axes that do not broadcast.

    >>> import jax.numpy as jnp
    >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10])).tolist()
    [21, 43]
    """
    if precision is None and preferred_element_type is None and out_sharding is None:
        return matmul_of_two(a, b)
    if out_sharding is not None:
        out = matmul(a, b, precision=precision, preferred_element_type=preferred_element_type)
        return laid_out(out, out_sharding, "jnp.matmul")
    return _matmul(a, b, precision=canonical_precision(precision),
                   preferred_element_type=requested("matmul", preferred_element_type))


def matmul_of_two(x: Any, y: Any) -> Any:
    """``x @ y``: one compiled call on arrays, the primitive at once on tracers that it takes as they are."""
    trace = _get_trace()
    if trace is bottom:
        return _compiled_matmul(x, y)
    a, b = getattr(x, "aval", None), getattr(y, "aval", None)
    if a is not None and b is not None and a.dtype is b.dtype and a.dtype in calls.NUMBERS:
        s, t = a.shape, b.shape
        numbers = _numbers(len(s), len(t))
        if numbers is not None:
            n, m = s[-1], t[0]
            if n is m or (type(n) is int and n == m):
                return trace.process(lax.dot_general_p, (x, y), {
                    "dimension_numbers": numbers, "precision": canonical_precision(None),
                    "preferred_element_type": a.dtype, "out_sharding": None})
    return _general_matmul(x, y) if trace.staged else _compiled_matmul(x, y)


@functools.cache
def _numbers(rank: int, other: int) -> Any:
    """Dimension numbers of the product with a vector or matrix on the right; None where axes are broadcast."""
    return (((rank - 1,), (0,)), _PLAIN) if rank and 1 <= other <= 2 else None


def _general_matmul(a: Any, b: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    (a, b), dtype = operands("matmul", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    for position, shape in enumerate((s, t)):
        if not shape:
            raise ValueError(f"matmul: the operand at position {position} is 0-d, and vectors or matrices are needed "
                             f"(got shapes {s} and {t}); use * to multiply by a scalar")
    column = 0 if len(t) == 1 else len(t) - 2
    if not dims.dim_eq(s[-1], t[column]):
        raise TypeError(f"matmul: cannot multiply operands of shapes {s} and {t}: the last axis of the first has size "
                        f"{s[-1]}, and axis {column - len(t)} of the second, with which it is summed, has size "
                        f"{t[column]}")
    return batched_product(
        "matmul", a, b, (len(s) - 1, column), (max(len(s) - 2, 0), max(len(t) - 2, 0)),
        canonical_precision(None) if precision is None else precision, preferred_element_type or dtype)


def batched_product(name: str, a: Any, b: Any, contracting: tuple[int, int], batch: tuple[int, int], precision: Any,
                    dtype: Any) -> Any:
    """The product summed over one axis of each operand, where the first ``batch`` axes are broadcast together."""
    s, t = typeof(a).shape, typeof(b).shape
    lead = max(batch)
    if dims.broadcast_shapes([s[:batch[0]], t[:batch[1]]]) is None:
        raise ValueError(f"{name}: cannot multiply operands of shapes {s} and {t}: their leading axes {s[:batch[0]]} and "
                         f"{t[:batch[1]]} do not broadcast")
    # Leading axes are numbered from the last one; "a" and "b" are the axes that an operand has for itself.
    labels = [tuple(["k" if d == axis else n - 1 - d if d < n else own for d in range(len(shape))])
              for shape, axis, n, own in zip((s, t), contracting, batch, "ab", strict=True)]
    out = (*range(lead - 1, -1, -1), *[k for k in "ab" if k in labels[0] or k in labels[1]])
    return contract(a, labels[0], b, labels[1], out, precision, dtype)


_matmul = composite(_general_matmul, static_argnames=("precision", "preferred_element_type"))
_matmul.__name__ = "matmul"


def _named_matmul(a: Any, b: Any) -> Any:
    return _general_matmul(a, b)


_named_matmul.__name__ = _named_matmul.__qualname__ = "matmul"
_compiled_matmul = jit(_named_matmul)


# --- dot, vdot, inner, outer ----------------------------------------------------------------------------------------

def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """The sum of products over the last axis of ``a`` and the second to last of ``b`` (the only one of a vector).

    For vectors and matrices the same as :func:`matmul`. A 0-d operand multiplies. For more axes the result has all axes
    of ``a`` but the summed one, then those of ``b``: nothing is broadcast.

    Args:
      a, b: arrays or scalars.
      precision, preferred_element_type, out_sharding: as for ``jnp.matmul``.

    Raises:
      TypeError: when the summed axes differ in size; the message shows both shapes.
    """
    if out_sharding is not None:
        out = dot(a, b, precision=precision, preferred_element_type=preferred_element_type)
        return laid_out(out, out_sharding, "jnp.dot")
    return _dot(a, b, precision=canonical_precision(precision),
                preferred_element_type=requested("dot", preferred_element_type))


@functools.partial(composite, static_argnames=("precision", "preferred_element_type"))
def _dot(a: Any, b: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    (a, b), dtype = operands("dot", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    axis = max(len(t) - 2, 0)
    return _product("dot", a, b, (((len(s) - 1,), (axis,)) if s and t else _PLAIN), precision,
                    preferred_element_type or dtype)


def _product(name: str, a: Any, b: Any, contracting: tuple[tuple[int, ...], tuple[int, ...]], precision: Any,
             dtype: Any) -> Any:
    """``dot_general`` without batch dimensions; the error names the function."""
    s, t = typeof(a).shape, typeof(b).shape
    for i, j in zip(*contracting, strict=True):
        if not dims.dim_eq(s[i], t[j]):
            raise TypeError(f"{name}: cannot multiply operands of shapes {s} and {t}: axis {i} of the first has size "
                            f"{s[i]}, and axis {j} of the second, with which it is summed, has size {t[j]}")
    return lax.dot_general_p.bind(a, b, dimension_numbers=(contracting, _PLAIN), precision=precision,
                                  preferred_element_type=dtype, out_sharding=None)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum over all elements of ``conj(a) * b``; both are read in row-major order as vectors.

    Raises:
      TypeError: when the numbers of elements differ.
    """
    return _vdot(a, b, precision=canonical_precision(precision),
                 preferred_element_type=requested("vdot", preferred_element_type))


@functools.partial(composite, static_argnames=("precision", "preferred_element_type"))
def _vdot(a: Any, b: Any, precision: Any, preferred_element_type: Any) -> Any:
    (a, b), dtype = operands("vdot", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    n, m = dims.size_of(s), dims.size_of(t)
    if not dims.dim_eq(n, m):
        raise TypeError(f"vdot: operands of shapes {s} and {t} have {n} and {m} elements, and as many are needed")
    a, b = (lax.reshape(x, (n,)) if len(k) != 1 else x for x, k in ((a, s), (b, t)))
    return _product("vdot", conjugate(a), b, ((0,), (0,)), precision, preferred_element_type or dtype)


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products over the last axes of both; a 0-d operand multiplies. Nothing is conjugated.

    Returns:
      An array with the other axes of ``a``, then the other axes of ``b``.

    Raises:
      TypeError: when the last axes differ in size; the message shows both shapes.
    """
    return _inner(a, b, precision=canonical_precision(precision),
                  preferred_element_type=requested("inner", preferred_element_type))


@functools.partial(composite, static_argnames=("precision", "preferred_element_type"))
def _inner(a: Any, b: Any, precision: Any, preferred_element_type: Any) -> Any:
    (a, b), dtype = operands("inner", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    contracting = ((len(s) - 1,), (len(t) - 1,)) if s and t else _PLAIN
    return _product("inner", a, b, contracting, precision, preferred_element_type or dtype)


@composite
def _outer(a: Any, b: Any) -> Any:
    (a, b), dtype = operands("outer", a, b)
    n, m = dims.size_of(typeof(a).shape), dims.size_of(typeof(b).shape)
    a, b = lax.reshape(a, (n, 1)), lax.reshape(b, (1, m))
    return lax.bitwise_and(a, b) if dtype == np.bool_ else lax.mul(a, b)


def outer(a: Any, b: Any, out: None = None) -> Any:
    """The matrix of all products ``a[i] * b[j]``; arrays of other ranks are read as vectors."""
    refuse_out("outer", out)
    return _outer(a, b)


# --- products over vectors, broadcast over the rest -----------------------------------------------------------------

def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum over ``axis`` of ``conj(x1) * x2``; other axes are broadcast together.

    Args:
      x1, x2: arrays.
      axis: the axis to sum over, of both operands.
      precision, preferred_element_type: as for ``jnp.matmul``.

    Raises:
      ValueError: when ``axis`` differs in size, or other axes do not broadcast.
    """
    return _vecdot(x1, x2, axis=operator.index(axis), precision=canonical_precision(precision),
                   preferred_element_type=requested("vecdot", preferred_element_type))


@functools.partial(composite, static_argnames=("axis", "precision", "preferred_element_type"))
def _vecdot(a: Any, b: Any, axis: int, precision: Any, preferred_element_type: Any) -> Any:
    (a, b), dtype = operands("vecdot", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    axes = []
    for shape in (s, t):
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"vecdot: axis {axis} is out of bounds for an operand of shape {shape}")
        axes.append(axis % len(shape))
    if not dims.dim_eq(s[axes[0]], t[axes[1]]):
        raise ValueError(f"vecdot: operands of shapes {s} and {t} have sizes {s[axes[0]]} and {t[axes[1]]} along axis "
                         f"{axis}, over which their products are summed")
    check_rank_promotion("vecdot", (s, t))
    a, b = conjugate(_axis_last(a, axes[0])), _axis_last(b, axes[1])
    return batched_product("vecdot", a, b, (len(s) - 1, len(t) - 1), (len(s) - 1, len(t) - 1), precision,
                           preferred_element_type or dtype)


def _axis_last(x: Any, axis: int) -> Any:
    n = len(typeof(x).shape)
    return permute(x, [*[d for d in range(n) if d != axis], axis])


def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices times vectors: ``out[..., i] = sum_j x1[..., i, j] * x2[..., j]``; leading axes are broadcast.

    Raises:
      ValueError: for ranks that are too low, or sizes that do not match.
    """
    return _matvec(x1, x2)


@composite
def _matvec(a: Any, b: Any) -> Any:
    (a, b), dtype = operands("matvec", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    _check_vector_product("matvec", s, t, 2, 1, -1, -1)
    return batched_product("matvec", a, b, (len(s) - 1, len(t) - 1), (len(s) - 2, len(t) - 1),
                           canonical_precision(None), dtype)


def vecmat(x1: Any, x2: Any, /) -> Any:
    """Conjugated vectors times matrices: ``out[..., j] = sum_i conj(x1[..., i]) * x2[..., i, j]``.

    Leading axes are broadcast.

    Raises:
      ValueError: for ranks that are too low, or sizes that do not match.
    """
    return _vecmat(x1, x2)


@composite
def _vecmat(a: Any, b: Any) -> Any:
    (a, b), dtype = operands("vecmat", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    _check_vector_product("vecmat", s, t, 1, 2, -1, -2)
    return batched_product("vecmat", conjugate(a), b, (len(s) - 1, len(t) - 2), (len(s) - 1, len(t) - 2),
                           canonical_precision(None), dtype)


def _check_vector_product(name: str, s: Any, t: Any, rank_s: int, rank_t: int, i: int, j: int) -> None:
    if len(s) < rank_s or len(t) < rank_t:
        raise ValueError(f"{name}: the operands need at least {rank_s} and {rank_t} dimensions, got shapes {s} and {t}")
    if not dims.dim_eq(s[i], t[j]):
        raise ValueError(f"{name}: cannot multiply operands of shapes {s} and {t}: axis {i} of the first has size "
                         f"{s[i]}, and axis {j} of the second has size {t[j]}")
    ranks = (s[:len(s) - rank_s], t[:len(t) - rank_t])
    check_rank_promotion(name, ranks)


# --- tensordot ------------------------------------------------------------------------------------------------------

def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None,
              out_sharding: Any = None) -> Any:
    """The sum of products over pairs of axes.

    Args:
      a, b: arrays.
      axes: a number ``n`` for the last ``n`` axes of ``a`` with the first ``n`` of ``b``; or a pair, of axes of ``a``
        and of axes of ``b`` (numbers or sequences of them) that belong together.
      precision, preferred_element_type, out_sharding: as for ``jnp.matmul``.

    Returns:
      An array with the other axes of ``a``, then the other axes of ``b``.

    Raises:
      TypeError: when the axes do not exist, do not pair off or differ in size; the message shows both shapes.
    """
    if out_sharding is not None:
        out = tensordot(a, b, axes, precision=precision, preferred_element_type=preferred_element_type)
        return laid_out(out, out_sharding, "jnp.tensordot")
    if isinstance(axes, (list, tuple)) and len(axes) == 2:
        axes = tuple([tuple([operator.index(i) for i in side]) if isinstance(side, (list, tuple, np.ndarray))
                      else operator.index(side) for side in axes])
    else:
        try:
            axes = operator.index(axes)
        except TypeError:
            raise TypeError(f"tensordot: axes must be a number or a pair of axes or of sequences of axes, got "
                            f"{axes!r}") from None
    return _tensordot(a, b, axes=axes, precision=canonical_precision(precision),
                      preferred_element_type=requested("tensordot", preferred_element_type))


@functools.partial(composite, static_argnames=("axes", "precision", "preferred_element_type"))
def _tensordot(a: Any, b: Any, axes: Any, precision: Any, preferred_element_type: Any) -> Any:
    (a, b), dtype = operands("tensordot", a, b)
    s, t = typeof(a).shape, typeof(b).shape
    if type(axes) is int:
        if axes < 0 or axes > min(len(s), len(t)):
            raise TypeError(f"tensordot: axes={axes} exceeds the ranks of operands of shapes {s} and {t}")
        contracting = tuple(range(len(s) - axes, len(s))), tuple(range(axes))
    else:
        left, right = ((x,) if type(x) is int else x for x in axes)
        if len(left) != len(right):
            raise TypeError(f"tensordot: axes={axes} names {len(left)} axes of the first operand and {len(right)} of "
                            "the second, and they must pair off")
        for side, shape in ((left, s), (right, t)):
            if any(not -len(shape) <= d < len(shape) for d in side):
                raise TypeError(f"tensordot: axes {side} are out of bounds for an operand of shape {shape}")
        contracting = tuple([d % len(s) for d in left]), tuple([d % len(t) for d in right])
    return _product("tensordot", a, b, contracting, precision, preferred_element_type or dtype)
