"""Following keys: which of them have been consumed, under ``jax_debug_key_reuse``.

Every element of an array of keys has an ``Identity``, an object that knows where the key was consumed. Operations that
only move keys (slices, reshapes ...) hand identities on, those that derive new keys make new ones, and those that draw
numbers or split consume. Of a program it is found once, from its jaxpr, which of its arguments it consumes and where the
keys that it returns come from; at each call that is compared with what has happened to the keys that are passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._base import source as source_info
from jax._base.caching import no_context, weak_cache
from jax._language.evaluation import bind_eqn
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from jax._language.trace import bottom, run_in
from jax.errors import KeyReuseError
from jax.random._arrays import is_key_dtype
from jax.random._identity import Identities, Identity, Use, fresh


def consume(ids: Identities, use: Use, within: str = "") -> None:
    """Marks keys as consumed.

    Raises:
      KeyReuseError: one of them was before.
    """
    if ids is None:
        return
    for i, identity in enumerate(ids.flat):
        if identity.used is not None:
            raise reused(identity.used, use, ids.shape, i, within)
        identity.used = use


def reused(first: Use, use: Use, shape: Any, position: int, within: str, name: str = "") -> KeyReuseError:
    which = "a key" if not shape else f"the key at index {tuple(map(int, np.unravel_index(position, shape)))} of an array"
    again = " It is the same operation, which runs again." if first == use else ""
    return KeyReuseError(
        f"{which}{name} that has been consumed before is passed to {use}{within}. It was first consumed by {first}.{again} "
        "The same key gives the same numbers again. Use each key once: derive new ones with jax.random.split or "
        "jax.random.fold_in before, or say with jax.random.clone that numbers are to be repeated.")


def consume_now(key: Any, api: str) -> None:
    """A function of this module's room consumes a concrete key."""
    consume(key.identities(), Use(f"jax.random.{api}", source_info.current()))


# --- programs -------------------------------------------------------------------------------------------------------

class Signature(NamedTuple):
    """What a program does with keys. Identities of arguments that it consumes are marked as used; those of results are
    those of arguments, or new ones."""

    inputs: list[Identities]  # of constants, then of arguments
    outputs: list[Identities]
    missed: bool  # whether keys were chosen by values that were not known


class Known(dict[Any, Any]):
    """Values of variables that are no keys. ``missed`` says whether one was needed and not known."""

    folding = False
    missed = False

    def add(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        for v, x in zip(variables, values, strict=True):
            if not holds_keys(v) and isinstance(getattr(v.aval, "dtype", None), np.dtype) and v.aval.size <= SMALL:
                self[v] = x

    def of(self, v: Any) -> Any:
        return v.val if type(v) is Literal else self.get(v)


SMALL = 1024  # elements of values that are looked at


@weak_cache(context=no_context)
def signature(closed: ClosedJaxpr) -> Signature:
    """Follows keys through a program.

    Raises:
      KeyReuseError: it consumes a key twice.
    """
    return follow(closed, None)


def follow(closed: ClosedJaxpr, values: Sequence[Any] | None) -> Signature:
    """:func:`signature` of a call with known values of the arguments, in place of keys ``None``."""
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = {}
    inputs = []
    for v in (*jaxpr.constvars, *jaxpr.invars):
        env[v] = fresh(v.aval.shape) if holds_keys(v) else None
        inputs.append(env[v])
    known = Known()
    known.folding = values is not None
    known.add(jaxpr.constvars, closed.consts)
    if values is not None:
        given = [(v, x) for v, x in zip(jaxpr.invars, values, strict=True) if x is not None]
        known.add([v for v, _ in given], [x for _, x in given])
    for eqn in jaxpr.eqns:
        _follow(eqn, env, known)
    outputs = [env.get(v) if holds_keys(v) else None for v in jaxpr.outvars]
    return Signature(inputs, outputs, known.missed)


def holds_keys(v: Any) -> bool:
    """Whether a variable is an array of keys."""
    return is_key_dtype(getattr(v.aval, "dtype", None))


def _follow(eqn: JaxprEqn, env: dict[Any, Any], known: Known) -> None:
    rule = rules.get(eqn.primitive)
    if known.folding and not any(map(holds_keys, (*eqn.invars, *eqn.outvars))):
        values = [known.of(v) for v in eqn.invars]
        if not eqn.effects and all(x is not None for x in values):
            outs = run_in(bottom, bind_eqn, eqn, values)
            known.add(eqn.outvars, outs if eqn.primitive.multiple_results else [outs])
            return
    given = [None if type(v) is Literal else env.get(v) for v in eqn.invars]
    if rule is not None:
        outs = rule(eqn, given, known)
    elif any(map(holds_keys, eqn.outvars)) or any(map(holds_keys, eqn.invars)) or eqn.params:
        _look_inside(eqn)
        outs = [None] * len(eqn.outvars)
    else:
        return
    for v, ids in zip(eqn.outvars, outs, strict=True):
        if holds_keys(v):
            env[v] = fresh(v.aval.shape) if ids is None else ids


def _look_inside(eqn: JaxprEqn) -> None:
    """Programs in equations of which nothing else is known must at least not consume a key of their own twice."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                signature(item)


# (eqn, identities of operands, known values) -> identities of results; None for those that are new
Rule = Callable[[JaxprEqn, list[Identities], Known], Iterable[Identities]]
rules: dict[Any, Rule] = {}


class Plan:
    """Effects of calling a program on keys: checked when it is made, carried out by ``commit``."""

    __slots__ = ("found", "marks")

    def __init__(self, sig: Signature, given: Sequence[Identities], within: str = "", use: Use | None = None,
                 place: Any = None, name_of: Callable[[int], str] = lambda _: "") -> None:
        self.found: dict[int, Identity] = {}
        self.marks: dict[int, tuple[Identity, Use]] = {}
        for position, (own, ids) in enumerate(zip(sig.inputs, given, strict=True)):
            if own is None or ids is None:
                continue
            for i, (a, b) in enumerate(zip(own.flat, ids.flat, strict=True)):
                self.found[id(a)] = b
                if a.used is None:
                    continue
                inner = a.used if place is None else Use(a.used.what, place)
                first = b.used or (self.marks[id(b)][1] if id(b) in self.marks else None)
                if first is not None:
                    raise reused(first, inner, ids.shape, i, within, name_of(position))
                self.marks[id(b)] = (b, use or inner)

    def commit(self) -> None:
        for identity, use in self.marks.values():
            identity.used = use

    def results(self, sig: Signature) -> list[Identities]:
        """Identities of the results; new ones for keys that the program has made."""
        return [None if ids is None else self._mapped(ids) for ids in sig.outputs]

    def _mapped(self, ids: Identities) -> Identities:
        out = np.empty(ids.size, object)
        for i, a in enumerate(ids.flat):
            b = self.found.get(id(a))
            if b is None:
                b = self.found[id(a)] = Identity(a.used)
            out[i] = b
        return out.reshape(ids.shape)


def call(closed: ClosedJaxpr, given: Sequence[Identities], within: str = "",
         values: Sequence[Any] | None = None) -> list[Identities]:
    """Calls a program on keys: its results' identities. Constants of programs in equations are never keys."""
    sig = signature(closed) if values is None else follow(closed, values)
    plan = Plan(sig, [*[None] * len(closed.consts), *given], within)
    plan.commit()
    return plan.results(sig)
