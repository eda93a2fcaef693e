"""``ragged_all_to_all``: slices of different sizes exchanged along a named axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._base.source import api_boundary
from jax._ground.structural import broadcast_in_dim, zeros_of
from jax._language import manual, rules
from jax._language.avals import typeof
from jax._language.axes import axis_size
from jax._language.effects import NamedAxisEffect
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax._transforms.batch import AxisData, batch_flat
from jax.lax._arithmetic import add, sub
from jax.lax._bitwise import bitwise_and
from jax.lax._collective_lowering import ragged
from jax.lax._collectives import all_gather, all_to_all, axis_index
from jax.lax._comparison import ge, lt
from jax.lax._creation import iota
from jax.lax._dynamic_slice import dynamic_index_in_dim, index_take
from jax.lax._magnitude import clamp
from jax.lax._select import select
from jax.lax._shape import reshape
from jax.lax._while import fori_loop

_INT = np.dtype(np.int32)


def _entry(x: Any, i: Any) -> Any:
    return dynamic_index_in_dim(x, i, 0, keepdims=False)


def _rows(x: Any, mask: Any) -> Any:
    return broadcast_in_dim(mask, x.shape, (0,))


def _exchange(operand: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any, *,
              axis_name: Any) -> Any:
    """The same with collectives of one size: every device sees all operands and takes its slices."""
    n, me = axis_size(axis_name), axis_index(axis_name)
    each = input_offsets.shape[0] // n
    operands = all_gather(operand, axis_name)
    starts, sizes, targets = (reshape(all_gather(v, axis_name), (n, n, each))
                              for v in (input_offsets, send_sizes, output_offsets))
    rows = iota(_INT, output.shape[0])
    last = max(operand.shape[0] - 1, 0)

    def take(k: Any, result: Any) -> Any:
        source, part = k // each, k % each
        values = _entry(operands, source)
        start, size, target = (_entry(_entry(_entry(v, source), me), part) for v in (starts, sizes, targets))
        at = sub(rows, target)
        mine = bitwise_and(ge(at, np.zeros((), _INT)), lt(at, size))
        index = clamp(np.zeros((), _INT), add(at, start), np.array(last, _INT))
        found = index_take(values, (index,), (0,))
        return select(_rows(result, mine), found, result)
    if not operand.shape[0] or not output.shape[0]:
        return output
    return fori_loop(0, n * each, take, output)


ragged_all_to_all_p = Primitive("ragged_all_to_all")


def _abstract(operand: Any, output: Any, *sizes: Any, axis_name: Any) -> Any:
    return output, {NamedAxisEffect(axis_name)}


_dense = lower_fun(_exchange, multiple_results=False)


def _region(ctx: Any, axis_name: Any) -> Any:
    region = ctx.scope.manual
    if region is None or axis_name not in region.axes:
        raise NotImplementedError(f"ragged_all_to_all over {axis_name!r} is left in a program that does not bind that axis")
    return region


def _lower(ctx: Any, *operands: Any, axis_name: Any) -> Any:
    region = _region(ctx, axis_name)
    with manual.entered(manual.Manual(region.mesh, region.axes, False)):
        return _dense(ctx, *operands, axis_name=axis_name)


def _lower_gpu(ctx: Any, *operands: Any, axis_name: Any) -> Any:
    return [ragged(ctx, operands, _region(ctx, axis_name).groups((axis_name,)))]


def _jvp(primals: Any, tangents: Any, *, axis_name: Any) -> Any:
    operand, output, *sizes = primals
    out = ragged_all_to_all_p.bind(*primals, axis_name=axis_name)
    t_operand, t_output = tangents[:2]
    if type(t_operand) is Zero and type(t_output) is Zero:
        return out, Zero.from_primal_value(out)
    t_operand, t_output = (zeros_of(t.aval) if type(t) is Zero else t for t in (t_operand, t_output))
    return out, ragged_all_to_all_p.bind(t_operand, t_output, *sizes, axis_name=axis_name)


def _swapped(x: Any, axis_name: Any) -> Any:
    return all_to_all(x, axis_name, 0, 0, tiled=True)


def _transpose(ct: Any, operand: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any,
               *, axis_name: Any) -> list[Any]:
    """What was sent comes back; what was overwritten has no influence."""
    if type(ct) is Zero:
        return [None] * 6
    back_from, back_to = _swapped(output_offsets, axis_name), _swapped(input_offsets, axis_name)
    found: list[Any] = [None] * 6
    if type(operand) is UndefinedPrimal:
        found[0] = ragged_all_to_all_p.bind(ct, zeros_of(operand.aval), back_from, recv_sizes, back_to, send_sizes,
                                            axis_name=axis_name)
    if type(output) is UndefinedPrimal:
        rows = iota(_INT, ct.shape[0])
        written = lt(rows, np.zeros((), _INT))
        for k in range(back_from.shape[0]):
            start, size = (dynamic_index_in_dim(v, k, 0, keepdims=False) for v in (back_from, recv_sizes))
            written = written | bitwise_and(ge(rows, start), lt(rows, add(start, size)))
        found[1] = select(_rows(ct, written), zeros_of(typeof(ct)), ct)
    return found


def _batch(axis: AxisData, args: Any, dims: Any, *, axis_name: Any) -> Any:
    def one(*xs: Any) -> list[Any]:
        return [_exchange(*xs, axis_name=axis_name)]
    (out,), (dim,) = batch_flat(one, axis, args, dims)
    return out, dim


ragged_all_to_all_p.def_effectful_abstract_eval(_abstract)
register_lowering(ragged_all_to_all_p, _lower, cacheable=False)
register_lowering(ragged_all_to_all_p, _lower_gpu, "gpu", cacheable=False)
rules.primitive_jvps[ragged_all_to_all_p] = _jvp
rules.primitive_transposes[ragged_all_to_all_p] = _transpose
rules.fancy_primitive_batchers[ragged_all_to_all_p] = _batch
manual.varying_rules[ragged_all_to_all_p] = lambda ins, params, outs: [
    frozenset().union(*ins) | (frozenset((params["axis_name"],)) & manual.typed_axes())]


@api_boundary
def ragged_all_to_all(operand: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any,
                      *, axis_name: Any, axis_index_groups: Any = None) -> Any:
    """Exchanges slices of different sizes along a named axis.

    Slice ``i`` of a device, ``operand[input_offsets[i]:][:send_sizes[i]]``, goes to position ``i // k`` of the axis, where
    ``k`` is the number of slices for each position, and is written there into ``output``, from the row
    ``output_offsets[i]`` on.

    Args:
      operand: what to send, along its leading axis.
      output: what the result is where nothing is received.
      input_offsets, send_sizes, output_offsets, recv_sizes: integer vectors of one length, a multiple of the axis's size.
        ``recv_sizes`` are the sizes of what arrives, in order of the senders.
      axis_name: of the axis.
      axis_index_groups: not supported.

    Returns:
      ``output`` with the received slices written into it. On CPUs all devices see all operands and take what is theirs.

    Raises:
      ValueError: vectors of other shapes; operand and output with rows of different types.
      NotImplementedError: ``axis_index_groups``.

    >>> import jax, jax.numpy as jnp
    >>> def f(x):
    ...     one = jnp.ones(2, jnp.int32)
    ...     me = jax.lax.axis_index("i")
    ...     return jax.lax.ragged_all_to_all(x, jnp.zeros(2), jnp.arange(2), one, one * me, one, axis_name="i")
    >>> jax.vmap(f, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    if axis_index_groups is not None:
        raise NotImplementedError("ragged_all_to_all: axis_index_groups is not supported; use a mesh with one axis for the "
                                  "groups and one for the positions in a group")
    n = axis_size(axis_name)
    vectors = {"input_offsets": input_offsets, "send_sizes": send_sizes, "output_offsets": output_offsets,
               "recv_sizes": recv_sizes}
    for name, v in vectors.items():
        aval = typeof(v)
        if len(aval.shape) != 1 or not np.issubdtype(aval.dtype, np.integer) or aval.shape != typeof(input_offsets).shape \
                or aval.shape[0] % n or not aval.shape[0]:
            raise ValueError(f"ragged_all_to_all: {name} is {aval.str_short()}; all four must be integer vectors of one "
                             f"length, a multiple of the size {n} of the axis {axis_name!r}")
    a, b = typeof(operand), typeof(output)
    if not a.shape or a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
        raise ValueError(f"ragged_all_to_all: rows of the operand ({a.str_short()}) and of the output ({b.str_short()}) "
                         "must have one shape and dtype")
    from jax.lax._conversion import convert_element_type  # offsets of other integer types are rare
    vs = [convert_element_type(v, _INT) for v in vectors.values()]
    return ragged_all_to_all_p.bind(operand, output, *vs, axis_name=axis_name)


__all__ = ["ragged_all_to_all", "ragged_all_to_all_p"]
