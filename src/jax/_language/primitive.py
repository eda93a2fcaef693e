"""Primitives: the operations that transformations give meaning to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._base.caching import register_cache
from jax._language import rules
from jax._language.effects import no_effects
from jax._language.refs import is_ref_type, use
from jax._language.trace import current_trace, run_in

_get_trace = current_trace.get


class Primitive:
    """An operation of the language.

    Its rules live in the tables of :mod:`jax._language.rules` and in the lowering tables; the abstract evaluation rule
    and, where there is one, the Python implementation are attributes.
    """

    __slots__ = ("name", "multiple_results", "call_primitive", "map_primitive", "impl", "abstract_eval",
                 "abstract_cache", "ref_primitive", "__dict__", "__weakref__")
    name: str
    multiple_results: bool
    impl: Callable[..., Any] | None
    abstract_eval: Callable[..., Any]
    abstract_cache: dict[Any, Any] | None

    def __init__(self, name: str, multiple_results: bool = False) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.call_primitive = False
        self.map_primitive = False
        self.ref_primitive = False
        self.impl = None
        self.abstract_eval = self._no_abstract_eval
        self.abstract_cache = {}
        every_primitive.append(self)

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive to ``args`` under the current trace."""
        return _get_trace().process(self, args, params)

    def bind_with_trace(self, trace: Any, args: Any, *avals_and_params: Any) -> Any:
        """:meth:`bind` under a given trace: ``(trace, args, params)`` or ``(trace, args, avals, params)``."""
        return run_in(trace, self.bind, *args, **avals_and_params[-1])

    def _no_abstract_eval(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(
            f"the primitive {self.name!r} has no abstract evaluation rule, so it cannot be traced; "
            f"give it one with {self.name}_p.def_abstract_eval(...)")

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the function that evaluates the primitive on concrete arrays, in place of a compiled call."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule ``(*avals, **params) -> aval`` (a list of them with ``multiple_results``)."""
        def pure(*avals: Any, **params: Any) -> Any:
            return rule(*avals, **params), no_effects
        self.abstract_eval = pure
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule ``(*avals, **params) -> (aval or list, set of effects)``."""
        def effectful(*avals: Any, **params: Any) -> Any:
            out, effects = rule(*avals, **params)
            return out, (frozenset(effects) if effects else no_effects)
        self.abstract_eval = effectful
        return rule

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether the primitive works on types that are lowered to others first; none does by itself."""
        return False

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Functions to bind before the operands, and the parameters, from those of an equation."""
        return [], params


class RefPrimitive(Primitive):
    """A primitive that makes, reads or changes a reference, which traces may have to know about."""

    __slots__ = ("makes", "writes", "gives_up")
    makes: bool
    writes: bool
    gives_up: bool

    def __init__(self, name: str, multiple_results: bool = False, makes: bool = False, writes: bool = False,
                 gives_up: bool = False) -> None:
        super().__init__(name, multiple_results)
        self.ref_primitive = True
        self.makes = makes
        self.writes = writes or gives_up
        self.gives_up = gives_up

    def bind(self, *args: Any, **params: Any) -> Any:
        return _get_trace().process_ref(self, args, params)


every_primitive: list[Primitive] = []


def refuse_references(prim: Primitive, avals: tuple[Any, ...]) -> None:
    """Raises if an operation on arrays is given a reference."""
    for i, aval in enumerate(avals):
        if is_ref_type(aval) and prim not in rules.discharge_rules:
            raise TypeError(f"{prim}: operand {i} is a reference, of type {aval.str_short()}, and an array is needed. "
                            "Read its array first: ref[...]")


def abstract_eval(prim: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """``prim``'s abstract evaluation, cached on (avals, params); primitives that hold jaxprs set no cache."""
    cache = prim.abstract_cache
    if cache is None:
        if use.begun:
            refuse_references(prim, avals)
        return prim.abstract_eval(*avals, **params)
    key = (avals, *params.items()) if params else avals
    try:
        return cache[key]
    except KeyError:
        pass
    except TypeError:  # a third-party parameter that cannot be hashed
        return prim.abstract_eval(*avals, **params)
    if use.begun:
        refuse_references(prim, avals)
    out = prim.abstract_eval(*avals, **params)
    if len(cache) > 4096:
        cache.clear()
    cache[key] = out
    return out


def _clear_abstract_caches() -> None:
    for prim in every_primitive:
        if prim.abstract_cache:
            prim.abstract_cache.clear()


register_cache(_clear_abstract_caches, name="jax._language.primitive.abstract_caches")
