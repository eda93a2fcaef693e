"""Arithmetic on the sizes of dimensions.

Rules that compute shapes go through these functions, so that a size can become something other than an ``int`` (a name
with constraints, in exported programs) in one place.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

Dim = Any
Shape = tuple[Any, ...]


def is_static(d: Dim) -> bool:
    """Whether the size is a number."""
    return type(d) is int


def dim_eq(a: Dim, b: Dim) -> bool:
    """Whether two sizes are known to be equal."""
    return a is b or bool(a == b)


def is_one(d: Dim) -> bool:
    return type(d) is int and d == 1


def is_zero(d: Dim) -> bool:
    return type(d) is int and d == 0


def size_of(shape: Iterable[Dim]) -> Dim:
    """The number of elements."""
    n: Any = 1
    for d in shape:
        n = n * d
    return n


def same_size(a: Shape, b: Shape) -> bool:
    return a == b or dim_eq(size_of(a), size_of(b))


# --- canonical forms ------------------------------------------------------------------------------------------------

def canonical_dim(d: Any, what: str = "a shape") -> Dim:
    """``d`` as an ``int`` (or as the symbol it is).

    Raises:
      TypeError: if it is traced or not an integer.
    """
    if type(d) is int:
        return d
    if getattr(d, "_is_symbolic_dimension", False):
        return d
    try:
        return operator.index(d)
    except TypeError as e:
        aval = getattr(d, "aval", None)
        if aval is not None:
            raise TypeError(
                f"{what} must consist of concrete integers, and {d!r} is a traced value ({aval.str_short()}): its "
                "value is not known while the program is traced. Under jax.jit pass it as a static argument "
                "(static_argnums), or derive it from x.shape.") from e
        raise TypeError(f"{what} must consist of integers, got {d!r} of type {type(d).__name__}") from None


def canonicalize_shape(shape: Any, what: str = "a shape") -> Shape:
    """``shape`` as a tuple of ``int``; a single integer is a shape of one dimension."""
    if type(shape) is tuple:
        for d in shape:
            if type(d) is not int:
                break
        else:
            return shape
    try:
        items = tuple(shape)
    except TypeError:
        return (canonical_dim(shape, what),)
    return tuple([canonical_dim(d, what) for d in items])


def canonical_axis(axis: Any, ndim: int, op: str = "axis", name: str = "axis") -> int:
    """``axis`` counted from the front.

    Raises:
      ValueError: if it is not in ``[-ndim, ndim)``.
    """
    if type(axis) is not int:
        axis = canonical_dim(axis, f"{op}: {name}")
    if 0 <= axis < ndim:
        return axis
    if -ndim <= axis < 0:
        return axis + ndim
    span = f"must lie in [{-ndim}, {ndim})" if ndim else "does not exist: the operand has rank 0"
    raise ValueError(f"{op}: {name} {axis} {span}")


def canonical_axes(axes: Any, ndim: int, op: str, name: str = "dimensions") -> tuple[int, ...]:
    """Axes counted from the front, in the order given; none may occur twice."""
    if type(axes) is int:
        axes = (axes,)
    out = tuple([canonical_axis(a, ndim, op, name) for a in axes])
    if len(out) > 1 and len(set(out)) != len(out):
        raise ValueError(f"{op}: {name} {tuple(axes)} name an axis twice (the operand has rank {ndim})")
    return out


# --- sizes that operations produce ----------------------------------------------------------------------------------

def stride_dim(d: Dim, window: Dim, stride: Dim) -> Dim:
    """How many windows of size ``window`` fit in ``d`` at distance ``stride``."""
    if type(d) is int and type(window) is int and d < window:
        return 0
    return (d - window) // stride + 1


def dilate_dim(d: Dim, dilation: Dim) -> Dim:
    """The size after putting ``dilation - 1`` elements between neighbours."""
    if is_zero(d) or is_one(dilation):
        return d
    return (d - 1) * dilation + 1


def sliced_dim(start: Dim, limit: Dim, stride: Dim = 1) -> Dim:
    """The number of elements at ``start, start + stride, ...`` before ``limit``."""
    if stride == 1:
        return limit - start
    return (limit - start + stride - 1) // stride


def padded_dim(d: Dim, low: Dim, high: Dim, interior: Dim) -> Dim:
    return dilate_dim(d, interior + 1) + low + high


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape | None:
    """The common shape under NumPy's rule, or ``None`` if there is none."""
    first = shapes[0]
    for s in shapes:
        if s != first:
            break
    else:
        return first
    rank = max([len(s) for s in shapes])
    out: list[Any] = [1] * rank
    for s in shapes:
        for i, d in enumerate(s, rank - len(s)):
            have = out[i]
            if have is d or have == d or is_one(d):
                continue
            if not is_one(have):
                return None
            out[i] = d
    return tuple(out)
