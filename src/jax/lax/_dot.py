"""Products of arrays: ``dot_general`` and its special cases."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._api.sharding_constraints import laid_out
from jax._ground.families import COMPLEX, FLOAT, SIGNED, UNSIGNED, category, defbilinear, real_part_if_needed
from jax._ground.structural import convert, inverse_permutation, permute
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.rules import register_lowering, structural
from jax.lax._precision import (
    DotAlgorithmPreset,
    algorithm_attr,
    algorithm_dtypes,
    canonical_precision,
    is_algorithm,
    reverse_precision,
)

# ((lhs contracting, rhs contracting), (lhs batch, rhs batch))
DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]

dot_general_p = Primitive("dot_general")


def dot_general(lhs: Any, rhs: Any, dimension_numbers: DotDimensionNumbers, precision: Any = None,
                preferred_element_type: Any = None, *, out_sharding: Any = None) -> Any:
    """The product of two arrays, summed over pairs of contracting dimensions.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, sequences of dimensions that
        pair off. Products are made example by example along batch dimensions.
      precision: ``None``, a :class:`Precision`, its name, a pair of them, a :class:`DotAlgorithmPreset`, its name, or a
        :class:`DotAlgorithm`. ``None`` takes the option ``jax_default_matmul_precision``.
      preferred_element_type: dtype in which products are summed and returned.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array with the batch dimensions in front, then the other dimensions of ``lhs``, then those of ``rhs``. Its
      dtype is ``preferred_element_type`` or the wider one of the operands' dtypes.

    Raises:
      TypeError: when dimension numbers do not fit the operands; the message shows both shapes.

    >>> jax.lax.dot_general(np.ones((2, 3)), np.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
    (2, 4)
    """
    (lc, rc), (lb, rb) = dimension_numbers
    if type(lc) is not tuple or type(rc) is not tuple or type(lb) is not tuple or type(rb) is not tuple:
        lc, rc, lb, rb = (tuple([operator.index(d) for d in ds]) for ds in (lc, rc, lb, rb))
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(preferred_element_type, "dot_general")
    out = dot_general_p.bind(
        lhs, rhs, dimension_numbers=((lc, rc), (lb, rb)), precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type, out_sharding=None)
    return out if out_sharding is None else laid_out(out, out_sharding, "dot_general")


def _abstract(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
              out_sharding: Any) -> Any:
    (lc, rc), (lb, rb) = dimension_numbers
    x, y = lhs.shape, rhs.shape
    for side, shape, contracting, batch in (("lhs", x, lc, lb), ("rhs", y, rc, rb)):
        used = (*contracting, *batch)
        if any(not 0 <= d < len(shape) for d in used) or len(set(used)) != len(used):
            _fail(lhs, rhs, dimension_numbers, f"{side} has rank {len(shape)}, so its contracting and batch dimensions "
                  f"must be distinct numbers in [0, {len(shape)})")
    for what, ours, theirs in (("contracting", lc, rc), ("batch", lb, rb)):
        if len(ours) != len(theirs):
            _fail(lhs, rhs, dimension_numbers, f"lhs has {len(ours)} {what} dimensions and rhs has {len(theirs)}")
        for a, b in zip(ours, theirs, strict=True):
            if not dims.dim_eq(x[a], y[b]):
                _fail(lhs, rhs, dimension_numbers, f"{what} dimension {a} of lhs has size {x[a]}, and the {what} "
                      f"dimension {b} of rhs that goes with it has size {y[b]}")
    shape = (*[x[d] for d in lb], *[n for d, n in enumerate(x) if d not in lc and d not in lb],
             *[n for d, n in enumerate(y) if d not in rc and d not in rb])
    if isinstance(lhs.dtype, dtypes.ExtendedDType) or isinstance(rhs.dtype, dtypes.ExtendedDType):
        raise TypeError(f"dot_general: operands of dtypes {lhs.dtype} and {rhs.dtype} cannot be multiplied")
    dtype = preferred_element_type or product_dtype("dot_general", lhs.dtype, rhs.dtype)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _fail(lhs: Any, rhs: Any, numbers: Any, why: str) -> None:
    (lc, rc), (lb, rb) = numbers
    raise TypeError(f"dot_general: cannot multiply lhs of shape {lhs.shape} and rhs of shape {rhs.shape}, contracting "
                    f"dimensions {lc} with {rc}, batch dimensions {lb} with {rb}: {why}.")


_RANK = {"bool": 0, UNSIGNED: 1, SIGNED: 1, FLOAT: 2, COMPLEX: 3}


def product_dtype(op: str, x: Any, y: Any) -> Any:
    """The dtype of a product of mixed operands: that of the one with the wider range."""
    if x is y or x == y:
        return x
    kinds = category(x), category(y)
    if kinds[0] not in _RANK or kinds[1] not in _RANK:
        raise TypeError(f"{op}: operands of dtypes {x} and {y} cannot be multiplied")
    return max((y, kinds[1]), (x, kinds[0]), key=_range)[0]


def _range(entry: tuple[Any, str]) -> tuple[Any, ...]:
    dtype, kind = entry
    if kind == FLOAT:
        return _RANK[kind], float(dtypes.finfo(dtype).max)
    if kind == COMPLEX or kind == "bool":
        return _RANK[kind], dtype.itemsize
    return _RANK[kind], dtypes.itemsize_bits(dtype), kind == SIGNED


def _lower(ctx: Any, x: Any, y: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
           out_sharding: Any) -> Any:
    contracting, batch = dimension_numbers
    (x_aval, y_aval), (out,) = ctx.avals_in, ctx.avals_out
    if precision is DotAlgorithmPreset.DEFAULT:
        precision = None
    if not is_algorithm(precision):
        if x_aval.dtype != y_aval.dtype and not _both_float8(x_aval.dtype, y_aval.dtype):
            x, y = (hlo.convert_element_type(v, a, a.update(dtype=out.dtype)) for v, a in ((x, x_aval), (y, y_aval)))
        return [hlo.dot_general(x, y, out, contracting=contracting, batch=batch, precision=precision)]
    left, right, produced = algorithm_dtypes(precision, x_aval.dtype, y_aval.dtype, out.dtype)
    attr = algorithm_attr(precision, ctx.platforms, left, right, produced)
    x = hlo.convert_element_type(x, x_aval, x_aval.update(dtype=left))
    y = hlo.convert_element_type(y, y_aval, y_aval.update(dtype=right))
    inner = out.update(dtype=produced)
    product = hlo.dot_general(x, y, inner, contracting=contracting, batch=batch, algorithm=attr)
    return [hlo.convert_element_type(product, inner, out)]


def _both_float8(x: Any, y: Any) -> bool:
    return x.name.startswith("float8") and y.name.startswith("float8")


def _kept(rank: int, contracting: Any, batch: Any) -> tuple[int, ...]:
    return tuple([d for d in range(rank) if d not in contracting and d not in batch])


def _cotangent(ct: Any, other: Any, aval: Any, numbers: Any, swap: bool, precision: Any, preferred: Any,
               out_sharding: Any) -> Any:
    """The cotangent of the operand of type ``aval``, the left one, or the right one if ``swap``.

    It is a product of ``ct`` and the other operand over what the other operand kept. Which of the two goes first is
    chosen so that no transposition is needed, where there is such a choice.
    """
    (lc, rc), (lb, rb) = numbers
    mine, theirs, my_batch, their_batch = (rc, lc, rb, lb) if swap else (lc, rc, lb, rb)
    my_kept = _kept(len(aval.shape), mine, my_batch)
    their_kept = _kept(len(typeof(other).shape), theirs, their_batch)
    n = len(lb)
    first_kept = n if swap else n + len(my_kept)  # where the other operand's kept dimensions are in ct
    ct_contracting = tuple(range(first_kept, first_kept + len(their_kept)))
    ct_batch = tuple(range(n))
    # Contracted dimensions come out in the order in which the other operand has them.
    contracted = tuple([mine[i] for i in sorted(range(len(theirs)), key=theirs.__getitem__)])
    ct_first = (*my_batch, *my_kept, *contracted)
    other_first = (*my_batch, *contracted, *my_kept)
    if sorted(other_first) == list(other_first) and ct_first != other_first:
        out = _bind(other, ct, ((their_kept, ct_contracting), (their_batch, ct_batch)),
                    precision if swap else reverse_precision(precision), preferred, out_sharding)
        order = other_first
    else:
        out = _bind(ct, other, ((ct_contracting, their_kept), (ct_batch, their_batch)),
                    reverse_precision(precision) if swap else precision, preferred, out_sharding)
        order = ct_first
    return convert(real_part_if_needed(permute(out, inverse_permutation(order)), aval), aval.dtype)


def _bind(x: Any, y: Any, numbers: Any, precision: Any, preferred: Any, out_sharding: Any) -> Any:
    return dot_general_p.bind(x, y, dimension_numbers=numbers, precision=precision, preferred_element_type=preferred,
                              out_sharding=None)


def _transpose_lhs(ct: Any, x: Any, y: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
                   out_sharding: Any) -> Any:
    return _cotangent(ct, y, x.aval, dimension_numbers, False, precision, preferred_element_type, out_sharding)


def _transpose_rhs(ct: Any, x: Any, y: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
                   out_sharding: Any) -> Any:
    return _cotangent(ct, x, y.aval, dimension_numbers, True, precision, preferred_element_type, out_sharding)


def _batch(args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    (x, y), (dx, dy) = args, batch_dims
    (lc, rc), (lb, rb) = dimension_numbers
    lc, lb, rc, rb = _shift(lc, dx), _shift(lb, dx), _shift(rc, dy), _shift(rb, dy)
    if dx is not None and dy is not None:
        lb, rb = (dx, *lb), (dy, *rb)
        out_dim = 0
    elif dx is not None:  # the mapped axis is one more dimension that is kept
        out_dim = len(lb) + sum([d not in lc and d not in lb for d in range(dx)])
    else:
        kept_left = len(typeof(x).shape) - len(lc) - len(lb)
        out_dim = len(lb) + kept_left + sum([d not in rc and d not in rb for d in range(dy)])
    return dot_general_p.bind(x, y, dimension_numbers=((lc, rc), (lb, rb)), **params), out_dim


def _shift(axes: tuple[int, ...], mapped: int | None) -> tuple[int, ...]:
    """Dimensions of an example as dimensions of the batch."""
    return axes if mapped is None else tuple([d + (d >= mapped) for d in axes])


dot_general_p.def_abstract_eval(_abstract)
register_lowering(dot_general_p, _lower)
structural["dot_general"] = dot_general_p
defbilinear(dot_general_p, _transpose_lhs, _transpose_rhs)
rules.primitive_batchers[dot_general_p] = _batch


# --- special cases --------------------------------------------------------------------------------------------------

def dot(lhs: Any, rhs: Any, *, dimension_numbers: DotDimensionNumbers | None = None, precision: Any = None,
        preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """The product of vectors and matrices (rank 1 or 2), or :func:`dot_general` if dimension numbers are given.

    Args:
      lhs, rhs: arrays of rank 1 or 2; the last dimension of ``lhs`` is summed with the first of ``rhs``.
      dimension_numbers, precision, preferred_element_type, out_sharding: as for :func:`dot_general`.

    Raises:
      ValueError: for operands of other ranks without dimension numbers.
      TypeError: when the sizes do not match; the message shows both shapes.
    """
    if dimension_numbers is None:
        x, y = typeof(lhs).shape, typeof(rhs).shape
        if not (1 <= len(x) <= 2 and 1 <= len(y) <= 2):
            raise ValueError(f"lax.dot: without dimension_numbers the operands must be vectors or matrices, got shapes "
                             f"{x} and {y}. Give dimension_numbers, or use jnp.matmul or jnp.dot.")
        if not dims.dim_eq(x[-1], y[0]):
            raise TypeError(f"lax.dot: cannot multiply shapes {x} and {y}: the last dimension of lhs has size {x[-1]}, "
                            f"the first dimension of rhs has size {y[0]}")
        dimension_numbers = (((len(x) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products of two stacks of matrices: ``out[..., i, j] = sum_k lhs[..., i, k] * rhs[..., k, j]``.

    Both operands have the same rank, at least 2, and equal leading dimensions (nothing is broadcast).

    Raises:
      ValueError: for ranks below 2 or unequal ranks.
      TypeError: when sizes do not match; the message shows both shapes.
    """
    x, y = typeof(lhs).shape, typeof(rhs).shape
    rank = len(x)
    if rank < 2 or len(y) != rank:
        raise ValueError(f"batch_matmul: both operands must have the same rank, at least 2; got shapes {x} and {y}")
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)
