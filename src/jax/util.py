"""Small helpers that libraries import from here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jax._base.caching import cache as _cache
from jax._base.caching import trace_context


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """``list(map(f, *args))`` for sequences of one length; others raise ``ValueError``."""
    return [f(*xs) for xs in zip(*map(list, args), strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """``list(zip(*args))`` for sequences of one length; others raise ``ValueError``."""
    return list(zip(*map(list, args), strict=True))


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Pairs as a pair of tuples."""
    pairs = list(xys)
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Cuts a list into pieces of the lengths ``ns`` and the rest."""
    out, start = [], 0
    items = list(args)
    for n in ns:
        out.append(items[start:start + n])
        start += n
    return [*out, items[start:]]


def split_list_checked(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Cuts a list into pieces of the lengths ``ns``, which must add up to its length."""
    if sum(ns) != len(args):
        raise ValueError(f"cannot split {len(args)} items into pieces of the lengths {list(ns)}")
    return split_list(args, ns)[:-1]


def split_dict(dct: dict[Any, Any], names: Sequence[Any]) -> list[Any]:
    """The values of a dict in the order of ``names``, which must be its keys."""
    if set(dct) != set(names) or len(names) != len(dct):
        raise ValueError(f"the keys {sorted(map(str, dct))} are not {sorted(map(str, names))}")
    return [dct[n] for n in names]


def split_merge(predicate: Sequence[bool], xs: Sequence[Any]) -> tuple[list[Any], list[Any], Callable[..., list[Any]]]:
    """The items where ``predicate`` is true, the others, and a function that merges two such lists again."""
    yes = [x for p, x in zip(predicate, xs, strict=True) if p]
    no = [x for p, x in zip(predicate, xs, strict=True) if not p]

    def merge(new_yes: Sequence[Any], new_no: Sequence[Any]) -> list[Any]:
        a, b = iter(new_yes), iter(new_no)
        return [next(a) if p else next(b) for p in predicate]
    return yes, no, merge


def subvals(lst: Sequence[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple with items replaced at given positions."""
    out = list(lst)
    for i, v in replace:
        out[i] = v
    return tuple(out)


def toposort(end_nodes: Sequence[Any]) -> list[Any]:
    """Nodes (objects with ``parents``) in an order in which parents come before their children."""
    order: dict[int, Any] = {}
    seen: set[int] = set()
    stack = [(n, False) for n in reversed(list(end_nodes))]
    while stack:
        node, done = stack.pop()
        if done:
            order.setdefault(id(node), node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((p, False) for p in reversed(list(node.parents)))
    return list(order.values())


def wrap_name(name: str, transform_name: str) -> str:
    """``transform(name)``."""
    return f"{transform_name}({name})"


def wraps(wrapped: Callable[..., Any], namestr: str | None = None, docstr: str | None = None, **kwargs: Any) -> Any:
    """``functools.wraps`` with a name and a docstring that may refer to the function as ``{fun}`` and ``{doc}``."""
    def decorate(fun: Any) -> Any:
        fun = functools.wraps(wrapped)(fun)
        name = getattr(wrapped, "__name__", "<unnamed function>")
        doc = getattr(wrapped, "__doc__", "") or ""
        if namestr is not None:
            fun.__name__ = namestr.format(fun=name)
        if docstr is not None:
            fun.__doc__ = docstr.format(fun=name, doc=doc, **kwargs)
        return fun
    return decorate


def cache(max_size: int | None = 4096, trace_context_in_key: bool | Callable[..., Any] = True) -> Callable[..., Any]:
    """A registered ``lru_cache``; with ``trace_context_in_key`` the configuration is part of the key."""
    context = trace_context if trace_context_in_key is True else trace_context_in_key or None
    return _cache(maxsize=max_size, context=context)  # type: ignore[call-overload]


class HashableFunction:
    """A function compared by its code and an explicit closure."""

    __slots__ = ("f", "closure")

    def __init__(self, f: Callable[..., Any], closure: Any) -> None:
        self.f = f
        self.closure = closure

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, HashableFunction) and self.f.__code__ is other.f.__code__
                and self.closure == other.closure)

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))

    def __repr__(self) -> str:
        return f"<hashable {getattr(self.f, '__name__', 'function')} with closure {self.closure!r}>"


def as_hashable_function(closure: Any) -> Callable[..., HashableFunction]:
    """Decorator that makes a :class:`HashableFunction`."""
    return lambda f: HashableFunction(f, closure)
