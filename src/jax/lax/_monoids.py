"""What reductions with a Python computation share: tracing it, recognising common ones, folding by hand."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base.caching import weak_cache
from jax._ground.structural import broadcast_in_dim, convert
from jax._language.avals import ShapedArray, typeof
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Literal
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer
from jax._lowering.context import Scope
from jax._lowering.emit import emit_jaxpr
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr
from jax.lax._arithmetic import add, add_p, mul, mul_p
from jax.lax._bitwise import and_p, bitwise_and, bitwise_or, bitwise_xor, or_p, xor_p
from jax.lax._join import concatenate, slice_along
from jax.lax._magnitude import max, max_p, min, min_p
from jax.lax._reduce import identity_of
from jax.lax._shape import reshape
from jax.tree_util import tree_flatten, tree_unflatten

# The operations that reductions have primitives for. "and", "or", "xor" are those of bits.
_FUNCTIONS: dict[Any, str] = {add: "add", mul: "mul", max: "max", min: "min", bitwise_and: "and", bitwise_or: "or",
                              bitwise_xor: "xor"}
_PRIMITIVES = {add_p: "add", mul_p: "mul", max_p: "max", min_p: "min", and_p: "and", or_p: "or", xor_p: "xor"}
operations: dict[str, Callable[[Any, Any], Any]] = {name: fun for fun, name in _FUNCTIONS.items()}


def known_function(computation: Any) -> str | None:
    """The name of the monoid if ``computation`` is one of this package's own functions."""
    try:
        return _FUNCTIONS.get(computation)
    except TypeError:  # a callable that cannot be hashed
        return None


def known_jaxpr(closed: ClosedJaxpr) -> str | None:
    """The name of the monoid if ``closed`` consists of its operation on the two arguments."""
    jaxpr = closed.jaxpr
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    if any(v is not None for v in eqn.params.values()) or eqn.outvars[0] is not jaxpr.outvars[0]:
        return None
    if any(type(v) is Literal for v in eqn.invars) or set(eqn.invars) != set(jaxpr.invars) or len(eqn.invars) != 2:
        return None
    return _PRIMITIVES.get(eqn.primitive)


def is_identity(name: str, value: Any, dtype: Any) -> bool:
    """Whether ``value`` is known now and the neutral element of the monoid."""
    if isinstance(value, Tracer):
        return False
    return bool(np.asarray(value).astype(dtype) == identity_of(name, dtype))


# --- operands and initial values ------------------------------------------------------------------------------------

def matched(op: str, operands: Any, inits: Any) -> tuple[list[Any], list[Any], Any]:
    """Leaves of both, initial values converted where they are weakly typed, and their tree.

    Raises:
      ValueError: when the trees differ, or an initial value is not a scalar.
      TypeError: when an initial value has another dtype than its operand.
    """
    xs, tree = tree_flatten(operands)
    values, other = tree_flatten(inits)
    if tree != other:
        raise ValueError(f"{op}: operands and initial values must have one structure, got {tree} and {other}")
    if not xs:
        raise ValueError(f"{op}: at least one operand is needed")
    out = []
    for i, (x, v) in enumerate(zip(xs, values, strict=True)):
        aval, init = typeof(x), typeof(v)
        if init.shape != ():
            raise ValueError(f"{op}: initial values must be scalars, got shape {init.shape} for operand {i}")
        if init.dtype != aval.dtype:
            if not init.weak_type:
                raise TypeError(f"{op}: operand {i} has dtype {aval.dtype} and its initial value {init.dtype}; convert "
                                "the initial value")
            v = convert(v, aval.dtype) if isinstance(v, Tracer) else np.asarray(v).astype(aval.dtype)
        out.append(v)
    return xs, out, tree


def traced(op: str, computation: Callable[..., Any], avals: Sequence[Any], tree: Any) -> ClosedJaxpr:
    """``computation(accumulators, elements)`` on scalars of the given types.

    Raises:
      TypeError: when it returns another structure or other types than it is given.
      NotImplementedError: when it uses traced values from outside.
    """
    scalars = tuple([ShapedArray((), a.dtype) for a in avals])
    try:
        hash(computation)
        weakref.ref(computation)
        trace = _traced
    except TypeError:
        trace = _trace
    closed: ClosedJaxpr = trace(computation, op, scalars, tree)
    if any(isinstance(c, Tracer) for c in closed.consts):
        raise NotImplementedError(
            f"{op}: the computation uses a traced value from outside; it may use its arguments and constants only. "
            "Pass the value as one more operand, broadcast to the shape of the others.")
    return closed


def _trace(computation: Callable[..., Any], op: str, scalars: tuple[Any, ...], tree: Any) -> ClosedJaxpr:
    n = len(scalars)

    def flat(*args: Any) -> Any:
        out = computation(tree_unflatten(tree, args[:n]), tree_unflatten(tree, args[n:]))
        leaves, found = tree_flatten(out)
        if found != tree:
            raise TypeError(f"{op}: the computation must return the structure of its first argument, {tree}; it "
                            f"returned {found}")
        return leaves

    name = getattr(computation, "__name__", "computation")
    jaxpr, consts = trace_to_jaxpr(flat, (*scalars, *scalars), DebugInfo(op, name))
    for i, (given, got) in enumerate(zip(scalars, jaxpr.out_avals, strict=True)):
        if got.shape != () or got.dtype != given.dtype:
            raise TypeError(f"{op}: the computation must return scalars of the types it is given; for operand {i} it "
                            f"returned {got.str_short()} instead of {given.str_short()}")
    return ClosedJaxpr(jaxpr, consts)


_traced = weak_cache(_trace)


def emit_computation(ctx: Any, closed: ClosedJaxpr) -> Callable[..., Any]:
    """The computation as the filler of a region. Regions see nothing from outside, so constants are written anew."""
    inner = ctx.replace(scope=Scope())
    return lambda *args: emit_jaxpr(inner, closed.jaxpr, closed.consts, args, ctx.eqn)


# --- folding by hand ------------------------------------------------------------------------------------------------
# Reductions with computations that XLA runs as a whole have no derivative of their own. Folding the two halves of the
# operands onto each other again and again computes the same with operations that have one.

def apply_elementwise(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """The computation element by element: on arrays of one shape, scalars aside."""
    avals = [typeof(x) for x in args]
    shape = next((a.shape for a in avals if a.shape), ())
    if shape == ():
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)
    size = 1
    for n in shape:
        size *= n
    batched, _ = batch_jaxpr(closed, AxisData(None, size), [bool(a.shape) for a in avals], True)
    flat = [reshape(x, (size,)) if a.shape else x for x, a in zip(args, avals, strict=True)]
    return [reshape(y, shape) for y in eval_jaxpr(batched.jaxpr, batched.consts, *flat)]


def fold(closed: ClosedJaxpr, xs: Sequence[Any], inits: Sequence[Any]) -> list[Any]:
    """Reduces ``xs`` along their first axis."""
    shape = typeof(xs[0]).shape
    n = shape[0]
    if n == 0:
        return [broadcast_in_dim(v, shape[1:], ()) for v in inits]
    values = list(xs)
    while n > 1:
        half = n // 2
        here = (n, *shape[1:])
        parts = [slice_along(v, here, 0, start, start + half) for start in (0, half) for v in values]
        rest = [slice_along(v, here, 0, 2 * half, n) for v in values] if n % 2 else None
        values = apply_elementwise(closed, parts)
        if rest is not None:
            values = [concatenate([v, r], 0) for v, r in zip(values, rest, strict=True)]
        n -= half
    return apply_elementwise(closed, [*inits, *[reshape(v, shape[1:]) for v in values]])
