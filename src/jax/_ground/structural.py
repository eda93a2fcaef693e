"""Primitives that the transformations are built on: sums of tangents, broadcasting, transposition, conversion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base.caching import register_cache
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.primitive import Primitive
from jax._language.trace import current_trace
from jax._language.zeros import UndefinedPrimal, Zero, is_undefined_primal
from jax._lowering import hlo
from jax._lowering.rules import fusible, pointwise, register_elementwise, register_lowering, structural
from jax._runtime.backend import default_device, on_clear
from jax._runtime.transfer import to_device
from jax.dtypes import ExtendedDType

# --- add_any: the sum of two tangents -------------------------------------------------------------------------------

add_any_p = Primitive("add_any")


def _add_any_abstract(x: Any, y: Any) -> Any:
    return x


add_any_p.def_abstract_eval(_add_any_abstract)
register_elementwise(add_any_p, "stablehlo.add")
rules.primitive_jvps[add_any_p] = lambda primals, tangents: (add_any_p.bind(*primals), add_tangents(*tangents))
rules.primitive_transposes[add_any_p] = lambda ct, x, y: [ct, ct]


def _add_any_batch(args: Any, dims: Any) -> Any:
    (x, y), (dx, dy) = args, dims
    if dx is None or dy is None:
        size = typeof(x).shape[dx] if dy is None else typeof(y).shape[dy]
        x = broadcast_to_axis(x, size, dy) if dx is None else x
        y = broadcast_to_axis(y, size, dx) if dy is None else y
        return add_any_p.bind(x, y), dx if dy is None else dy
    return add_any_p.bind(x, move_axis(y, dy, dx)), dx


rules.primitive_batchers[add_any_p] = _add_any_batch


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents, either of which can be a symbolic zero."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return add_any_p.bind(x, y)


def instantiate_zeros(tangent: Any) -> Any:
    """A symbolic zero as an array of zeros; anything else as it is."""
    return zeros_of(tangent.aval) if type(tangent) is Zero else tangent


def zeros_of(aval: Any) -> Any:
    """An array of zeros of the given type (also for float0 and extended dtypes)."""
    dtype = aval.dtype
    if dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if isinstance(dtype, ExtendedDType):
        return dtype.zeros(aval.shape)
    return full(aval.shape, 0, dtype)


def full(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
    """An array of ``value``: one broadcast of a scalar constant."""
    return broadcast_in_dim_p.bind(scalar(value, dtype), shape=tuple(shape), broadcast_dimensions=(), sharding=None)


_device_scalars: dict[Any, Any] = {}
register_cache(_device_scalars.clear, name="jax._ground.structural.device_scalars")
on_clear(_device_scalars.clear)


def scalar(value: Any, dtype: Any) -> Any:
    """A strongly typed constant: a NumPy scalar for programs, a device array that is made once for eager operations."""
    if current_trace.get().staged:
        return host_constant(value, dtype)
    key = (value, dtype, str(value), default_device())
    found = _device_scalars.get(key)
    if found is None:
        if len(_device_scalars) > 256:
            _device_scalars.clear()
        found = _device_scalars[key] = to_device(host_constant(value, dtype))
    return found


# --- broadcast_in_dim -----------------------------------------------------------------------------------------------

broadcast_in_dim_p = Primitive("broadcast_in_dim")


def broadcast_in_dim(x: Any, shape: Sequence[Any], dims: Sequence[int]) -> Any:
    """``x`` broadcast to ``shape``; its dimension ``i`` becomes dimension ``dims[i]``."""
    if tuple(dims) == tuple(range(len(shape))) and typeof(x).shape == tuple(shape):
        return x
    return broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=tuple(dims), sharding=None)


def _broadcast_abstract(x: Any, *dynamic: Any, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    dims = broadcast_dimensions
    if len(dims) != len(x.shape):
        raise TypeError(f"broadcast_in_dim: an operand of shape {x.shape} needs {len(x.shape)} broadcast_dimensions, "
                        f"got {dims}")
    if any(b <= a for a, b in zip(dims, dims[1:], strict=False)) or any(not 0 <= d < len(shape) for d in dims):
        raise TypeError(f"broadcast_in_dim: broadcast_dimensions must increase and lie in [0, {len(shape)}), "
                        f"got {dims}")
    for i, d in enumerate(dims):
        if x.shape[i] != shape[d] and not (type(x.shape[i]) is int and x.shape[i] == 1):
            raise TypeError(f"broadcast_in_dim: the operand of shape {x.shape} cannot be broadcast to {shape} with "
                            f"broadcast_dimensions {dims}: dimension {i} has size {x.shape[i]}, which is neither 1 "
                            f"nor {shape[d]}")
    for d in shape:
        if type(d) is int and d < 0:
            raise TypeError(f"broadcast_in_dim: sizes must not be negative, got {shape} for an operand of shape "
                            f"{x.shape}")
    return ShapedArray(shape, x.dtype, x.weak_type)


def _broadcast_lower(ctx: Any, x: Any, *dynamic: Any, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    return [hlo.broadcast_in_dim(x, ctx.avals_out[0], broadcast_dimensions)]


def _broadcast_transpose(ct: Any, x: Any, *dynamic: Any, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    if type(ct) is Zero:
        return [Zero(x.aval)]
    aval = x.aval
    new_axes = tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)
    stretched = tuple(d for i, d in enumerate(broadcast_dimensions) if aval.shape[i] == 1 and shape[d] != 1)
    summed = sum_axes(ct, new_axes + stretched)
    if stretched:
        summed = broadcast_in_dim(summed, aval.shape,
                                  [i for i, d in enumerate(broadcast_dimensions) if d not in stretched])
    return [summed]


def _broadcast_batch(args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    (x, *_), (d, *_) = args, dims
    size = typeof(x).shape[d]
    # The mapped axis stays between its neighbours, so that nothing has to be transposed.
    at = broadcast_dimensions[d - 1] + 1 if d else 0
    dims = (*broadcast_dimensions[:d], at, *(i + 1 for i in broadcast_dimensions[d:]))
    return broadcast_in_dim_p.bind(x, shape=(*shape[:at], size, *shape[at:]), broadcast_dimensions=dims,
                                   sharding=None), at


broadcast_in_dim_p.def_abstract_eval(_broadcast_abstract)
register_lowering(broadcast_in_dim_p, _broadcast_lower)
fusible[broadcast_in_dim_p] = 0
structural["broadcast_in_dim"] = broadcast_in_dim_p
rules.primitive_transposes[broadcast_in_dim_p] = _broadcast_transpose
rules.primitive_batchers[broadcast_in_dim_p] = _broadcast_batch


def broadcast_to_axis(x: Any, size: Any, axis: int) -> Any:
    """Repeats ``x`` along a new axis."""
    shape = typeof(x).shape
    axis = axis % (len(shape) + 1)
    dims = [i for i in range(len(shape) + 1) if i != axis]
    return broadcast_in_dim_p.bind(x, shape=(*shape[:axis], size, *shape[axis:]), broadcast_dimensions=tuple(dims),
                                   sharding=None)


# --- reduce_sum, as far as transposition needs it --------------------------------------------------------------------

reduce_sum_p = Primitive("reduce_sum")


def sum_axes(x: Any, axes: Sequence[int]) -> Any:
    """The sum over ``axes`` in the dtype of ``x`` (``lax`` gives ``reduce_sum_p`` its rules)."""
    return reduce_sum_p.bind(x, axes=tuple(sorted(axes)), out_sharding=None) if axes else x


# --- transpose ------------------------------------------------------------------------------------------------------

transpose_p = Primitive("transpose")


def permute(x: Any, permutation: Sequence[int]) -> Any:
    permutation = tuple(permutation)
    if permutation == tuple(range(len(permutation))):
        return x
    return transpose_p.bind(x, permutation=permutation)


def _transpose_abstract(x: Any, *, permutation: Any) -> Any:
    if sorted(permutation) != list(range(len(x.shape))):
        raise TypeError(f"transpose: the permutation {permutation} does not rearrange the {len(x.shape)} axes of an "
                        f"operand of shape {x.shape}")
    return ShapedArray(tuple([x.shape[i] for i in permutation]), x.dtype, x.weak_type)


def _transpose_batch(args: Any, dims: Any, *, permutation: Any) -> Any:
    (x,), (d,) = args, dims
    perm = (d, *(i if i < d else i + 1 for i in permutation))
    return permute(x, perm), 0


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    out = [0] * len(permutation)
    for i, p in enumerate(permutation):
        out[p] = i
    return tuple(out)


transpose_p.def_abstract_eval(_transpose_abstract)
register_lowering(transpose_p, lambda ctx, x, permutation: [hlo.transpose(x, ctx.avals_out[0], permutation)])
fusible[transpose_p] = 0
structural["transpose"] = transpose_p
rules.primitive_transposes[transpose_p] = \
    lambda ct, x, permutation: [permute(ct, inverse_permutation(permutation))]
rules.primitive_batchers[transpose_p] = _transpose_batch


def move_axis(x: Any, src: int, dst: int) -> Any:
    """``x`` with axis ``src`` at position ``dst``."""
    ndim = len(typeof(x).shape)
    src, dst = src % ndim, dst % ndim
    if src == dst:
        return x
    perm = [i for i in range(ndim) if i != src]
    perm.insert(dst, src)
    return transpose_p.bind(x, permutation=tuple(perm))


# --- convert_element_type -------------------------------------------------------------------------------------------

convert_element_type_p = Primitive("convert_element_type")


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """``x`` as ``dtype``; the same object when it is an array of that type already."""
    aval = typeof(x)
    if aval.dtype == dtype and aval.weak_type == weak_type and not isinstance(x, (int, float, complex, np.generic)):
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def weak_as(x: Any, aval: Any) -> Any:
    """``x``, a derivative, weakly typed exactly if ``aval``, the type of what it is a derivative of, is."""
    got = typeof(x)
    if got.weak_type == aval.weak_type or got.dtype != aval.dtype:
        return x
    return convert(x, got.dtype, aval.weak_type)


def _can_convert(have: Any, want: Any) -> bool:
    """Whether both dtypes are plain, or an extended one is only seen as what carries it."""
    if isinstance(have, ExtendedDType):
        return want == have or want == have.representation
    return not isinstance(want, ExtendedDType) or have == want.representation


def _convert_abstract(x: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    if not _can_convert(x.dtype, new_dtype):
        raise TypeError(f"convert_element_type: {x.dtype} and {new_dtype} cannot be converted into one another; "
                        "for PRNG keys see jax.random.key_data and jax.random.wrap_key_data")
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_lower(ctx: Any, x: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    if isinstance(new_dtype, ExtendedDType) or isinstance(ctx.avals_in[0].dtype, ExtendedDType):
        return [x]  # another view of the array that carries it
    return [hlo.convert_element_type(x, ctx.avals_in[0], ctx.avals_out[0])]


def _convert_jvp(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)
    tangent_dtype = dtypes.tangent_dtype(new_dtype)
    if type(t) is Zero or tangent_dtype == dtypes.float0 or typeof(t).dtype == dtypes.float0:
        return out, Zero(typeof(out).to_tangent_aval())
    return out, convert_element_type_p.bind(t, new_dtype=tangent_dtype, weak_type=False, sharding=None)


def _convert_transpose(ct: Any, x: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    if type(ct) is Zero:
        return [Zero(x.aval)]
    return [convert_element_type_p.bind(ct, new_dtype=x.aval.dtype, weak_type=False, sharding=None)]


def _convert_batch(args: Any, dims: Any, **params: Any) -> Any:
    return convert_element_type_p.bind(args[0], **params), dims[0]


convert_element_type_p.def_abstract_eval(_convert_abstract)
register_lowering(convert_element_type_p, _convert_lower)
fusible[convert_element_type_p] = 1
pointwise.add(convert_element_type_p)
structural["convert_element_type"] = convert_element_type_p
rules.primitive_jvps[convert_element_type_p] = _convert_jvp
rules.primitive_transposes[convert_element_type_p] = _convert_transpose
rules.primitive_batchers[convert_element_type_p] = _convert_batch


# --- the jvp of linear primitives -----------------------------------------------------------------------------------

def deflinear(prim: Primitive, transpose: Any | None = None) -> None:
    """``prim`` is linear in all of its arguments taken together; ``transpose(ct, *args, **params)``."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            if prim.multiple_results:
                return out, [Zero.from_primal_value(o) for o in out]
            return out, Zero.from_primal_value(out)
        return out, prim.bind(*map(instantiate_zeros, tangents), **params)
    rules.primitive_jvps[prim] = jvp
    if transpose is not None:
        def rule(cts: Any, *args: Any, **params: Any) -> Any:
            zero = all(type(c) is Zero for c in cts) if prim.multiple_results else type(cts) is Zero
            if zero:
                return [Zero(a.aval) if is_undefined_primal(a) else None for a in args]
            return transpose(cts, *args, **params)
        rules.primitive_transposes[prim] = rule


deflinear(broadcast_in_dim_p)
deflinear(transpose_p)
__all__ = ["UndefinedPrimal", "Zero", "add_any_p", "add_tangents", "broadcast_in_dim", "broadcast_in_dim_p",
           "broadcast_to_axis", "convert", "convert_element_type_p", "deflinear", "full", "instantiate_zeros",
           "inverse_permutation", "move_axis", "permute", "reduce_sum_p", "sum_axes", "transpose_p", "zeros_of"]
