"""Calls that stay in jaxlib's compiled code: the C++ cache in front of a jitted function.

``make_callable`` wraps a function ``cache_miss(*args, **kwargs)`` that is asked when the C++ cache knows no program
for the types, placements, static values and configuration of the arguments. It answers with a tuple made by
``answer``: the results, and a record by which the next call of the same kind runs without Python.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax._base import config, source
from jax._base._jaxlib import pytree, xla
from jax._base.caching import register_cache
from jax._language.trace import is_bottom

from . import backend, memory, transfer
from .execute import Executable

ArrayImpl = xla.ArrayImpl
register_cache(xla.PjitFunctionCache.clear_all, name="compiled calls")

# One table for all functions: wrapping the same function again in the same way finds what has been compiled.
_table = xla.PjitFunctionCache()
# `clear_all` reaches what callables that are alive have; the table also has what callables that are gone have left.
register_cache(_table.clear, name="compiled calls left behind")
backend.on_clear(_table.clear)

# Programs that allocate so many bytes run long enough for a detour through Python to be nothing.
_LARGE = {"cpu": 16 << 20}
_LARGE_ELSEWHERE = 256 << 20

_LEFT_ALONE = frozenset((ArrayImpl, float, int, bool, complex))
_HOST_ARRAYS = (np.ndarray, np.generic)


class Record(NamedTuple):
    """What the C++ cache keeps for one signature. It reads these attributes by name, and insists on a tuple.

    ``kept_var_bitvec`` covers the constants and then all arguments; the ``in_*`` fields cover the constants and then
    the kept arguments.
    """

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[Any]
    large: bool = False  # ours: see `Guard`


def record(executable: Executable, out_tree: Any, committed: bool) -> Record | None:
    """The record for an executable, or None when calls to it must go through Python (as programs on references do)."""
    if type(executable) is not Executable:
        return None
    if executable.ordered_effects or executable.has_unordered_effects or executable.keepalive or executable.waits:
        return None
    for aval in executable.out_avals:
        # Results of extended dtypes, and of float0, are made in Python.
        dtype = getattr(aval, "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype == dtypes.float0:
            return None
    consts = executable.consts
    n = len(executable.out_avals)
    here = executable.in_token_sharding()
    shardings = [*((c._sharding if executable.spread else here) for c in consts), *executable.in_shardings]
    taken = set(executable.kept)
    return Record(
        xla_executable=executable.loaded,
        out_pytree_def=out_tree,
        in_shardings=shardings,
        out_shardings=list(executable.out_shardings),
        out_avals=list(executable.out_avals),
        out_committed=[committed] * n,
        kept_var_bitvec=[*(True for _ in consts), *(i in taken for i in range(len(executable.in_avals)))],
        in_device_local_layouts=[None] * len(shardings),
        const_args=consts,
        large=executable.new_bytes() >= _LARGE.get(executable.device.platform, _LARGE_ELSEWHERE),
    )


def may_stay_in_cpp(flat_args: Sequence[Any]) -> bool:
    """Whether calls with arguments of these types can be left to C++.

    No, if one is an object that C++ does not know (typed keys, references, ``__jax_array__``), or a NumPy array
    (see :class:`_HostArguments`).
    """
    for x in flat_args:
        cls = type(x)
        if cls in _LEFT_ALONE:
            continue
        if isinstance(x, _HOST_ARRAYS) or isinstance(x, xla.Array) or cls in transfer.put_handlers:
            return False
        if not isinstance(x, (int, float, complex)):
            return False
    return True


def answer(out: Any, executable: Executable | None = None, out_tree: Any = None, flat_args: Sequence[Any] = (),
           committed: bool = False, forget: bool = False) -> tuple[Any, Record | None, bool]:
    """What ``cache_miss`` returns: ``(result, record or None, whether to forget this signature)``.

    Args:
      out: the result of the call, a tree.
      executable: the program that was run, when it may be run again without Python.
      out_tree: tree definition of the result.
      flat_args: the leaves of the dynamic arguments, in order.
      committed: whether the results are tied to their devices.
      forget: keep nothing for this signature, so that not even its absence is remembered.
    """
    if executable is None or config.debug_nans.value or config.debug_infs.value or not may_stay_in_cpp(flat_args):
        return out, None, forget
    return out, record(executable, out_tree, committed), forget


def make_callable(name: str, fun: Callable[..., Any], cache_miss: Callable[..., tuple[Any, Any, bool]], *,
                  static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
                  cache_key: Any = None, registry: Any = None) -> Any:
    """The jitted function that users call: jaxlib's ``PjitFunction``.

    Args:
      name: shown in its repr and in profiles.
      fun: the Python function; the C++ cache entries live as long as it does.
      cache_miss: see the module's text. It gets the arguments of the call, static ones included.
      static_argnums: non-negative positions of static arguments.
      static_argnames: names of static arguments.
      cache_key: hashable; functions with equal ``fun`` and ``cache_key`` share entries. By default none are shared.
      registry: of pytree node types; the default one if None.
    """
    key = object() if cache_key is None else cache_key
    tree_registry = pytree.default_registry() if registry is None else registry
    numbers, names = tuple(static_argnums), tuple(static_argnames)

    def call_through(miss: Callable[..., Any], cache_key: Any = key) -> Any:
        return xla.pjit(name, fun, miss, numbers, names, cache_key, tree_registry, transfer.shard_arg_fallback, _table)

    guard = Guard(cache_miss, lambda miss: call_through(miss, (key, "guarded")))
    host = _HostArguments(call_through, guard, frozenset(numbers), frozenset(names), tree_registry)
    made = call_through(host.miss)
    made.forget_guarded = guard.forget
    return made


class Guard:
    """Runs large programs so that it is Python that sees them run out of memory, and can say who holds it.

    C++ raises what XLA says. So it is told to ask Python at each call of a large program, and Python calls through C++
    again. The program is tried once more, through the path that explains errors, after garbage has been collected.
    """

    __slots__ = ("_cache_miss", "_make", "_call", "_local")

    def __init__(self, cache_miss: Callable[..., tuple[Any, Any, bool]], make: Callable[[Callable[..., Any]], Any]) -> None:
        self._cache_miss = cache_miss
        self._make = make
        self._call: Any = None  # this and the next are made when there is a large program
        self._local: Any = None

    def forget(self) -> None:
        """Drops what C++ remembers of large programs."""
        if self._call is not None:
            self._call._clear_cache()

    def active(self) -> bool:
        """Whether there is a large program."""
        return self._call is not None

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Answers a C++ cache that knows nothing of these arguments, or that shall always ask."""
        if self._call is None or not is_bottom():
            return self._first(*args, **kwargs)
        local = self._local
        local.record = None
        try:
            out = self._call(*args, **kwargs)
        except (xla.JaxRuntimeError, ValueError) as error:
            if not memory.is_exhausted(error) or _any_deleted(args, kwargs):
                raise
            out = self
        if out is self:
            gc.collect()
            return self._cache_miss(*args, **kwargs)[0], None, False
        # Another signature of the same function: a small program may stay in C++.
        found = local.record
        return out, None if found is None or found.large else found, False

    def _first(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        out, found, forget = self._cache_miss(*args, **kwargs)
        if found is not None and found.large:
            if self._call is None:
                self._local = threading.local()
                self._call = self._make(self._remember)
            found = None
        return out, found, forget

    def _remember(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        answered = self._cache_miss(*args, **kwargs)
        self._local.record = answered[1]
        return answered


def _any_deleted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(type(x) is ArrayImpl and x.is_deleted() for x in pytree.default_registry().flatten((args, kwargs))[0])


def _is_host_array(x: Any) -> bool:
    return isinstance(x, _HOST_ARRAYS) and x.dtype != dtypes.float0


class _HostArguments:
    """Puts NumPy arguments on the device by itself, and then calls through C++ again.

    Left to C++, a NumPy array is read, or even shared, while the program runs in the background: writing to it after
    the call would change what has been computed. Besides, C++ narrows 64-bit integers without looking at them. Both
    kinds of call have the signatures of harmless ones, so that all that have NumPy arguments come here. They cost
    about twice what a call with arrays costs.
    """

    __slots__ = ("_call_through", "_guard", "_call", "_numbers", "_names", "_registry")

    def __init__(self, call_through: Callable[[Callable[..., Any]], Any], guard: Guard,
                 numbers: frozenset[int], names: frozenset[str], registry: Any) -> None:
        self._call_through = call_through
        self._guard = guard
        self._call: Any = None
        self._numbers = numbers
        self._names = names
        self._registry = registry

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Answers the outer C++ cache."""
        try:
            if is_bottom():
                moved = self._moved_arguments(args, kwargs)
                if moved is not None:
                    if self._call is None:
                        self._call = self._call_through(self._guard.miss)
                    return self._call(*moved[0], **moved[1]), None, False
            return self._guard.miss(*args, **kwargs)
        except Exception as error:
            source.filter_traceback(error)  # C++ has no frames of its own: this one is next to the caller's
            raise

    def _moved_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        try:
            return self._on_device(args, kwargs)
        except (OverflowError, TypeError, ValueError):
            return None  # the error is raised where the argument's name is known

    def _on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """The arguments with arrays instead of NumPy arrays; None if there are none of these."""
        moved: list[Any] | None = None
        if self._guard.active() and _LEFT_ALONE.issuperset(map(type, self._registry.flatten((args, kwargs))[0])):
            return None  # a large program that C++ always asks about: this is the quickest way to see that it has none
        for i, x in enumerate(args):
            if type(x) in _LEFT_ALONE or i in self._numbers:
                continue
            y = self._moved(x)
            if y is not x:
                if moved is None:
                    moved = list(args)
                moved[i] = y
        if not kwargs:
            return None if moved is None else (moved, kwargs)
        named = {k: x if k in self._names else self._moved(x) for k, x in kwargs.items()}
        if moved is None and all(named[k] is x for k, x in kwargs.items()):
            return None
        return args if moved is None else moved, named

    def _moved(self, x: Any) -> Any:
        """``x`` with arrays instead of NumPy arrays; ``x`` itself if it has none."""
        if _is_host_array(x):
            return transfer.to_device(x)
        leaves, tree = self._registry.flatten(x)
        hosts = [i for i, leaf in enumerate(leaves) if _is_host_array(leaf)]
        if not hosts:
            return x
        for i in hosts:
            leaves[i] = transfer.to_device(leaves[i])
        return tree.unflatten(leaves)
