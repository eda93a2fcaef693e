"""Families of primitives: what their members share is written once.

``unary``/``nary`` make element-wise primitives, ``linear_in`` and ``bilinear`` add the derivative rules that follow
from (multi)linearity. Element-wise operands have equal shapes; 0-d operands and axes of size 1 are broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.structural import (
    add_tangents,
    broadcast_in_dim,
    convert_element_type_p,
    instantiate_zeros,
    move_axis,
    sum_axes,
)
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import fusible, pointwise, register_elementwise, register_lowering

# dtype categories by NumPy kind; jax.dtypes classifies the extension floats (bfloat16, float8...) and small integers.
BOOL, SIGNED, UNSIGNED, FLOAT, COMPLEX = "bool", "signed", "unsigned", "floating", "complex"
INTEGERS = frozenset({SIGNED, UNSIGNED})
FLOATING = frozenset({FLOAT})
INEXACT = frozenset({FLOAT, COMPLEX})
REAL = frozenset({SIGNED, UNSIGNED, FLOAT})
NUMERIC = frozenset({SIGNED, UNSIGNED, FLOAT, COMPLEX})
BITS = frozenset({BOOL, SIGNED, UNSIGNED})
ANY = frozenset({BOOL, SIGNED, UNSIGNED, FLOAT, COMPLEX})
EXTENDED = "extended"  # besides these: dtypes with structured elements, such as PRNG keys

_categories: dict[Any, str] = {}


def category(dtype: Any) -> str:
    """``bool``, ``signed``, ``unsigned``, ``floating``, ``complex``, or the name of an extended dtype."""
    try:
        return _categories[dtype]
    except KeyError:
        pass
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.name
    for name, kind in ((BOOL, np.bool_), (SIGNED, np.signedinteger), (UNSIGNED, np.unsignedinteger),
                       (FLOAT, np.floating), (COMPLEX, np.complexfloating)):
        if dtypes.issubdtype(dtype, kind):
            _categories[dtype] = name
            return name
    return "float0"


def check_category(name: str, accepted: frozenset[str], dtype: Any) -> None:
    if category(dtype) not in accepted and not (EXTENDED in accepted and isinstance(dtype, dtypes.ExtendedDType)):
        raise TypeError(f"{name} does not accept dtype {dtype}; accepted are {', '.join(sorted(accepted))} dtypes. "
                        f"Convert the operand, for example x.astype({_suggest(accepted)}).")


def _suggest(accepted: frozenset[str]) -> str:
    for cat, text in ((FLOAT, "jnp.float32"), (COMPLEX, "jnp.complex64"), (SIGNED, "jnp.int32"),
                      (UNSIGNED, "jnp.uint32")):
        if cat in accepted:
            return text
    return "bool"


def broadcast_shapes_of(name: str, avals: Sequence[Any]) -> tuple[Any, ...]:
    """The common shape of element-wise operands: equal shapes, 0-d operands and axes of size 1."""
    shape = avals[0].shape
    for a in avals:
        if a.shape != shape:
            break
    else:
        return shape
    shapes = [a.shape for a in avals if a.shape]
    rank = len(shapes[0])
    if any(len(s) != rank for s in shapes):
        listed = ", ".join(str(a.shape) for a in avals)
        raise TypeError(f"{name}: operands must have equal ranks (0-d operands aside), got shapes {listed}. "
                        "jax.numpy functions broadcast; in jax.lax use lax.broadcast_in_dim or x[None].")
    out = []
    for sizes in zip(*shapes, strict=True):
        big = sizes[0]
        for s in sizes[1:]:
            if s is not big and s != big:
                if type(big) is int and big == 1:
                    big = s
                elif not (type(s) is int and s == 1):
                    listed = ", ".join(str(a.shape) for a in avals)
                    raise TypeError(f"{name}: incompatible shapes for broadcasting: {listed}. Sizes along each axis "
                                    "must be equal or 1.")
        out.append(big)
    return tuple(out)


def _same_dtypes(name: str, avals: Sequence[Any]) -> Any:
    dtype = avals[0].dtype
    for a in avals:
        if a.dtype is not dtype and a.dtype != dtype:
            listed = ", ".join(str(a.dtype) for a in avals)
            raise TypeError(f"lax.{name} requires arguments of one dtype, got {listed}. Convert them with "
                            f"lax.convert_element_type, or use the jax.numpy function, which promotes dtypes.")
    return dtype


# --- constants of the operands' dtype -------------------------------------------------------------------------------

_constants: dict[tuple[Any, Any], Any] = {}
_wide_constants: dict[tuple[Any, Any], Any] = {}
_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def like(x: Any, value: Any) -> Any:
    """The rank-0 constant ``value`` in the dtype of ``x``: rules multiply by it without changing dtypes."""
    return constant(typeof(x).dtype, value)


def constant(dtype: Any, value: Any) -> Any:
    """The rank-0 constant ``value`` of ``dtype``."""
    key = (dtype, value)
    found = _constants.get(key)
    if found is None:
        known = _wide_constants if dtype in _WIDE else _constants
        found = known.get(key)
        if found is None:
            found = known[key] = np.asarray(value, dtype)
            found.flags.writeable = False
        if known is _wide_constants:
            return host_constant(found, dtype)
    return found


# --- element-wise primitives ----------------------------------------------------------------------------------------

def nary(name: str, accepted: Sequence[frozenset[str]] | frozenset[str], lower: str | Callable[..., Any], *,
         result: Callable[..., Any] | Any = None, same: bool = True,
         with_settings: Callable[..., Any] | None = None) -> Primitive:
    """An element-wise primitive.

    Args:
      name: its name in jaxprs.
      accepted: dtype categories of each operand (one set for all of them).
      lower: the StableHLO or CHLO operation (``"stablehlo.sine"``) if that is all, else
        ``(ctx, *values, **params) -> value``, given operands already broadcast to the common shape.
      result: dtype of the result: a dtype, a function ``(*dtypes, **params)``, or ``None`` for the first operand's.
      same: whether all operands must have one dtype.
      with_settings: like ``lower``, for equations with a parameter that is not None, where ``lower`` is a name.
    """
    prim = Primitive(name)
    prim.accepted = accepted  # type: ignore[attr-defined]

    def abstract(*avals: Any, **params: Any) -> Any:
        if isinstance(accepted, frozenset):
            for a in avals:
                if category(a.dtype) not in accepted:
                    check_category(name, accepted, a.dtype)
        else:
            for a, acc in zip(avals, accepted, strict=True):
                check_category(name, acc, a.dtype)
        dtype = _same_dtypes(name, avals) if same else avals[0].dtype
        if result is not None:
            dtype = result(*[a.dtype for a in avals], **params) if callable(result) else result
        shape = broadcast_shapes_of(name, avals)
        weak = True
        for a in avals:
            if not a.weak_type:
                weak = False
                break
        return ShapedArray(shape, dtype, weak and category(dtype) != BOOL)

    prim.def_abstract_eval(abstract)
    if isinstance(lower, str):
        register_elementwise(prim, lower, with_settings and elementwise_rule(with_settings))
    else:
        register_lowering(prim, elementwise_rule(lower))
        fusible[prim] = 1
        pointwise.add(prim)
    rules.primitive_batchers[prim] = \
        lambda args, dims, **params: batch_elementwise(prim, args, dims, params)
    return prim


def elementwise_rule(lower: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering rule that calls ``lower(ctx, *values, **params) -> value`` on operands of the result's shape."""
    def rule(ctx: Any, *values: Any, **params: Any) -> list[Any]:
        return [lower(ctx, *spread_operands(ctx, values), **params)]
    return rule


def spread_operands(ctx: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Element-wise operands as tensors of the result's shape."""
    if len(values) == 1:
        return values
    shape = ctx.avals_out[0].shape
    return [v if a.shape == shape else hlo.broadcast_elementwise(v, a, shape)
            for v, a in zip(values, ctx.avals_in, strict=True)]


def unary(name: str, accepted: frozenset[str], lower: str | Callable[..., Any], *,
          jvp: Callable[..., Any] | None = None, jvp_out: Callable[..., Any] | None = None, result: Any = None,
          with_settings: Callable[..., Any] | None = None) -> Primitive:
    """A one-operand :func:`nary`, batched where it stands.

    ``jvp(t, x, **params)`` is the tangent from the operand, ``jvp_out(t, out, x, **params)`` from the result.
    """
    prim = nary(name, accepted, lower, result=result, with_settings=with_settings)
    rules.primitive_batchers[prim] = lambda args, dims, **params: (prim.bind(args[0], **params), dims[0])
    if jvp is not None:
        defjvp(prim, jvp)
    elif jvp_out is not None:
        defjvp_out(prim, jvp_out)
    return prim


def batch_elementwise(prim: Primitive, args: Sequence[Any], dims: Sequence[Any], params: dict[str, Any]) -> Any:
    """Aligns the mapped axes of element-wise operands; unmapped ones get an axis of size 1 or stay 0-d."""
    first = None
    aligned = True
    shapes = [typeof(x).shape for x in args]
    for d, s in zip(dims, shapes, strict=True):
        if d is None:
            if s:
                aligned = False
        elif first is None:
            first = d
            rank = len(s)
        elif d != first or len(s) != rank:
            aligned = False
    if aligned:
        return prim.bind(*args, **params), first
    rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
    out = []
    for x, s, d in zip(args, shapes, dims, strict=True):
        if d is None:
            out.append(x if not s else broadcast_in_dim(x, (1, *s), range(1, len(s) + 1)))
            continue
        x = move_axis(x, d, 0)
        if len(s) - 1 < rank:  # one number per example beside arrays: axes of size 1 after the mapped one
            x = broadcast_in_dim(x, (s[d], *(1,) * rank), (0,))
        out.append(x)
    return prim.bind(*out, **params), 0


def defjvp(prim: Primitive, *tangent_rules: Callable[..., Any] | None) -> None:
    """The jvp of ``prim`` as a sum over operands: rule ``i`` is ``(t, *primals, **params) -> tangent``."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        return out, _sum_tangents(out, [rule(t, *primals, **params) for rule, t in
                                        zip(tangent_rules, tangents, strict=True)
                                        if rule is not None and type(t) is not Zero])
    rules.primitive_jvps[prim] = jvp


def defjvp_out(prim: Primitive, *tangent_rules: Callable[..., Any] | None) -> None:
    """Like :func:`defjvp`, with rules ``(t, out, *primals, **params)`` that reuse the result."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        return out, _sum_tangents(out, [rule(t, out, *primals, **params) for rule, t in
                                        zip(tangent_rules, tangents, strict=True)
                                        if rule is not None and type(t) is not Zero])
    rules.primitive_jvps[prim] = jvp


def _sum_tangents(out: Any, parts: list[Any]) -> Any:
    """The sum of contributions, each broadcast to the result's shape."""
    if not parts:
        return Zero.from_primal_value(out)
    shape = typeof(out).shape
    total = None
    for part in parts:
        if type(part) is Zero:
            continue
        part = broadcast_to_result(part, shape)
        total = part if total is None else add_tangents(total, part)
    return Zero.from_primal_value(out) if total is None else total


def broadcast_to_result(x: Any, shape: tuple[Any, ...]) -> Any:
    """An element-wise operand (0-d, or with axes of size 1) broadcast to the result's shape."""
    own = typeof(x).shape
    if own == shape:
        return x
    return broadcast_in_dim(x, shape, range(len(shape)) if own else ())


def sum_to_operand(ct: Any, aval: Any) -> Any:
    """The transpose of :func:`broadcast_to_result`: sums a cotangent over what was broadcast."""
    own = typeof(ct).shape
    if own == aval.shape:
        return ct
    if not aval.shape:
        return sum_axes(ct, range(len(own)))
    stretched = [i for i, (a, b) in enumerate(zip(aval.shape, own, strict=True)) if a != b]
    return broadcast_in_dim(sum_axes(ct, stretched), aval.shape, [i for i in range(len(own)) if i not in stretched])


# --- rules that follow from linearity -------------------------------------------------------------------------------

def deflinear_elementwise(prim: Primitive, transpose: Callable[..., Any]) -> None:
    """A unary element-wise primitive that is linear: ``transpose(ct, **params)``."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        (t,) = tangents
        return out, (Zero.from_primal_value(out) if type(t) is Zero else prim.bind(t, **params))

    def rule(ct: Any, x: Any, **params: Any) -> Any:
        return [Zero(x.aval) if type(ct) is Zero else transpose(ct, **params)]
    rules.primitive_jvps[prim] = jvp
    rules.primitive_transposes[prim] = rule


def defbilinear(prim: Primitive, lhs: Callable[..., Any], rhs: Callable[..., Any]) -> None:
    """``prim`` is linear in each operand by itself.

    ``lhs(ct, x_undefined, y, **params)`` and ``rhs(ct, x, y_undefined, **params)`` give the cotangents.
    """
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        out = prim.bind(x, y, **params)
        parts = []
        if type(tx) is not Zero:
            parts.append(prim.bind(tx, y, **params))
        if type(ty) is not Zero:
            parts.append(prim.bind(x, ty, **params))
        return out, _sum_tangents(out, parts)

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if type(x) is UndefinedPrimal:
            if type(y) is UndefinedPrimal:
                raise NotImplementedError(f"the function is not linear: {prim} multiplies two linear values")
            return [Zero(x.aval) if type(ct) is Zero else lhs(ct, x, y, **params), None]
        return [None, Zero(y.aval) if type(ct) is Zero else rhs(ct, x, y, **params)]
    rules.primitive_jvps[prim] = jvp
    rules.primitive_transposes[prim] = transpose


# Primitives whose derivative is zero, for passes that ask what can have a derivative at all.
without_derivative: set[Any] = set()


def zero_derivative(prim: Primitive) -> None:
    """The result is piecewise constant (or has no tangents): its derivative is zero everywhere."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        if prim.multiple_results:
            return out, [Zero.from_primal_value(o) for o in out]
        return out, Zero.from_primal_value(out)
    rules.primitive_jvps[prim] = jvp
    without_derivative.add(prim)


def real_part_if_needed(ct: Any, aval: Any) -> Any:
    """A complex cotangent for a real operand: its real part."""
    if category(typeof(ct).dtype) == COMPLEX and category(aval.dtype) != COMPLEX:
        return convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=False, sharding=None)
    return ct


__all__ = ["ANY", "BITS", "BOOL", "COMPLEX", "EXTENDED", "FLOAT", "FLOATING", "INEXACT", "INTEGERS", "NUMERIC",
           "REAL", "SIGNED", "UNSIGNED", "batch_elementwise", "broadcast_shapes_of", "broadcast_to_result",
           "category", "check_category", "constant", "defbilinear", "defjvp", "defjvp_out", "deflinear_elementwise",
           "elementwise_rule", "instantiate_zeros", "like", "nary", "real_part_if_needed", "spread_operands",
           "sum_to_operand", "unary", "zero_derivative"]
