"""``scan``: a loop with a carry over the leading axis of arrays; ``map`` on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.vmap import vmap
from jax._base import _jaxlib, config
from jax._base.caching import no_context, weak_cache
from jax._base.source import api_boundary
from jax._ground.structural import broadcast_to_axis
from jax._language import rules
from jax._language.avals import ShapedArray, physical_aval, typeof
from jax._language.effects import ordered_effects
from jax._language.jaxpr import ClosedJaxpr
from jax._language.lifting import lift_call, lift_rules
from jax._language.primitive import Primitive
from jax._language.refs import is_ref_type, use
from jax._lowering import hlo
from jax._lowering.context import LoweringContext, TokenSet, no_tokens
from jax._lowering.emit import emit_with_tokens
from jax._lowering.rules import inner_bodies, register_lowering, structural
from jax._lowering.subprograms import call_jaxpr
from jax.lax._control_common import (
    Array,
    Staged,
    as_array,
    check_callable,
    check_carry,
    describe,
    leaf_path,
    operands,
    parameter_name,
    promote_carry,
    stage,
    static_int,
    with_aval,
)
from jax.lax._eager_calls import eager_calls
from jax.lax._join import concatenate
from jax.lax._loop_references import along_references, check_references, discharge_scan, refuse_references
from jax.lax._shape import reshape
from jax.lax._slice import index_in_dim, slice_in_dim
from jax.tree_util import (
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
    treedef_children,
    treedef_tuple,
)


@api_boundary
def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False) -> tuple[Any, Any]:
    """Runs ``f`` along the leading axis of ``xs``, handing a carry from step to step.

    In Python::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    The loop is compiled once whatever its length, and can be differentiated in both modes. A component of the carry
    that ``f`` returns as it is costs nothing, in memory for derivatives either.

    Args:
      f: ``(carry, x) -> (carry, y)`` on trees of arrays. The carry keeps its structure, shapes and dtypes; weakly typed
        components of ``init`` (Python scalars) take the dtypes that ``f`` returns.
      init: the carry of the first step.
      xs: a tree of arrays with leading axes of one size, or ``None``.
      length: the number of steps; needed only if ``xs`` has no arrays.
      reverse: run from the last element to the first; ``ys`` stay aligned with ``xs``.
      unroll: how many steps each iteration of the compiled loop does; ``True`` for all of them.
      _split_transpose: accepted for compatibility; it has no effect.

    Returns:
      The last carry, and the ``y`` of all steps stacked along a new leading axis.

    Raises:
      ValueError: leading axes of different sizes, or no length.
      TypeError: ``f`` does not return a pair, or changes the structure or the types of the carry.

    >>> from jax import lax
    >>> import jax.numpy as jnp
    >>> total, sums = lax.scan(lambda total, x: (total + x, total + x), 0., jnp.arange(4.))
    >>> sums.tolist()
    [0.0, 1.0, 3.0, 6.0]
    """
    check_callable("scan", "f", f)
    return run_scan("scan", f, _checked_pair, init, xs, length, reverse, unroll)


def _checked_pair(f: Callable[..., Any]) -> Callable[..., Any]:
    def body(carry: Any, x: Any) -> Any:
        out = f(carry, x)
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            what = f"a {type(out).__name__} of {len(out)}" if isinstance(out, (tuple, list)) else \
                f"an array of type {out.aval.str_short()}" if isinstance(out, Array) else f"a {type(out).__name__}"
            raise TypeError(f"lax.scan: {describe(f)} must return a pair (carry, y), got {what}. Return (carry, None) "
                            "where no output is needed.")
        return tuple(out)
    return body


def run_scan(api: str, f: Callable[..., Any], adapt: Callable[..., Any], init: Any, xs: Any, length: Any,
             reverse: bool, unroll: Any, hidden: bool = False) -> tuple[Any, Any]:
    """``scan`` of ``adapt(f)``; with ``hidden`` the carry is a pair whose first part is not the caller's."""
    init_leaves, init_tree = tree_flatten(init)
    xs_leaves, xs_tree = tree_flatten(xs)
    init_leaves, carry_avals = operands(api, "init", init_tree, init_leaves)
    xs_leaves, xs_avals = operands(api, "xs", xs_tree, xs_leaves)
    if use.begun:
        refuse_references(api, "init", carry_avals, "Close over the reference instead.")
        if any([is_ref_type(a) for a in xs_avals]):
            length = _find_length(api, xs_avals, xs_tree, length)
            adapt, init, xs = along_references(adapt, init, xs_leaves, xs_tree, length, bool(reverse))
            (_, carry), ys = run_scan(api, f, adapt, init, xs, length, reverse, unroll, True)
            return carry, ys
    length = _find_length(api, xs_avals, xs_tree, length)
    unroll = _find_unroll(api, unroll, length)
    if config.disable_jit.value and length:
        return _in_python(adapt(f), init, xs_leaves, xs_tree, length, bool(reverse))
    x_avals = [a.update(shape=a.shape[1:]) for a in xs_avals]
    staged, new_avals = _stage_body(api, f, adapt, init_tree, xs_tree, carry_avals, x_avals, hidden)
    if new_avals is not carry_avals:
        init_leaves = [with_aval(x, a, b) for x, a, b in zip(init_leaves, carry_avals, new_avals, strict=True)]
    if use.begun:
        check_references(api, f, staged.consts, xs_leaves, xs_tree, lambda path: f"xs{path}")
    outs = bind_scan(staged.jaxpr, staged.consts, init_leaves, xs_leaves, length, bool(reverse), unroll)
    carry_tree, ys_tree = treedef_children(staged.out_tree)
    n = len(init_leaves)
    return tree_unflatten(carry_tree, outs[:n]), tree_unflatten(ys_tree, outs[n:])


def _stage_body(api: str, f: Any, adapt: Any, init_tree: Any, xs_tree: Any, carry_avals: Any, x_avals: Any,
                hidden: bool) -> tuple[Staged, Any]:
    """The traced body, and the types of the carry once weak ones have been promoted."""
    in_tree = treedef_tuple((init_tree, xs_tree))
    n = len(carry_avals)
    while True:
        staged = stage(api, f, in_tree, (*carry_avals, *x_avals), adapt)
        carry_tree = treedef_children(staged.out_tree)[0]
        outs = [v.aval for v in staged.jaxpr.jaxpr.outvars[:n]]
        if carry_tree == init_tree:
            new = promote_carry(carry_avals, outs)
            if new is None:
                break
            carry_avals = tuple(new)
            continue
        break
    name = parameter_name(f, 1 if hidden else 0, "carry")
    if hidden:
        check_carry(api, f, name, treedef_children(init_tree)[1], carry_avals[1:], treedef_children(carry_tree)[1],
                    outs[1:])
    else:
        check_carry(api, f, name, init_tree, carry_avals, carry_tree, outs)
    return staged, carry_avals


def _find_length(api: str, avals: Sequence[Any], tree: Any, length: Any) -> int:
    sizes = []
    for i, a in enumerate(avals):
        if not a.shape:
            raise ValueError(f"lax.{api}: xs{leaf_path(tree, i)} is a scalar ({a.str_short()}); every array of xs "
                             "needs a leading axis to run along. The body can close over values that stay the same.")
        sizes.append(a.shape[0])
    if length is None:
        if not sizes:
            raise ValueError(f"lax.{api}: xs has no arrays, so the number of steps is unknown; pass length=")
        length = sizes[0]
    else:
        length = _static_length(api, length)
    if any(n != length for n in sizes):
        listed = "\n".join(f"  xs{leaf_path(tree, i)}: {avals[i].str_short()}" for i in range(len(sizes)))
        what = f"they must equal length={length}" if length not in sizes else "they must be equal"
        raise ValueError(f"lax.{api}: the leading axes of xs have different sizes; {what}:\n{listed}"
                         if len(set(sizes)) > 1 else
                         f"lax.{api}: length={length} was given, but the leading axes of xs have size {sizes[0]}:\n"
                         f"{listed}")
    return length


def _static_length(api: str, length: Any) -> int:
    if isinstance(length, float) and length.is_integer():
        length = int(length)
    length = static_int(length, f"the argument `length` of lax.{api} (loops of a length known only at run time are "
                                "lax.while_loop and lax.fori_loop)")
    if length < 0:
        raise ValueError(f"lax.{api}: length must not be negative, got {length}")
    return length


def _find_unroll(api: str, unroll: Any, length: int) -> int:
    if isinstance(unroll, (bool, np.bool_)):
        return max(length, 1) if unroll else 1
    unroll = static_int(unroll, f"the argument `unroll` of lax.{api}")
    if unroll < 0:
        raise ValueError(f"lax.{api}: unroll must be a bool or a number of steps, got {unroll}")
    return max(unroll, 1)


def bind_scan(closed: ClosedJaxpr, consts: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int,
              reverse: bool, unroll: int) -> list[Any]:
    """Applies the primitive; parts of the carry that the body returns unchanged become constants of the loop."""
    jaxpr = closed.jaxpr
    n, num_consts = len(init), len(consts)
    fixed = [jaxpr.outvars[i] is jaxpr.invars[num_consts + i] and isinstance(init[i], Array) for i in range(n)]
    if True in fixed:
        closed = _without_fixed(closed, num_consts, tuple(fixed))
        kept = iter(scan_p.bind(
            *consts, *[x for x, fix in zip(init, fixed, strict=True) if fix],
            *[x for x, fix in zip(init, fixed, strict=True) if not fix], *xs, jaxpr=closed, length=length,
            num_carry=n - sum(fixed), num_consts=num_consts + sum(fixed), reverse=reverse, unroll=unroll))
        return [*(x if fix else next(kept) for x, fix in zip(init, fixed, strict=True)), *kept]
    return scan_p.bind(*consts, *init, *xs, jaxpr=closed, length=length, num_carry=n, num_consts=num_consts,
                       reverse=reverse, unroll=unroll)


@weak_cache(context=no_context)
def _without_fixed(closed: ClosedJaxpr, num_consts: int, fixed: tuple[bool, ...]) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    n = len(fixed)
    carry, rest = jaxpr.invars[num_consts:num_consts + n], jaxpr.invars[num_consts + n:]
    invars = [*jaxpr.invars[:num_consts], *(v for v, fix in zip(carry, fixed, strict=True) if fix),
              *(v for v, fix in zip(carry, fixed, strict=True) if not fix), *rest]
    outvars = [*(v for v, fix in zip(jaxpr.outvars, fixed, strict=False) if not fix), *jaxpr.outvars[n:]]
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars, effects=jaxpr.effects, debug_info=info),
                       closed.consts)


def _in_python(body: Callable[..., Any], init: Any, xs: Sequence[Any], xs_tree: Any, length: int,
               reverse: bool) -> tuple[Any, Any]:
    """The loop under ``jax_disable_jit``."""
    carry, rows = init, []
    ys_tree = None
    for i in reversed(range(length)) if reverse else range(length):
        x = tree_unflatten(xs_tree, [index_in_dim(leaf, i, keepdims=False) for leaf in xs])
        carry, y = body(carry, x)
        leaves, ys_tree = tree_flatten(y)
        rows.append(leaves)
    if reverse:
        rows.reverse()
    ys = [concatenate([broadcast_to_axis(y, 1, 0) for y in column], 0) for column in zip(*rows, strict=True)]
    carry = tree_map(lambda x: as_array(x, typeof(x)), carry)
    return carry, tree_unflatten(ys_tree, ys)


# --- the primitive --------------------------------------------------------------------------------------------------

# Operands: constants, initial carry, arrays to run along; results: carry, stacked outputs. The closed jaxpr maps
# (constants, carry, one row of each array) to (carry, one row of each output).
scan_p = Primitive("scan", multiple_results=True)
scan_p.abstract_cache = None


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, length: int, num_carry: int, **params: Any) -> Any:
    outs = [v.aval for v in jaxpr.jaxpr.outvars]
    outs[num_carry:] = [a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]
    return outs, jaxpr.effects


def _lower(ctx: LoweringContext, *args: Any, jaxpr: ClosedJaxpr, length: int, num_carry: int, num_consts: int,
           reverse: bool, unroll: int) -> list[Any]:
    loop = _Loop(ctx, jaxpr, args[:num_consts], num_carry, reverse, unroll)
    carry, xs = list(args[num_consts:num_consts + num_carry]), list(args[num_consts + num_carry:])
    ordered = sorted(ordered_effects.filter_in(jaxpr.effects), key=str) if jaxpr.effects else []
    tokens = ctx.tokens_in.subset(ordered) if ordered else no_tokens
    if length == 0:
        tokens, outs = tokens, [*carry, *(zeros(a) for a in ctx.avals_out[num_carry:])]
    elif length <= unroll:
        tokens, carry, ys = loop.steps(tokens, carry, xs, length)
        outs = [*carry, *ys]
    else:
        tokens, outs = loop.run(tokens, ordered, carry, xs, length, ctx.avals_out[num_carry:])
    if ordered:
        ctx.set_tokens_out(tokens)
    return outs


class _Loop:
    """The emission of one scan."""

    __slots__ = ("ctx", "jaxpr", "consts", "num_carry", "reverse", "unroll", "as_calls")

    def __init__(self, ctx: LoweringContext, jaxpr: ClosedJaxpr, consts: Sequence[Any], num_carry: int, reverse: bool,
                 unroll: int) -> None:
        self.ctx = ctx.replace(name_stack=(*ctx.name_stack, "scan"))
        self.jaxpr = jaxpr
        self.consts = consts
        self.num_carry = num_carry
        self.reverse = reverse
        self.unroll = unroll
        # A long body that is written several times is written once, as a function.
        self.as_calls = unroll > 1 and len(jaxpr.jaxpr.eqns) > 8

    def step(self, tokens: TokenSet, carry: list[Any], x: list[Any]) -> tuple[TokenSet, list[Any], list[Any]]:
        operands = [*self.consts, *carry, *x]
        if self.as_calls:
            ctx = self.ctx.replace(tokens_in=tokens, tokens_out=tokens)
            outs = call_jaxpr(ctx, "scan_body", self.jaxpr, operands)
            tokens = ctx.tokens_out  # type: ignore[assignment]
        else:
            outs, tokens = emit_with_tokens(self.ctx, self.jaxpr.jaxpr, self.jaxpr.consts, operands, tokens)
        return tokens, outs[:self.num_carry], outs[self.num_carry:]

    def steps(self, tokens: TokenSet, carry: list[Any], blocks: list[Any],
              count: int) -> tuple[TokenSet, list[Any], list[Any]]:
        """``count`` steps over blocks of as many rows; returns blocks of outputs."""
        rows: list[list[Any]] = []
        for j in reversed(range(count)) if self.reverse else range(count):
            tokens, carry, y = self.step(tokens, carry, [_row(b, j) for b in blocks])
            rows.append([_as_block(v) for v in y])
        if self.reverse:
            rows.reverse()
        ys = [column[0] if count == 1 else hlo.concatenate(column, 0) for column in zip(*rows, strict=True)]
        return tokens, carry, ys

    def run(self, tokens: TokenSet, ordered: Sequence[Any], carry: list[Any], xs: list[Any], length: int,
            y_avals: Sequence[Any]) -> tuple[TokenSet, list[Any]]:
        """A loop that does ``unroll`` steps at a time, and the steps that remain."""
        count = self.unroll
        trips, rest = divmod(length, count)
        first, n = len(ordered), self.num_carry

        def cond(i: Any, *state: Any) -> Any:
            return hlo.compare(i, _i32(trips), "LT", "SIGNED")

        def body(i: Any, *state: Any) -> list[Any]:
            start = i if count == 1 else hlo.multiply(i, _i32(count))
            if self.reverse:
                start = hlo.subtract(_i32(length - count), start)
            inner = TokenSet(zip(ordered, state, strict=False))
            blocks = [_take(x, start, count) for x in xs]
            inner, carried, ys = self.steps(inner, list(state[first:first + n]), blocks, count)
            buffers = [_put(b, y, start) for b, y in zip(state[first + n:], ys, strict=True)]
            return [hlo.add(i, _i32(1)), *(inner.get(e) for e in ordered), *carried, *buffers]

        state = [_i32(0), *(tokens.get(e) for e in ordered), *carry, *(zeros(a) for a in y_avals)]
        state = hlo.while_loop(state, cond, body)[1:]
        tokens, carry, buffers = TokenSet(zip(ordered, state, strict=False)), state[first:first + n], state[first + n:]
        if rest:
            begin = 0 if self.reverse else trips * count
            tokens, carry, ys = self.steps(tokens, carry, [_cut(x, begin, begin + rest) for x in xs], rest)
            buffers = [_put(b, y, _i32(begin)) for b, y in zip(buffers, ys, strict=True)]
        return tokens, [*carry, *buffers]


def _i32(value: int) -> Any:
    return hlo.scalar_constant(value, np.int32)


def zeros(aval: Any) -> Any:
    """Zeros of a type, as one broadcast of a scalar."""
    plain = physical_aval(aval)
    return hlo.broadcast_in_dim(hlo.ir_constant(np.zeros((), plain.dtype), ShapedArray((), plain.dtype)), plain, ())


def _reshape(x: Any, shape: Sequence[int]) -> Any:
    typ = _jaxlib.ir.RankedTensorType.get(shape, x.type.element_type)
    return hlo.op1("stablehlo.reshape", typ, (x,))


def _as_block(x: Any) -> Any:
    return _reshape(x, [1, *x.type.shape])


def _cut(x: Any, start: int, limit: int) -> Any:
    shape = x.type.shape
    return hlo.slice(x, [start] + [0] * (len(shape) - 1), [limit, *shape[1:]])


def _row(block: Any, j: int) -> Any:
    shape = block.type.shape
    return _reshape(block if shape[0] == 1 else _cut(block, j, j + 1), shape[1:])


def _take(x: Any, start: Any, count: int) -> Any:
    shape = x.type.shape
    return hlo.dynamic_slice(x, [start, *[_i32(0)] * (len(shape) - 1)], [count, *shape[1:]])


def _put(x: Any, block: Any, start: Any) -> Any:
    return hlo.dynamic_update_slice(x, block, [start, *[_i32(0)] * (len(x.type.shape) - 1)])


def scan_bind(*args: Any, **params: Any) -> list[Any]:
    """Applies the primitive of :func:`scan` to operands and parameters as its equations have them."""
    return scan_p.bind(*args, **params)


scan_p.def_effectful_abstract_eval(_abstract)
rules.discharge_rules[scan_p] = discharge_scan(scan_p)
lift_rules[scan_p] = lift_call("jaxpr")
scan_p.def_impl(eager_calls(scan_p, "jaxpr"))
register_lowering(scan_p, _lower, cacheable=False)
inner_bodies[scan_p] = (("jaxpr",), True)
structural["scan"] = scan_p


# --- map ------------------------------------------------------------------------------------------------------------

@api_boundary
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:  # noqa: A001 - the documented name
    """Applies ``f`` to each row of the leading axis of ``xs``, one after the other.

    Like ``jnp.stack([f(x) for x in xs])``, compiled as one loop. ``jax.vmap`` computes all rows at once: faster, with
    more memory; ``batch_size`` is between the two.

    Args:
      f: a function of one argument, a tree of arrays.
      xs: a tree of arrays with leading axes of one size.
      batch_size: how many rows each iteration computes at once with ``vmap``.

    Returns:
      The results of ``f``, stacked along a new leading axis.

    >>> from jax import lax
    >>> import jax.numpy as jnp
    >>> lax.map(lambda x: x + 1, jnp.arange(3)).tolist()
    [1, 2, 3]
    """
    check_callable("map", "f", f)
    if batch_size is None or batch_size == 0:
        return run_scan("map", f, _without_carry, (), xs, None, False, 1)[1]
    batch_size = static_int(batch_size, "the argument `batch_size` of lax.map")
    if batch_size < 0:
        raise ValueError(f"lax.map: batch_size must not be negative, got {batch_size}")
    leaves, tree = tree_flatten(xs)
    leaves, avals = operands("map", "xs", tree, leaves)
    length = _find_length("map", avals, tree, None)
    trips, rest = divmod(length, batch_size)
    if trips == 0:
        return vmap(f)(tree_unflatten(tree, leaves))
    whole = trips * batch_size
    blocks = [reshape(slice_in_dim(x, 0, whole) if rest else x, (trips, batch_size, *a.shape[1:]))
              for x, a in zip(leaves, avals, strict=True)]
    ys = run_scan("map", f, _batched_without_carry, (), tree_unflatten(tree, blocks), None, False, 1)[1]
    ys = tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)
    if not rest:
        return ys
    last = vmap(f)(tree_unflatten(tree, [slice_in_dim(x, whole, length) for x in leaves]))
    joined = [concatenate([y, z], 0) for y, z in zip(tree_leaves(ys), tree_leaves(last), strict=True)]
    return tree_unflatten(tree_structure(ys), joined)


def _without_carry(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda carry, x: (carry, f(x))


def _batched_without_carry(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda carry, x: (carry, vmap(f)(x))
