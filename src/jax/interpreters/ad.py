"""Differentiation: the tables of jvp and transpose rules, and helpers that fill them.

The tables are the ones that the library itself uses; entries made here take effect everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from jax._api.call_primitives import eval_jaxpr_transpose as _eval_jaxpr_transpose
from jax._api.custom_calls import custom_vjp_tangent_p as custom_lin_p
from jax._ground import structural
from jax._ground.families import zero_derivative as _zero_derivative
from jax._ground.structural import add_any_p as add_jaxvals_p
from jax._ground.structural import add_tangents as add_tangents
from jax._ground.structural import instantiate_zeros as instantiate_zeros
from jax._ground.structural import zeros_of as zeros_like_aval
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.rules import primitive_batchers
from jax._language.rules import primitive_jvps as primitive_jvps
from jax._language.rules import primitive_linearizations as primitive_linearizations
from jax._language.rules import primitive_transposes as primitive_transposes
from jax._language.zeros import SymbolicZero as SymbolicZero
from jax._language.zeros import UndefinedPrimal as UndefinedPrimal
from jax._language.zeros import Zero as Zero
from jax._language.zeros import is_undefined_primal as is_undefined_primal
from jax._lowering.hlo import full as _full
from jax._lowering.rules import register_lowering
from jax._transforms import transpose as _transpose
from jax._transforms.jvp import JVPTrace as JVPTrace
from jax._transforms.jvp import JVPTracer as JVPTracer
from jax._transforms.jvp import jvp_flat as _jvp_flat
from jax._transforms.jvp import jvp_jaxpr as _jvp_jaxpr
from jax._transforms.linearize import LinearizeTrace as LinearizeTrace
from jax._transforms.linearize import linearize_flat as _linearize_flat
from jax._transforms.transpose import backward_pass as _backward_pass
from jax.interpreters.partial_eval import PartialVal

Rule = Callable[..., Any]
add_jaxvals = add_tangents


def jvp(fun: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False,
        instantiate: bool | Sequence[bool] = True, transform_stack: Any = True) -> Any:
    """Runs a flat function (wrapped or plain) with tangents, which may be :class:`Zero`.

    Args:
      fun: leaves to a list of leaves, or with ``has_aux`` to a pair of it and something else.
      primals, tangents: one of each per argument.
      instantiate: which tangents of outputs are arrays although they are zero.
      transform_stack: accepted for compatibility.

    Returns:
      ``(outs, out_tangents)`` or ``(outs, out_tangents, aux)``.
    """
    run, kept = _keeping_aux(fun, has_aux)
    outs, out_tangents = _jvp_flat(run, primals, tangents)
    force = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    out_tangents = [instantiate_zeros(t) if f else t for t, f in zip(out_tangents, force, strict=True)]
    return (outs, out_tangents, *kept)


def jvp_jaxpr(jaxpr: Any, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool]) -> Any:
    """The jaxpr from arguments and nonzero tangents to outputs and nonzero tangents, and which of these are nonzero."""
    return _jvp_jaxpr(jaxpr, nonzeros, instantiate)


def backward_pass(jaxpr: Any, transform_stack: Any, consts: Sequence[Any], primals_in: Sequence[Any],
                  cts_in: Sequence[Any], return_logs: bool = False) -> list[Any]:
    """Cotangents of the arguments given as :class:`UndefinedPrimal`, for cotangents of a linear jaxpr's outputs."""
    if return_logs:
        raise NotImplementedError("backward_pass: return_logs is not supported; leave it out")
    return _backward_pass(jaxpr, consts, primals_in, cts_in)


def closed_backward_pass(jaxpr: Any, transform_stack: Any, primals_in: Sequence[Any], cotangents_in: Sequence[Any],
                         ) -> list[Any]:
    """:func:`backward_pass` of a closed jaxpr."""
    return _backward_pass(jaxpr.jaxpr, jaxpr.consts, primals_in, cotangents_in)


def vjp(traceable: Any, primals: Sequence[Any], has_aux: bool = False) -> Any:
    """A flat function (wrapped or plain) and its pullback: ``(outs, pullback)`` or ``(outs, pullback, aux)``.

    The pullback takes a cotangent for each output (:class:`Zero` for none) and returns a list of one for each primal.
    """
    outs, linear, aux = _linearized(traceable, primals, has_aux)

    def pullback(*cts: Any) -> list[Any]:
        live = [ct for ct, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
        found = _backward_pass(linear.jaxpr, linear.consts, [UndefinedPrimal(v.aval) for v in linear.jaxpr.invars], live)
        return list(map(instantiate_zeros, found))
    return (outs, pullback, *aux)


def linearize(traceable: Any, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a flat function and its derivative as a program: ``(outs, out_tangents, jaxpr, consts)``.

    ``jaxpr`` takes the tangents of the primals, and returns those of outputs that depend on them: where ``out_tangents`` is
    unknown, a :class:`~jax.interpreters.partial_eval.PartialVal`. The others are known to be :class:`Zero`. With
    ``has_aux`` the last result is what the function returned besides.
    """
    outs, linear, aux = _linearized(traceable, primals, has_aux)
    tangents = [PartialVal.unknown(a) if nz else PartialVal.known(Zero(a))
                for a, nz in zip(linear.out_avals, linear.out_nonzero, strict=True)]
    return (outs, tangents, linear.jaxpr, linear.consts, *aux)


def _keeping_aux(fun: Any, has_aux: bool) -> tuple[Callable[..., Any], list[Any]]:
    """A flat function (wrapped or plain) as a plain one without auxiliary result, and the list where that goes."""
    call, kept = getattr(fun, "call_wrapped", fun), []

    def run(*args: Any) -> Any:
        out = call(*args)
        if has_aux:
            out, aux = out
            kept.append(aux)
        return out
    return run, kept


def _linearized(fun: Any, primals: Sequence[Any], has_aux: bool) -> tuple[list[Any], Any, tuple[Any, ...]]:
    run, kept = _keeping_aux(fun, has_aux)
    outs, linear = _linearize_flat(run, primals)
    return outs, linear, tuple(kept)


# What becomes of the parameters of a call when it is transposed: functions of the parameters, of which operands are
# linear, and of which cotangents are not zero.
call_transpose_param_updaters: dict[Any, Rule] = {}


def call_transpose(primitive: Any, *given: Any, **named: Any) -> list[Any]:
    """The transpose of a call of a jaxpr: ``primitive`` calls the transpose of that.

    ``functools.partial(call_transpose, primitive)`` is a transpose rule, ``(cotangents, *args, **params)``. It may also be
    called as ``call_transpose(primitive, params, call_jaxpr, args, cotangents, cotangent_types)``.
    """
    if "call_jaxpr" in named:
        (cts, *args), call_jaxpr, params = given, named.pop("call_jaxpr"), named
    else:
        params, call_jaxpr, args, cts, *_ = given
    change = call_transpose_param_updaters.get(primitive)
    if change is not None:
        params = change(params, [is_undefined_primal(x) for x in args], [type(ct) is not Zero for ct in cts])
    return _eval_jaxpr_transpose(primitive, cts, *args, call_jaxpr=call_jaxpr, **params)


def rearrange_binders(jaxpr: Any, primals_in: Sequence[int], tangents_in: Sequence[int], primals_out: Sequence[int],
                      tangents_out: Sequence[int]) -> Any:
    """A closed jaxpr of primals and then tangents as one of groups: of each group the primals, then the tangents.

    The arguments are the sizes of groups, among primals and among tangents, of inputs and of outputs.
    """
    inner = jaxpr.jaxpr

    def grouped(atoms: Sequence[Any], primals: Sequence[int], tangents: Sequence[int]) -> list[Any]:
        left, right = iter(atoms[:sum(primals)]), iter(atoms[sum(primals):])
        return [v for n, m in zip(primals, tangents, strict=True) for v in (*islice(left, n), *islice(right, m))]
    new = inner.replace(invars=grouped(inner.invars, primals_in, tangents_in),
                        outvars=grouped(inner.outvars, primals_out, tangents_out), effects=inner.effects,
                        debug_info=inner.debug_info._replace(arg_names=None))
    return type(jaxpr)(new, jaxpr.consts)


def zeros_like_jaxval(val: Any) -> Any:
    """An array of zeros like a value."""
    return zeros_like_aval(typeof(val))


# --- filling the tables ---------------------------------------------------------------------------------------------

def standard_jvp(jvprules: Sequence[Rule | None], primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """A jvp as the sum over arguments of ``rule(tangent, *primals, **params)``."""
    out = primitive.bind(*primals, **params)
    parts = [rule(t, *primals, **params) for rule, t in zip(jvprules, tangents, strict=True)
             if rule is not None and type(t) is not Zero]
    return out, _sum(parts, out)


def standard_jvp2(jvprules: Sequence[Rule | None], primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """Like :func:`standard_jvp` with rules ``rule(tangent, output, *primals, **params)``."""
    out = primitive.bind(*primals, **params)
    parts = [rule(t, out, *primals, **params) for rule, t in zip(jvprules, tangents, strict=True)
             if rule is not None and type(t) is not Zero]
    return out, _sum(parts, out)


def _sum(parts: list[Any], out: Any) -> Any:
    total: Any = Zero.from_primal_value(out)
    for p in parts:
        total = add_tangents(total, p)
    return total


def defjvp(primitive: Any, *jvprules: Rule | None) -> None:
    """Sets the jvp of a primitive with one result: one rule ``(tangent, *primals, **params)`` per argument."""
    if primitive.multiple_results:
        raise TypeError(f"{primitive} has several results; put its rule in primitive_jvps")
    primitive_jvps[primitive] = lambda ps, ts, **params: standard_jvp(jvprules, primitive, ps, ts, **params)


def defjvp2(primitive: Any, *jvprules: Rule | None) -> None:
    """Like :func:`defjvp` with rules ``(tangent, output, *primals, **params)``."""
    primitive_jvps[primitive] = lambda ps, ts, **params: standard_jvp2(jvprules, primitive, ps, ts, **params)


def zero_jvp(primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """The jvp of a primitive whose derivative is zero."""
    out = primitive.bind(*primals, **params)
    if primitive.multiple_results:
        return out, [Zero.from_primal_value(o) for o in out]
    return out, Zero.from_primal_value(out)


def defjvp_zero(primitive: Any) -> None:
    """Sets the derivative of a primitive to zero."""
    primitive_jvps[primitive] = lambda ps, ts, **params: zero_jvp(primitive, ps, ts, **params)


def linear_jvp(primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """The jvp of a primitive that is linear in all of its arguments together."""
    out = primitive.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents):
        if primitive.multiple_results:
            return out, [Zero.from_primal_value(o) for o in out]
        return out, Zero.from_primal_value(out)
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def deflinear(primitive: Any, transpose_rule: Rule) -> None:
    """A linear primitive: ``transpose_rule(cotangent, **params)`` returns a list of cotangents."""
    primitive_jvps[primitive] = lambda ps, ts, **params: linear_jvp(primitive, ps, ts, **params)
    primitive_transposes[primitive] = lambda ct, *args, **params: linear_transpose(transpose_rule, ct, *args, **params)


def deflinear2(primitive: Any, transpose_rule: Rule) -> None:
    """A linear primitive: ``transpose_rule(cotangent, *args, **params)`` returns a list of cotangents."""
    structural.deflinear(primitive, transpose_rule)


def linear_transpose(transpose_rule: Rule, cotangent: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls ``transpose_rule(cotangent, **kwargs)`` unless the cotangent is a symbolic zero."""
    if type(cotangent) is Zero:
        return [Zero(x.aval) if is_undefined_primal(x) else None for x in args]
    return transpose_rule(cotangent, **kwargs)


def linear_transpose2(transpose_rule: Rule, cotangent: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls ``transpose_rule(cotangent, *args, **kwargs)`` unless the cotangent is a symbolic zero."""
    if type(cotangent) is Zero:
        return [Zero(x.aval) if is_undefined_primal(x) else None for x in args]
    return transpose_rule(cotangent, *args, **kwargs)


def defbilinear(prim: Any, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """A primitive linear in each of two arguments; rules ``(cotangent, x, y, **params)`` for either."""
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        out = prim.bind(x, y, **params)
        parts = []
        if type(tx) is not Zero:
            parts.append(prim.bind(tx, y, **params))
        if type(ty) is not Zero:
            parts.append(prim.bind(x, ty, **params))
        return out, _sum(parts, out)
    primitive_jvps[prim] = jvp
    primitive_transposes[prim] = \
        lambda ct, x, y, **params: bilinear_transpose(lhs_rule, rhs_rule, ct, x, y, **params)


def bilinear_transpose(lhs_rule: Rule, rhs_rule: Rule, cotangent: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """The cotangents of a product: of ``x`` by ``lhs_rule`` or of ``y`` by ``rhs_rule``, whichever is linear."""
    if is_undefined_primal(x) == is_undefined_primal(y):
        raise NotImplementedError("the function is not linear: exactly one factor of a product may be linear")
    if type(cotangent) is Zero:
        return [Zero(x.aval), None] if is_undefined_primal(x) else [None, Zero(y.aval)]
    if is_undefined_primal(x):
        return [lhs_rule(cotangent, x, y, **kwargs), None]
    return [None, rhs_rule(cotangent, x, y, **kwargs)]


def get_primitive_transpose(p: Any) -> Rule:
    """The transpose rule of a primitive.

    Raises:
      NotImplementedError: it has none.
    """
    rule = primitive_transposes.get(p)
    if rule is None:
        raise NotImplementedError(f"the primitive {p} has no transpose rule")
    return rule


def replace_float0s(primal: Any, tangent: Any) -> Any:
    """Zeros of the primal's dtype in place of a ``float0`` tangent."""
    aval = typeof(primal)
    return zeros_like_aval(aval) if aval.to_tangent_aval().dtype != aval.dtype else tangent


def recast_to_float0(primal: Any, tangent: Any) -> Any:
    """A symbolic ``float0`` zero where the primal has no tangents."""
    aval = typeof(primal).to_tangent_aval()
    return Zero(aval) if aval.dtype != typeof(primal).dtype else tangent


# Zeros of the type of the operand, whose value does not matter.
zeros_like_p = Primitive("zeros_like")
zeros_like_p.def_abstract_eval(lambda x: x)
register_lowering(zeros_like_p, lambda ctx, x: [_full(0, ctx.avals_out[0].shape, ctx.avals_out[0].dtype)])
_zero_derivative(zeros_like_p)
primitive_batchers[zeros_like_p] = lambda args, dims: (zeros_like_p.bind(args[0]), dims[0])

not_linear = _transpose.not_linear
__all__ = [
    "JVPTrace", "JVPTracer", "LinearizeTrace", "SymbolicZero", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p",
    "add_tangents", "backward_pass", "bilinear_transpose", "call_transpose", "call_transpose_param_updaters",
    "closed_backward_pass", "custom_lin_p", "defbilinear", "defjvp", "defjvp2", "defjvp_zero", "deflinear", "deflinear2",
    "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal", "jvp", "jvp_jaxpr", "linear_jvp",
    "linear_transpose", "linear_transpose2", "linearize", "primitive_jvps", "primitive_linearizations",
    "primitive_transposes", "rearrange_binders", "recast_to_float0", "replace_float0s", "standard_jvp", "standard_jvp2",
    "vjp", "zero_jvp", "zeros_like_aval", "zeros_like_jaxval", "zeros_like_p",
]
