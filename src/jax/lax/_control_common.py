"""What the control-flow operations share: tracing the functions they are given, their operands, their messages."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax._base import _jaxlib
from jax._base import source as source_info
from jax._base.caching import cache, weak_cache
from jax._ground.families import without_derivative
from jax._ground.structural import convert_element_type_p
from jax._language import manual
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.axes import axis_env
from jax._language.effects import control_flow_allowed_effects
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Literal
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer, concrete_or_error
from jax._tree_compare import differences
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

Array = _jaxlib.xla.Array
_SCALARS = (int, float, bool, complex)


# --- operands -------------------------------------------------------------------------------------------------------

def operands(api: str, what: str, tree_of: Any, leaves: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """The leaves as operands of a bind, and their types; the error for a leaf of another type names its path."""
    values, avals = list(leaves), []
    for i, x in enumerate(values):
        try:
            avals.append(typeof(x))
        except TypeError as error:
            raise TypeError(f"lax.{api}: {what}{leaf_path(tree_of, i)}: {error}") from None
        if not isinstance(x, Array):
            made = getattr(x, "__jax_array__", None)
            if made is not None:
                values[i] = made()
    return values, tuple(avals)


def leaf_path(tree: Any, i: int) -> str:
    """The key path of leaf ``i``, as text."""
    numbered = tree_unflatten(tree, list(range(tree.num_leaves)))
    return keystr(tree_flatten_with_path(numbered)[0][i][0])


def with_aval(x: Any, old: Any, new: Any) -> Any:
    """An operand of type ``old`` as one of type ``new`` (another dtype, or no longer weak)."""
    if old is new:
        return x
    if type(x) in _SCALARS:
        x = host_constant(x, new.dtype)
    if manual.vma_of(new) - manual.vma_of(old):
        x = manual.casts["vary"](x, tuple(sorted(manual.vma_of(new) - manual.vma_of(old), key=str)))
    if isinstance(x, np.ndarray) or old.dtype == new.dtype and old.weak_type == new.weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=new.dtype, weak_type=new.weak_type, sharding=None)


def as_array(x: Any, aval: Any) -> Any:
    """An operand as an array or a tracer, as results have to be."""
    if isinstance(x, Array):
        return x
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)


def static_int(x: Any, context: str) -> int:
    """``x`` as a Python integer; traced values and other types are refused, naming ``context``."""
    value = concrete_or_error(None, x, context)
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"{context} must be an integer, got {x!r} of type {type(x).__name__}") from None


# --- tracing the functions ------------------------------------------------------------------------------------------

class Staged(NamedTuple):
    """A traced function: what it closes over comes first among the arguments of ``jaxpr``, with these values."""

    jaxpr: ClosedJaxpr
    consts: tuple[Any, ...]
    out_tree: Any


def check_callable(api: str, name: str, fun: Any) -> None:
    """Refuses anything that is not a function."""
    if not callable(fun):
        raise TypeError(f"lax.{api}: {name} must be a function, got {fun!r} of type {type(fun).__name__}")


def stage(api: str, fun: Callable[..., Any], in_tree: Any, avals: tuple[Any, ...],
          adapt: Callable[..., Any] | None = None) -> Staged:
    """Traces ``fun`` (or ``adapt(fun)``) on arguments of the given structure and types.

    A function that is given again with the same types is not traced again, unless a variable that it closes over or a
    global that it reads has been bound to something else in the meantime.
    """
    if type(fun) is not FunctionType:
        return _trace(api, fun if adapt is None else adapt(fun), fun, in_tree, avals)
    try:
        memory = _memory(fun, api, adapt, in_tree, avals, axis_env.get())
    except TypeError:  # a structure whose metadata cannot be hashed
        memory = []
    seen = _free_values(fun)
    for known, staged in memory:
        if len(known) == len(seen) and all(a is b for a, b in zip(known, seen, strict=True)):
            return staged
    staged = _trace(api, fun if adapt is None else adapt(fun), fun, in_tree, avals)
    if not any(isinstance(x, Tracer) for x in staged.consts) and not any(isinstance(x, Tracer) for x in seen):
        memory[:] = [(seen, staged)]
    return staged


@weak_cache
def _memory(fun: Any, api: str, adapt: Any, in_tree: Any, avals: Any, env: Any) -> list[Any]:
    """Where the last trace of a function is kept, with the outside values it has seen."""
    return []


def _trace(api: str, fun: Callable[..., Any], named: Any, in_tree: Any, avals: tuple[Any, ...]) -> Staged:
    out_tree: Any = None

    def flat(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        out, out_tree = tree_flatten(fun(*tree_unflatten(in_tree, leaves)))
        for i, x in enumerate(out):
            if not isinstance(x, Array) and type(x) not in _SCALARS:
                _check_result(api, named, out_tree, i, x)
        return out

    jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info(named, in_tree, api))
    effects = control_flow_allowed_effects.filter_not_in(jaxpr.effects) if jaxpr.effects else None
    if effects:
        raise NotImplementedError(
            f"lax.{api}: {describe(named)} has effects that are not allowed inside control flow: "
            f"{', '.join(sorted(map(str, effects)))}. Move them out of the {api}.")
    if consts:
        jaxpr = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars], effects=jaxpr.effects)
    return Staged(ClosedJaxpr(jaxpr, ()), tuple(consts), out_tree)


def _check_result(api: str, fun: Any, out_tree: Any, i: int, x: Any) -> None:
    try:
        typeof(x)
    except TypeError as error:
        raise TypeError(f"lax.{api}: {describe(fun)} returned a value that is not an array, at "
                        f"result{leaf_path(out_tree, i)}: {error}") from None


def describe(fun: Any) -> str:
    """``name at file.py:12`` for messages."""
    return source_info.describe_function(fun)


def debug_info(fun: Any, in_tree: Any, api: str) -> DebugInfo:
    """What messages say about a traced function. It does not keep the function alive, as caches hold it."""
    code = getattr(fun, "__code__", None)
    if code is None:
        return DebugInfo(api, describe(fun))
    name = getattr(fun, "__name__", code.co_name)
    return DebugInfo(api, lambda: f"{name} at {code.co_filename}:{code.co_firstlineno}",
                     lambda: _leaf_names(code, in_tree))


def _leaf_names(code: CodeType, in_tree: Any) -> tuple[str, ...]:
    names = code.co_varnames[:code.co_argcount]
    numbered = tree_unflatten(in_tree, list(range(in_tree.num_leaves)))
    return tuple([(names[path[0].idx] if path[0].idx < len(names) else f"args[{path[0].idx}]") + keystr(path[1:])
                  for path, _ in tree_flatten_with_path(numbered)[0]])


def parameter_name(fun: Any, i: int, default: str) -> str:
    """What the function calls its parameter ``i``."""
    code = getattr(fun, "__code__", None)
    names = () if code is None else code.co_varnames[:code.co_argcount]
    return names[i] if i < len(names) else default


# --- what a function sees of the outside ----------------------------------------------------------------------------

def _free_values(fun: FunctionType, depth: int = 2) -> list[Any]:
    """The objects to which the variables are bound that ``fun``, or a function it refers to, reads from outside.

    Those that it writes (counters of traces, usually) do not count.
    """
    reads_cells, reads_globals = _outside_names(fun.__code__)
    values: list[Any] = []
    for i in reads_cells:
        try:
            values.append(fun.__closure__[i].cell_contents)  # type: ignore[index]
        except ValueError:  # not bound yet
            values.append(None)
    space = fun.__globals__
    for name in reads_globals:
        if name in space:
            values.append(space[name])
    if depth:
        for x in list(values):
            if type(x) is FunctionType and not source_info.is_internal_file(x.__code__.co_filename):
                values.extend(_free_values(x, depth - 1))
    return values


@cache(maxsize=4096)
def _outside_names(code: CodeType) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions of closure cells, and the names of globals, that code reads and does not write."""
    written = set()
    for part in _nested(code):
        written.update(i.argval for i in dis.get_instructions(part)
                       if i.opname in ("STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF", "DELETE_GLOBAL"))
    names = {n: None for part in _nested(code) for n in part.co_names if n not in written}
    return tuple([i for i, n in enumerate(code.co_freevars) if n not in written]), tuple(names)


def _nested(code: CodeType) -> list[CodeType]:
    out = [code]
    for const in code.co_consts:
        if isinstance(const, CodeType):
            out.extend(_nested(const))
    return out


# --- types of carries -----------------------------------------------------------------------------------------------

def same_type(a: Any, b: Any) -> bool:
    """Whether two abstract values agree but for weakness."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if manual.vma_of(a) != manual.vma_of(b):  # what varies over a mesh axis is settled where the operands are bound
        a, b = manual.varying(a, frozenset()), manual.varying(b, frozenset())
    return bool(a.strip_weak_type() == b.strip_weak_type())


def promote_carry(ins: Sequence[Any], outs: Sequence[Any]) -> list[Any] | None:
    """The carry's types with weakly typed inputs promoted to what comes out, or None when nothing changes."""
    changed = False
    new = list(ins)
    for i, (a, b) in enumerate(zip(ins, outs, strict=True)):
        if a is b:
            continue
        if isinstance(b, ShapedArray) and isinstance(a, ShapedArray) and b.vma - a.vma and a.shape == b.shape:
            a = new[i] = a.update(vma=a.vma | b.vma)
            changed = True
        if not a.weak_type or not isinstance(b, ShapedArray) or a.shape != b.shape:
            continue
        if (a.dtype == b.dtype and b.weak_type) or isinstance(b.dtype, dtypes.ExtendedDType):
            continue
        try:
            dtype, _ = dtypes.promote_entries(((a.dtype, True), (b.dtype, b.weak_type)))
        except dtypes.TypePromotionError:
            continue
        if dtype == b.dtype:
            new[i] = ShapedArray(a.shape, dtype, vma=a.vma)
            changed = True
    return new if changed else None


def check_carry(api: str, fun: Any, name: str, tree: Any, ins: Sequence[Any], out_tree: Any,
                outs: Sequence[Any]) -> None:
    """Raises unless what comes out of a body has the structure and the types of what goes in."""
    if tree != out_tree:
        raise TypeError(_structure_message(api, fun, name, tree, out_tree))
    wrong = [i for i, (a, b) in enumerate(zip(ins, outs, strict=True)) if not same_type(a, b)]
    if not wrong:
        return
    lines = [f"  {name}{leaf_path(tree, i)} goes in as {ins[i].str_short()} and comes out as {outs[i].str_short()}"
             f": {type_difference(ins[i], outs[i])}" for i in wrong[:8]]
    if len(wrong) > 8:
        lines.append(f"  and {len(wrong) - 8} more")
    raise TypeError(f"lax.{api}: the carry must keep its types from one step to the next, but the body changes "
                    f"{'one' if len(wrong) == 1 else len(wrong)} of them (body: {describe(fun)}).\n" + "\n".join(lines)
                    + f"\n{_carry_remedy(name + leaf_path(tree, wrong[0]), ins[wrong[0]], outs[wrong[0]])}")


def type_difference(a: Any, b: Any) -> str:
    """In what two types differ, in words."""
    if type(a) is not type(b) or not isinstance(a, ShapedArray):
        return "the kinds of value differ"
    parts = []
    if a.shape != b.shape:
        parts.append("shapes")
    if a.dtype != b.dtype:
        parts.append("dtypes")
    return f"the {' and '.join(parts)} differ" if parts else "the shardings or memory spaces differ"


def _carry_remedy(leaf: str, a: Any, b: Any) -> str:
    if getattr(a, "shape", None) != getattr(b, "shape", None):
        return (f"Return a value of shape {a.shape} for {leaf}, or start the loop with one of shape {b.shape} "
                "(jnp.broadcast_to, x[None]).")
    if getattr(a, "dtype", None) != getattr(b, "dtype", None):
        return (f"Convert in the body, for example x.astype('{a.dtype}') for {leaf}, or start the loop with a value of "
                f"dtype {b.dtype}.")
    return "Return values of the types that the loop starts with."


def _structure_message(api: str, fun: Any, name: str, tree: Any, out_tree: Any) -> str:
    lines = [f"  {d.describe(('the carry that goes in', 'the one that comes out'))}"
             for d in differences(marked(tree), marked(out_tree))][:3]
    return (f"lax.{api}: the carry must keep its tree structure from one step to the next, but the body changes it "
            f"(body: {describe(fun)}).\n" + "\n".join(lines) + f"\n  goes in:   {tree}\n  comes out: {out_tree}\n"
            f"Return a carry built like the body's argument {name}.")


# Stands for an array where structures are compared; messages show the name of its type.
_an_array = type("array", (), {"__module__": "builtins"})()


def marked(tree: Any) -> Any:
    """A tree of this structure whose leaves say what they are when structures are compared."""
    return tree_unflatten(tree, [_an_array] * tree.num_leaves)


# --- which parts of a carry a transformation concerns ---------------------------------------------------------------

Marks = list[bool]


def reached(jaxpr: Any, start: Sequence[bool], through: Callable[[Any], Sequence[Any]] | None = None) -> Marks:
    """Which outputs depend on the marked inputs, going by variables alone: of each equation those that ``through``
    returns, by default all."""
    live = {v for v, s in zip(jaxpr.invars, start, strict=True) if s}
    for eqn in jaxpr.eqns:
        for v in eqn.invars:
            if type(v) is not Literal and v in live:
                break
        else:
            continue
        outs = eqn.outvars if through is None else through(eqn)
        if eqn.primitive.abstract_cache is None:
            found = where(eqn.outvars, _reached_by_equation(eqn, live, through))
            outs = [o for o in found if o in outs]
        live.update(outs)
    return [type(v) is not Literal and v in live for v in jaxpr.outvars]


# How dependence passes through primitives that hold jaxprs: (eqn, marks, through) -> marks of the results.
dependence_rules: dict[Any, Callable[..., Marks]] = {}


def _reached_by_equation(eqn: Any, live: set[Any], through: Any) -> Marks:
    marks = [type(v) is not Literal and v in live for v in eqn.invars]
    rule = dependence_rules.get(eqn.primitive)
    if rule is not None:
        return rule(eqn, marks, through)
    held = [p for p in eqn.params.values() if isinstance(p, ClosedJaxpr)]
    if len(held) == 1 and len(held[0].jaxpr.invars) == len(marks) and len(held[0].jaxpr.outvars) == len(eqn.outvars):
        return reached(held[0].jaxpr, marks, through)
    return [True] * len(eqn.outvars)


def reached_from(jaxpr: Any, ends: Sequence[bool]) -> Marks:
    """Which inputs the marked outputs depend on."""
    live = {v for v, e in zip(jaxpr.outvars, ends, strict=True) if e and type(v) is not Literal}
    for eqn in reversed(jaxpr.eqns):
        for v in eqn.outvars:
            if v in live:
                live.update([x for x in eqn.invars if type(x) is not Literal])
                break
    return [v in live for v in jaxpr.invars]


def differentiable(eqn: Any) -> Sequence[Any]:
    """The results of an equation that can have derivatives: a ``through`` for :func:`reached`."""
    if eqn.primitive in without_derivative:
        return ()
    return [v for v in eqn.outvars if getattr(v.aval.to_tangent_aval(), "dtype", dtypes.float0) != dtypes.float0]


def either(a: Sequence[bool], b: Sequence[bool]) -> Marks:
    """Which are marked in one or the other."""
    return [x or y for x, y in zip(a, b, strict=True)]


def grow(start: Sequence[bool], step: Callable[[Marks], Sequence[bool]]) -> Marks:
    """The least set that contains ``start`` and that ``step`` maps into itself."""
    current = list(start)
    while True:
        new = either(current, step(current))
        if new == current:
            return current
        current = new


def settle(start: Sequence[bool], guess: Sequence[bool],
           attempt: Callable[[Marks, bool], tuple[Any, Sequence[bool]]]) -> tuple[Marks, Any]:
    """The least marks of a carry that contain ``start`` and are those of what comes out.

    ``attempt(marks, force)`` transforms the body for these marks on the way in; it returns the result and the marks on
    the way out, at least ``marks`` if ``force``. A transformation costs much more than following variables, so the
    marks that these suggest are tried first.
    """
    guess = list(guess)
    result, out = attempt(guess, False)
    if list(out) == guess:
        return guess, result
    marks = list(start)
    while True:
        result, out = attempt(marks, False)
        new = either(marks, out)
        if new == marks:
            break
        marks = new
    if list(out) != marks:
        result, _ = attempt(marks, True)
    return marks, result


def permuted(closed: ClosedJaxpr, ins: Sequence[int], outs: Sequence[int] | None = None) -> ClosedJaxpr:
    """The same program with its arguments (and results) in another order, or fewer results."""
    jaxpr = closed.jaxpr
    outvars = jaxpr.outvars if outs is None else [jaxpr.outvars[i] for i in outs]
    info = jaxpr.debug_info
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in ins], outvars=outvars, effects=jaxpr.effects,
                                     debug_info=info._replace(arg_names=None) if info.arg_names else info),
                       closed.consts)


def pieces(xs: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """``xs`` cut into pieces of these sizes and a last one of the rest."""
    out, start = [], 0
    for n in sizes:
        out.append(list(xs[start:start + n]))
        start += n
    out.append(list(xs[start:]))
    return out


def where(xs: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    """The marked ones."""
    return [x for x, m in zip(xs, marks, strict=True) if m]


def without(xs: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    """Those not marked."""
    return [x for x, m in zip(xs, marks, strict=True) if not m]


def interleave(marks: Sequence[bool], marked: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The inverse of :func:`where` and :func:`without`."""
    a, b = iter(marked), iter(others)
    return [next(a) if m else next(b) for m in marks]
