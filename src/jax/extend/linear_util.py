"""Functions wrapped in transformations of their arguments and results, for libraries written in that style.

A transformation is a generator function: it gets the arguments, yields the arguments for the inner function, is sent
the inner result, and yields its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._base.caching import trace_context, weak_cache
from jax._language.jaxpr import DebugInfo, no_debug_info


class StoreException(Exception):
    """An auxiliary output was read before it was there, or written twice."""


class _Store:
    __slots__ = ("value", "full")

    def __init__(self) -> None:
        self.value: Any = None
        self.full = False

    def put(self, value: Any) -> None:
        if self.full and self.value != value:
            raise StoreException("the auxiliary output of a transformed function was written twice")
        self.value, self.full = value, True

    def get(self) -> Any:
        if not self.full:
            raise StoreException("the transformed function has not run yet, so it has no auxiliary output")
        return self.value


class WrappedFun:
    """A function with keyword parameters filled in; ``call_wrapped`` runs it."""

    __slots__ = ("f", "params", "debug_info", "stores", "in_type", "__weakref__")

    def __init__(self, f: Callable[..., Any], params: dict[str, Any] | None = None,
                 debug_info: DebugInfo = no_debug_info, stores: tuple[Any, ...] = ()) -> None:
        self.f = f
        self.params = params or {}
        self.debug_info = debug_info
        self.stores = stores
        self.in_type: tuple[tuple[Any, bool], ...] | None = None

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function through all of its transformations."""
        return self.f(*args, **{**self.params, **kwargs})

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and (self.f, self.params) == (other.f, other.params)

    def __hash__(self) -> int:
        return hash((self.f, tuple(self.params.items())))


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *,
              debug_info: DebugInfo | None = None) -> WrappedFun:
    """A function with no transformations yet."""
    return WrappedFun(f, params, debug_info or no_debug_info)


def annotate(f: WrappedFun, in_type: Any) -> WrappedFun:
    """The function with the types of its arguments: pairs of a type and whether it is passed explicitly, or None."""
    new = WrappedFun(f.f, f.params, f.debug_info, f.stores)
    new.in_type = None if in_type is None else tuple((aval, bool(explicit)) for aval, explicit in in_type)
    return new


def _run(gen: Any, gen_args: Any, fun: WrappedFun, args: Any, kwargs: Any, store: _Store | None) -> Any:
    steps = gen(*gen_args, *args, **kwargs)
    inner_args, inner_kwargs = next(steps)
    out = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
    steps.close()
    if store is None:
        return out
    result, aux = out
    store.put(aux)
    return result


def transformation(gen: Callable[..., Any], fun: Any = None, *gen_args: Any) -> Any:
    """``transformation(gen)(fun, *gen_args)`` is ``fun`` inside the transformation ``gen``."""
    if fun is None:
        return lambda fun, *args: transformation(gen, fun, *args)
    return WrappedFun(lambda *args, **kwargs: _run(gen, gen_args, fun, args, kwargs, None), {}, fun.debug_info,
                      fun.stores)


def transformation_with_aux(gen: Callable[..., Any], fun: Any = None, *gen_args: Any) -> Any:
    """Like :func:`transformation` for generators that yield ``(result, aux)``.

    Returns the function and another one that gives ``aux`` after a run.
    """
    if fun is None:
        return lambda fun, *args: transformation_with_aux(gen, fun, *args)
    store = _Store()
    wrapped = WrappedFun(lambda *args, **kwargs: _run(gen, gen_args, fun, args, kwargs, store), {}, fun.debug_info,
                         (*fun.stores, store))
    return wrapped, store.get


def transformation2(gen: Callable[..., Any], fun: Any = None, *gen_args: Any) -> Any:
    """A transformation written as a plain function ``gen(inner, *gen_args, *args, **kwargs)``."""
    if fun is None:
        return lambda fun, *args: transformation2(gen, fun, *args)
    return WrappedFun(lambda *args, **kwargs: gen(fun.call_wrapped, *gen_args, *args, **kwargs), {}, fun.debug_info,
                      fun.stores)


def transformation_with_aux2(gen: Callable[..., Any], fun: Any = None, *gen_args: Any, use_eq_store: bool = False,
                             unk_names: bool = False) -> Any:
    """:func:`transformation2` with a store: ``gen(inner, store, *gen_args, *args, **kwargs)``."""
    if fun is None:
        return lambda fun, *args: transformation_with_aux2(gen, fun, *args)
    store = _Store()
    wrapped = WrappedFun(lambda *args, **kwargs: gen(fun.call_wrapped, _Writer(store), *gen_args, *args, **kwargs), {},
                         fun.debug_info, (*fun.stores, store))
    return wrapped, store.get


class _Writer:
    """What a function-style transformation stores its auxiliary output with."""

    __slots__ = ("_store",)

    def __init__(self, store: _Store) -> None:
        self._store = store

    def store(self, value: Any) -> None:
        self._store.put(value)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Of two auxiliary outputs, the one that is there: ``(whether it is the first, its value)``.

    Raises:
      StoreException: neither or both are.
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            pass
    if len(found) != 1:
        raise StoreException(f"expected one of two auxiliary outputs, found {len(found)}")
    return found[0]


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """Memoises ``call(wrapped_fun, *args)`` on the function (weakly) and hashable arguments."""
    return weak_cache(call, context=trace_context, explain=explain)
