"""Every cache of the library is made or registered here, so that one call can empty them all.

``cache`` memoises on hashable arguments; ``weak_cache`` holds its first argument (a user's function, usually)
weakly: when the function dies, its entries go. What options a cached result depends on is said where the cache
is made, by ``context``.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from jax._base._jaxlib import trace_context, weakref_lru_cache
from jax._base.settings.diagnostics import explain_cache_misses

F = TypeVar("F", bound=Callable[..., Any])

# Weak, so that caches made inside functions leave the registry when they die.
_caches: weakref.WeakSet[Any] = weakref.WeakSet()
_names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_clearers: dict[str, Callable[[], Any]] = {}


def no_context() -> None:
    """The context of caches that depend on no option."""
    return None


def cache(
    fun: F | None = None, *, maxsize: int | None = None, context: Callable[[], Hashable] | None = None
) -> F:
    """Memoise ``fun`` on its (hashable) arguments; usable bare or with keywords.

    ``context()`` joins the key: pass ``trace_context`` when the result depends on options.
    """
    if fun is None:
        return functools.partial(cache, maxsize=maxsize, context=context)  # type: ignore[return-value]
    if context is None:
        cached = functools.lru_cache(maxsize=maxsize)(fun)
        _caches.add(cached)
        return cached  # type: ignore[return-value]

    @functools.lru_cache(maxsize=maxsize)
    def keyed(_context: Hashable, *args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    @functools.wraps(fun)
    def lookup(*args: Any, **kwargs: Any) -> Any:
        return keyed(context(), *args, **kwargs)

    lookup.cache_clear = keyed.cache_clear  # type: ignore[attr-defined]
    lookup.cache_info = keyed.cache_info  # type: ignore[attr-defined]
    _caches.add(keyed)
    return lookup  # type: ignore[return-value]


def weak_cache(
    fun: F | None = None,
    *,
    context: Callable[[], Hashable] = trace_context,
    maxsize: int | None = 2048,
    explain: Callable[..., Any] | None = None,
) -> F:
    """Memoise ``fun``, holding its first positional argument weakly (and comparing it by ``==``).

    ``context()`` joins the key: by default the options that tracing depends on; ``no_context`` saves half a
    microsecond where no option matters. The result has ``cache_clear``, ``cache_info``, ``cache_keys`` and
    ``evict_weakref(first_argument)``. A value that refers to the first argument keeps it, and so the entry,
    alive.

    On a miss under ``jax_explain_cache_misses``, ``explain(entries, *args, **kwargs)`` is called; each entry is
    ``(weakref, context, args, kwargs)`` of an earlier call, perhaps with another first argument.
    """
    if fun is None:
        return functools.partial(  # type: ignore[return-value]
            weak_cache, context=context, maxsize=maxsize, explain=explain
        )
    explainer = None if explain is None else lambda: explain if explain_cache_misses.value else None
    cached = weakref_lru_cache(context, fun, maxsize, explainer)
    _caches.add(cached)
    _names[cached] = _name_of(fun)
    return cached


def register_cache(clear: Callable[[], Any], *, name: str) -> None:
    """Have ``clear_caches`` call ``clear``. For caches of module lifetime; a name in use gets a number."""
    key, count = name, 1
    while key in _clearers:
        count += 1
        key = f"{name}#{count}"
    _clearers[key] = clear


def cache_names() -> list[str]:
    """Names of the registered caches, for tests and diagnostics."""
    return sorted([*_clearers, *(_names.get(cached) or _name_of(cached) for cached in _caches)])


def clear_caches() -> None:
    """Empty every cache: traces, lowered programs, compiled executables and all derived tables."""
    for cached in list(_caches):
        cached.cache_clear()
    for clear in list(_clearers.values()):
        clear()


def _name_of(fun: Any) -> str:
    return f"{getattr(fun, '__module__', '?')}.{getattr(fun, '__qualname__', type(fun).__name__)}"


__all__ = [
    "cache",
    "cache_names",
    "clear_caches",
    "no_context",
    "register_cache",
    "trace_context",
    "weak_cache",
]
