"""Jaxprs: programs as data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jax._base import source as source_info
from jax._language.avals import typeof
from jax._language.effects import RefEffect, constant_ref_effect, no_effects

_counter = itertools.count()
# How equations and jaxprs become text; entered by the printing module, which is written in terms of this one.
formatters: dict[str, Callable[..., str]] = {}


class Var:
    """A variable of a jaxpr; named only when printed."""

    __slots__ = ("aval", "count", "__weakref__")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.count = next(_counter)

    def __repr__(self) -> str:
        return f"Var(id={self.count}):{self.aval.str_short()}"


class DropVar(Var):
    """An output of an equation that nothing reads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Any = None) -> None:
        self.val = val
        self.aval = typeof(val) if aval is None else aval

    @property
    def hash(self) -> int | None:
        """The hash of the value, None when it has none."""
        try:
            return hash((type(self.val), self.val))
        except TypeError:
            return None

    def __repr__(self) -> str:
        return f"{self.val}"


Atom = Var | Literal


class SourceInfo(NamedTuple):
    """Where an equation was made: the captured Python stack and the stack of ``named_scope`` names."""

    traceback: Any
    name_stack: Any

    def summary(self) -> str:
        return source_info.summarize(self.traceback)

    def replace(self, **kwargs: Any) -> SourceInfo:
        return self._replace(**kwargs)


no_source = SourceInfo(None, source_info.NameStack())


class JaxprEqnContext(NamedTuple):
    """Settings under which an equation was traced; ``xla_metadata`` are the attributes in its name stack."""

    compute_type: Any = None
    threefry_partitionable: bool = True
    xla_metadata: Any = None


default_eqn_context = JaxprEqnContext()


class JaxprEqn:
    """``outvars = primitive[params] invars``."""

    __slots__ = ("invars", "outvars", "primitive", "params", "effects", "source_info", "settings")

    def __init__(self, invars: Sequence[Any], outvars: Sequence[Var], primitive: Any, params: dict[str, Any],
                 effects: frozenset[Any] = no_effects, source_info: Any = no_source,
                 ctx: Any = default_eqn_context) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source_info = source_info
        self.settings = ctx

    @property
    def ctx(self) -> JaxprEqnContext:
        """The settings under which it was traced."""
        tags = source_info.tags_of(self.source_info.name_stack)
        return self.settings._replace(xla_metadata=tags) if tags else self.settings

    def replace(self, **kwargs: Any) -> JaxprEqn:
        """The equation with other fields, by name."""
        fields = {name: getattr(self, name) for name in self.__slots__[:-1]}
        fields["ctx"] = self.settings
        fields.update(kwargs)
        return JaxprEqn(**fields)

    def __repr__(self) -> str:
        return formatters["eqn"](self)


def new_jaxpr_eqn(invars: Sequence[Any], outvars: Sequence[Var], primitive: Any, params: dict[str, Any],
                  effects: Any = no_effects, source_info: Any = None, ctx: Any = None) -> JaxprEqn:
    """An equation; ``source_info`` defaults to the caller's place in the program."""
    if source_info is None:
        source_info = here()
    if ctx is not None and ctx.xla_metadata:
        source_info = _tagged(source_info, ctx.xla_metadata)
        ctx = ctx._replace(xla_metadata=None)
    return JaxprEqn(list(invars), list(outvars), primitive, params, frozenset(effects), source_info,
                    ctx or default_eqn_context)


def _tagged(info: SourceInfo, metadata: Any) -> SourceInfo:
    """The place with attributes for the compiler, unless it has them."""
    if source_info.tags_of(info.name_stack) == metadata:
        return info
    return info._replace(name_stack=source_info.NameStack((*info.name_stack, source_info.Tags(tuple(metadata.items())))))


def here() -> SourceInfo:
    return SourceInfo(source_info.capture(), source_info.current_names())


class DebugInfo(NamedTuple):
    """What a traced function is called and where its arguments come from; only messages and printing read it."""

    traced_for: str = "jit"
    func_src_info: Any = None  # a string, or a function that makes it
    arg_names: Any = None  # a tuple, or a function that makes it when a message needs it
    result_paths: Any = None

    @property
    def func_name(self) -> str:
        """The name of the function."""
        return self.source_text().split(" at ")[0]

    def source_text(self) -> str:
        """The name of the function, and where it is."""
        info: Any = self.func_src_info
        return (info() if callable(info) else info) or "<unknown>"

    def arg_name(self, i: int) -> str:
        """What the argument at position ``i`` is called."""
        names: Any = self.arg_names
        if callable(names):
            names = names()
        return names[i] if names is not None and i < len(names) else f"argument {i}"


no_debug_info = DebugInfo()


class Jaxpr:
    """``{ lambda constvars ; invars . let eqns in outvars }``."""

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "is_high", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Any],
                 eqns: Sequence[JaxprEqn], effects: Any = None, debug_info: Any = no_debug_info,
                 is_high: bool = False) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        # Effects on references name arguments by position, which passes change.
        known = effects is not None and not (effects and any([isinstance(e, RefEffect) for e in effects]))
        self.effects = effects if known else effects_of(self.constvars, self.invars, self.eqns)
        self.debug_info = debug_info
        self.is_high = is_high

    @property
    def in_avals(self) -> list[Any]:
        """The types of the arguments."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        """The types of the results."""
        return [v.aval for v in self.outvars]

    def replace(self, **kwargs: Any) -> Jaxpr:
        """The jaxpr with other fields, by name; the effects are those of new equations."""
        fields = {n: getattr(self, n) for n in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")}
        if "eqns" in kwargs and "effects" not in kwargs:
            kwargs["effects"] = None
        fields.update(kwargs)
        return Jaxpr(**fields)

    def pretty_print(self, **settings: Any) -> str:
        """The jaxpr as text: ``source_info=True`` adds source lines, ``name_stack=True`` named scopes."""
        return formatters["jaxpr"](self, **settings)

    def __str__(self) -> str:
        return self.pretty_print()

    __repr__ = __str__


class ClosedJaxpr:
    """A jaxpr with the values of its constants."""

    __slots__ = ("jaxpr", "consts", "__weakref__", "memo")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"a jaxpr with {len(jaxpr.constvars)} constants was given {len(consts)} values")
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def in_avals(self) -> list[Any]:
        """The types of the arguments."""
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[Any]:
        """The types of the results."""
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Any:
        """The effects."""
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        """Another name of ``consts``."""
        return self.consts

    def replace(self, *, jaxpr: Any = None, consts: Any = None) -> ClosedJaxpr:
        """The closed jaxpr with another jaxpr, or other constants."""
        return ClosedJaxpr(self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """``f`` applied to the jaxpr, with the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def pretty_print(self, **settings: Any) -> str:
        """As :meth:`Jaxpr.pretty_print`."""
        return self.jaxpr.pretty_print(**settings)

    def __str__(self) -> str:
        return str(self.jaxpr)

    __repr__ = __str__


def union_effects(eqns: Iterable[JaxprEqn]) -> frozenset[Any]:
    out = no_effects
    for e in eqns:
        if e.effects:
            out = out | e.effects
    return out


def effects_of(constvars: Sequence[Var], invars: Sequence[Var], eqns: Iterable[JaxprEqn]) -> frozenset[Any]:
    """The effects of a jaxpr: of those on references, the ones on its constants and arguments."""
    out = no_effects
    place: dict[Any, int] = {}
    for eqn in eqns:
        if not eqn.effects:
            continue
        found = []
        for e in eqn.effects:
            if not isinstance(e, RefEffect):
                found.append(e)
                continue
            if e.index < 0:
                found.append(constant_ref_effect)
                continue
            if not place:
                place = {v: i - len(constvars) for i, v in enumerate((*constvars, *invars))}
            at = place.get(eqn.invars[e.index])
            if at is not None:
                found.append(e.at(at))
        out = out.union(found)
    return out


# --- walking --------------------------------------------------------------------------------------------------------

def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs held by an equation's parameters, directly or in a tuple."""
    for v in params.values():
        for item in v if isinstance(v, (tuple, list)) else (v,):
            if isinstance(item, Jaxpr):
                yield item
            elif isinstance(item, ClosedJaxpr):
                yield item.jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs that the equations of ``jaxpr`` hold, one level deep."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def consts_to_invars(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as leading arguments."""
    return jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars], effects=jaxpr.effects)
