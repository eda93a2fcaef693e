"""The primitives of mutable arrays: making, reading, changing and giving up references.

Which part of an array is read or changed is said by *views* (the parameter ``views``): each leads from an array to a
part of it, with operands of its own. A view is hashable and has

- ``num_operands``;
- ``read(x, operands)``, the part;
- ``write(x, operands, values, op)``, the array with its part replaced by (``op="set"``), or increased by (``"add"``)
  ``values``;
- ``text(operands)``, what stands between brackets when a program is printed.

None of the primitives is ever compiled: programs are discharged (:mod:`jax._language.discharge`) before they are lowered,
and linear ones before they are transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._base._jaxlib import xla
from jax._dispatch.eager import apply_primitive
from jax._ground.structural import add_any_p, instantiate_zeros, zeros_of
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import Cell
from jax._language.effects import AccumEffect, ReadEffect, WriteEffect
from jax._language.jaxpr import DropVar, JaxprEqn
from jax._language.primitive import RefPrimitive
from jax._language.refs import AbstractRef, Ref, is_ref_type
from jax._language.staging import trace_to_jaxpr
from jax._language.zeros import Zero
from jax._runtime.transfer import to_device, with_aval

_READ, _WRITE, _ACCUM = frozenset([ReadEffect(0)]), frozenset([WriteEffect(0)]), frozenset([AccumEffect(0)])

Views = tuple[Any, ...]


def read_through(x: Any, views: Views, operands: Sequence[Any]) -> Any:
    """The part of an array that the views lead to."""
    for view in views:
        n = view.num_operands
        x, operands = view.read(x, operands[:n]), operands[n:]
    return x


def write_through(x: Any, views: Views, operands: Sequence[Any], values: Any, op: str) -> Any:
    """The array with that part replaced by ``values`` (``op="set"``), or increased by them (``"add"``)."""
    if not views:
        return values if op == "set" else add_any_p.bind(x, values)
    first, rest, n = views[0], views[1:], views[0].num_operands
    if rest:
        part = first.read(x, operands[:n])
        values, op = write_through(part, rest, operands[n:], values, op), "set"
    return first.write(x, operands[:n], values, op)


def _text(views: Views, operands: Sequence[str]) -> str:
    if not views:
        return "[...]"
    parts = []
    for view in views:
        n = view.num_operands
        parts.append(view.text(operands[:n]))
        operands = operands[n:]
    return "".join(parts)


def _reference(prim: Any, aval: Any) -> Any:
    if not is_ref_type(aval):
        raise TypeError(f"{prim} needs a reference (jax.new_ref), got {aval.str_short()}")
    return aval.inner_aval


def _part(inner: Any, views: Views, operands: Sequence[Any]) -> Any:
    """The type of the part that the views lead to."""
    if not views:
        return inner
    jaxpr, _ = trace_to_jaxpr(lambda x, *ops: [read_through(x, views, ops)], [inner, *operands])
    return jaxpr.outvars[0].aval


# --- new_ref: a reference to a copy of an array ----------------------------------------------------------------------

new_ref_p = RefPrimitive("new_ref", makes=True)


def _new_ref_abstract(init: Any, *, memory_space: Any, kind: Any) -> Any:
    return AbstractRef(init, memory_space, kind)


def _new_ref_impl(init: Any, *, memory_space: Any, kind: Any) -> Any:
    if not isinstance(init, xla.Array):
        init = to_device(init)
    aval = typeof(init)
    if aval.weak_type:
        init = with_aval(init, aval.strip_weak_type())
    return Ref(AbstractRef(aval, memory_space, kind), init)


def _new_ref_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    ref = new_ref_p.bind(*primals, **params)
    aval = typeof(ref).to_tangent_aval()
    if aval.dtype == dtypes.float0:
        return ref, Zero(aval)
    return ref, new_ref_p.bind(instantiate_zeros(tangents[0]), **params)


new_ref_p.def_abstract_eval(_new_ref_abstract)
new_ref_p.def_impl(_new_ref_impl)
rules.discharge_rules[new_ref_p] = lambda args, params: _new_cell(args[0], params)
rules.primitive_jvps[new_ref_p] = _new_ref_jvp


def _new_cell(init: Any, params: dict[str, Any]) -> Cell:
    return Cell(AbstractRef(typeof(init), **params), init)


# --- empty_ref: a reference to an array of which nothing is known ----------------------------------------------------

empty_ref_p = RefPrimitive("empty_ref", makes=True)


def _empty_ref_impl(*, ty: Any, memory_space: Any, kind: Any) -> Any:
    return Ref(AbstractRef(ty, memory_space, kind), zeros_of(ty), lent=False)


def _empty_ref_jvp(primals: Any, tangents: Any, *, ty: Any, **params: Any) -> Any:
    ref = empty_ref_p.bind(ty=ty, **params)
    aval = ty.to_tangent_aval()
    if aval.dtype == dtypes.float0:
        return ref, Zero(AbstractRef(aval))
    return ref, new_ref_p.bind(zeros_of(aval), **params)


empty_ref_p.def_abstract_eval(lambda *, ty, memory_space, kind: AbstractRef(ty, memory_space, kind))
empty_ref_p.def_impl(_empty_ref_impl)
rules.discharge_rules[empty_ref_p] = lambda args, params: _new_cell(
    zeros_of(params["ty"]), {name: value for name, value in params.items() if name != "ty"})
rules.primitive_jvps[empty_ref_p] = _empty_ref_jvp


# --- get: reading -----------------------------------------------------------------------------------------------------

# Operands: the reference, then those of the views.
get_p = RefPrimitive("get")


def _get_abstract(ref: Any, *operands: Any, views: Views) -> Any:
    return _part(_reference(get_p, ref), views, operands), _READ


def _get_jvp(primals: Any, tangents: Any, *, views: Views) -> Any:
    out = get_p.bind(*primals, views=views)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, get_p.bind(tangents[0], *primals[1:], views=views)


def _get_text(eqn: JaxprEqn, names: Any, settings: Any) -> str:
    ref, *operands = [names(v) for v in eqn.invars]
    return f"{names.typed(eqn.outvars[0])} <- {ref}{_text(eqn.params['views'], operands)}"


def _get_impl(ref: Any, *operands: Any, views: Views) -> Any:
    return apply_primitive(get_p, ref, *operands, views=views) if views else ref.read()


get_p.def_impl(_get_impl)
get_p.def_effectful_abstract_eval(_get_abstract)
rules.discharge_rules[get_p] = lambda args, params: read_through(args[0].value, params["views"], args[1:])
rules.primitive_jvps[get_p] = _get_jvp
rules.pp_rules[get_p] = _get_text


# --- swap: writing, and what was there before ------------------------------------------------------------------------

# Operands: the reference, the values, then those of the views.
swap_p = RefPrimitive("swap", writes=True)


def _check_values(prim: Any, ref: Any, values: Any, views: Views, operands: Sequence[Any]) -> Any:
    part = _part(_reference(prim, ref), views, operands)
    if values.shape != part.shape or values.dtype != part.dtype:
        raise TypeError(f"{prim}: a part of type {part.str_short()} of a reference of type {ref.str_short()} takes "
                        f"values of that type, got {values.str_short()}")
    return part


def _swap_abstract(ref: Any, values: Any, *operands: Any, views: Views) -> Any:
    return _check_values(swap_p, ref, values, views, operands), _WRITE


def _swap_discharge(args: Sequence[Any], params: dict[str, Any]) -> Any:
    cell, values, *operands = args
    views = params["views"]
    old = cell.value
    cell.value = write_through(old, views, operands, values, "set")
    return read_through(old, views, operands)


def not_differentiated(ref: Any, what: str) -> ValueError:
    return ValueError(
        f"a value that is being differentiated is {what} a reference that is not, of type {typeof(ref).str_short()}. "
        "What it holds would lose its derivative. Make the reference inside the differentiated function, pass it as a "
        "differentiated argument (of jax.vjp), or write jax.lax.stop_gradient(value).")


def _tangent_of_values(primals: Any, tangents: Any, what: str) -> Any:
    """The tangent of the values to be written; ``None`` if the reference has none."""
    if type(tangents[0]) is Zero:
        if type(tangents[1]) is not Zero:
            raise not_differentiated(primals[0], what)
        return None
    return instantiate_zeros(tangents[1])


def _swap_jvp(primals: Any, tangents: Any, *, views: Views) -> Any:
    values = _tangent_of_values(primals, tangents, "written to")
    out = swap_p.bind(*primals, views=views)
    if values is None:
        return out, Zero.from_primal_value(out)
    return out, swap_p.bind(tangents[0], values, *primals[2:], views=views)


def _swap_text(eqn: JaxprEqn, names: Any, settings: Any) -> str:
    ref, values, *operands = [names(v) for v in eqn.invars]
    place = f"{ref}{_text(eqn.params['views'], operands)}"
    if isinstance(eqn.outvars[0], DropVar):
        return f"{place} <- {values}"
    return f"{names.typed(eqn.outvars[0])}, {place} <- {place}, {values}"


def _swap_impl(ref: Any, values: Any, *operands: Any, views: Views) -> Any:
    if views or type(values) is not type(ref.peek()) or typeof(values) is not ref.aval.inner_aval:
        return apply_primitive(swap_p, ref, values, *operands, views=views)
    old = ref.read()
    ref.store(values, lent=True)
    return old


swap_p.def_impl(_swap_impl)
swap_p.def_effectful_abstract_eval(_swap_abstract)
rules.discharge_rules[swap_p] = _swap_discharge
rules.primitive_jvps[swap_p] = _swap_jvp
rules.pp_rules[swap_p] = _swap_text


# --- addupdate: adding ------------------------------------------------------------------------------------------------

# Operands as those of swap; no result.
addupdate_p = RefPrimitive("addupdate", multiple_results=True, writes=True)


def _addupdate_abstract(ref: Any, values: Any, *operands: Any, views: Views) -> Any:
    _check_values(addupdate_p, ref, values, views, operands)
    return [], _ACCUM


def _addupdate_discharge(args: Sequence[Any], params: dict[str, Any]) -> Any:
    cell, values, *operands = args
    cell.value = write_through(cell.value, params["views"], operands, values, "add")
    return []


def _addupdate_jvp(primals: Any, tangents: Any, *, views: Views) -> Any:
    values = _tangent_of_values(primals, tangents, "added to")
    addupdate_p.bind(*primals, views=views)
    if values is not None and type(tangents[1]) is not Zero:
        addupdate_p.bind(tangents[0], values, *primals[2:], views=views)
    return [], []


def _addupdate_text(eqn: JaxprEqn, names: Any, settings: Any) -> str:
    ref, values, *operands = [names(v) for v in eqn.invars]
    return f"{ref}{_text(eqn.params['views'], operands)} += {values}"


addupdate_p.def_effectful_abstract_eval(_addupdate_abstract)
rules.discharge_rules[addupdate_p] = _addupdate_discharge
rules.primitive_jvps[addupdate_p] = _addupdate_jvp
rules.pp_rules[addupdate_p] = _addupdate_text


# --- freeze and free_ref: giving up a reference ----------------------------------------------------------------------

freeze_p = RefPrimitive("freeze", gives_up=True)
free_ref_p = RefPrimitive("free_ref", multiple_results=True, gives_up=True)


def _give_up(cell: Cell, how: str) -> Any:
    value = cell.value
    cell.gone = how
    return value


def _freeze_jvp(primals: Any, tangents: Any) -> Any:
    out = freeze_p.bind(*primals)
    return out, freeze_p.bind(tangents[0])


def _free_discharge(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    _give_up(args[0], "was freed")
    return []


def _free_jvp(primals: Any, tangents: Any) -> Any:
    free_ref_p.bind(*primals)
    free_ref_p.bind(*tangents)
    return [], []


def _free_abstract(ref: Any) -> Any:
    _reference(free_ref_p, ref)
    return [], _WRITE


def _free_impl(ref: Any) -> list[Any]:
    ref.give_up("was freed")
    return []


freeze_p.def_effectful_abstract_eval(lambda ref: (_reference(freeze_p, ref), _WRITE))
freeze_p.def_impl(lambda ref: ref.give_up("was frozen"))
rules.discharge_rules[freeze_p] = lambda args, params: _give_up(args[0], "was frozen")
rules.primitive_jvps[freeze_p] = _freeze_jvp
free_ref_p.def_effectful_abstract_eval(_free_abstract)
free_ref_p.def_impl(_free_impl)
rules.discharge_rules[free_ref_p] = _free_discharge
rules.primitive_jvps[free_ref_p] = _free_jvp

__all__ = ["Views", "addupdate_p", "empty_ref_p", "free_ref_p", "freeze_p", "get_p", "new_ref_p",
           "not_differentiated",           "read_through", "swap_p", "write_through"]
