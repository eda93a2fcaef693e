"""Options of a jitted function, and its static and donated arguments."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from jax._api.common import signature as user_signature


class Inline(enum.Enum):
    """How a jitted function is called from another one; ``jit(f, inline=...)``.

    ``JAX_EARLY`` (and ``True``) dissolves it while the caller is traced, ``JAX_LATE`` when the caller is lowered.
    ``XLA_EARLY`` and ``XLA_LATE`` leave that to the compiler and say when; ``AUTO`` (and ``False``) leaves it altogether.

    >>> import jax
    >>> f = jax.jit(lambda x: x + 1, inline=jax.Inline.JAX_EARLY)
    >>> "jit" in str(jax.make_jaxpr(lambda x: f(x) * 2)(1.0))
    False
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def inline_mode(inline: Any) -> bool | Inline:
    """What ``jit`` was told about inlining, with one form for each meaning.

    Raises:
      TypeError: neither a bool nor an :class:`Inline`.
    """
    if isinstance(inline, Inline):
        return {Inline.JAX_EARLY: True, Inline.AUTO: False}.get(inline, inline)
    if not isinstance(inline, (bool, int)):
        raise TypeError(f"jit: inline is a bool or a jax.Inline, got {inline!r} of type {type(inline).__name__}")
    return bool(inline)


class Placed:
    """Where arguments and results of a jitted function are laid out over several devices; hashable.

    ``trace(fun, in_tree, avals, static)`` is the traced call: its jaxpr, the enclosing tracers that it closes over, the
    structure of its result, and the place where it runs.
    """

    __slots__ = ()

    def trace(self, fun: Any, in_tree: Any, avals: Any, static: Any) -> tuple[Any, list[Any], Any, Any]:
        raise NotImplementedError

    def forget(self, fun: Any) -> None:
        """Drops the traces of ``fun``."""

    def admit(self, fun: Any, in_tree: Any, operands: list[Any]) -> None:
        """Raises ValueError for arguments that live where the call does not run."""


class Options(NamedTuple):
    """What a call of ``jit`` was told, normalised once."""

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    keep_unused: bool
    inline: bool | Inline
    device: Any
    compiler_options: tuple[tuple[str, Any], ...]


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return user_signature(fun)
    except (TypeError, ValueError):
        return None


def complete_names(kind: str, signature: inspect.Signature | None, argnums: Any, argnames: Any,
                   api: str = "jit") -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments, each completed from the other by the signature."""
    nums = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    try:
        names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    except TypeError:
        raise TypeError(f"{api}: {kind}_argnames must be a string or a sequence of strings, got {argnames!r}") from None
    for n in nums:
        if not hasattr(n, "__index__"):
            raise TypeError(f"{api}: {kind}_argnums must be integers, got {n!r}")
    for s in names:
        if not isinstance(s, str):
            raise TypeError(f"{api}: {kind}_argnames must be strings, got {s!r}")
    if signature is None:
        return nums, names
    params = list(signature.parameters.values())
    positional = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    var_args = any(p.kind is p.VAR_POSITIONAL for p in params)
    var_kwargs = any(p.kind is p.VAR_KEYWORD for p in params)
    if not var_args:
        for n in nums:
            if not -len(positional) <= n < len(positional):
                raise ValueError(f"{api}: {kind}_argnums contains {n}, but the function takes {len(positional)} "
                                 f"positional arguments: {signature}")
        nums = tuple(n % len(positional) for n in nums)
    if not var_kwargs:
        known = {p.name for p in params}
        for s in names:
            if s not in known:
                raise ValueError(f"{api}: {kind}_argnames contains {s!r}, which is no argument of the function: {signature}")
    by_keyword = {p.name for p in params if p.kind is p.POSITIONAL_OR_KEYWORD}
    if argnums is None:
        nums = tuple(i for i, s in enumerate(positional) if s in names)
    if argnames is None:
        names = tuple(positional[n] for n in nums if 0 <= n < len(positional) and positional[n] in by_keyword)
    return nums, names


def brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


class Static(NamedTuple):
    """The static part of a call: positions and values, names and values, and the types of the values."""

    args: tuple[tuple[int, Any], ...]
    kwargs: tuple[tuple[str, Any], ...]
    types: tuple[type, ...]
    num_args: int


def split_static(options: Options, args: Any, kwargs: Any, fun: Any, hashable: bool = True) -> tuple[Static, Any, Any]:
    """The static arguments, which must be ``hashable`` unless nothing is remembered by them, and the others."""
    if not options.static_argnums and not options.static_argnames:
        return Static((), (), (), len(args)), args, kwargs
    n = len(args)
    nums = {i % n if i < 0 else i for i in options.static_argnums if -n <= i < n}
    static_args = tuple((i, args[i]) for i in sorted(nums))
    static_kwargs = tuple(sorted((k, v) for k, v in kwargs.items() if k in options.static_argnames))
    values = [v for _, v in static_args] + [v for _, v in static_kwargs]
    if hashable:
        for where, v in (*static_args, *static_kwargs):
            _check_static(where, v, fun)
    dyn_args = tuple(x for i, x in enumerate(args) if i not in nums) if nums else args
    dyn_kwargs = {k: v for k, v in kwargs.items() if k not in options.static_argnames}
    return Static(static_args, static_kwargs, tuple(map(type, values)), n), dyn_args, dyn_kwargs


def _check_static(where: int | str, value: Any, fun: Any) -> None:
    try:
        hash(value)
    except TypeError:
        what = f"at position {where}" if isinstance(where, int) else f"named {where!r}"
        hint = "Arrays are data: pass them as ordinary arguments." if hasattr(value, "shape") else \
            "Pass a tuple instead of a list, or give the type __hash__ and __eq__."
        raise ValueError(
            f"jit of {getattr(fun, '__name__', fun)}: the static argument {what} has the unhashable type "
            f"{type(value).__name__} (value {brief(value)}). Static arguments are part of the compiled program's key "
            f"and must be hashable. {hint}") from None


def merge_static(static: Static, dyn_args: Any, dyn_kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    if not static.args and not static.kwargs:
        return dyn_args, dyn_kwargs
    rest = iter(dyn_args)
    at = dict(static.args)
    args = [at[i] if i in at else next(rest) for i in range(static.num_args)]
    return args, {**dyn_kwargs, **dict(static.kwargs)}


def donation(options: Options, in_tree: Any, static: Static) -> tuple[bool, ...]:
    """For each leaf of the dynamic arguments whether its memory may be reused."""
    if not options.donate_argnums and not options.donate_argnames:
        return (False,) * in_tree.num_leaves
    args_tree, kwargs_tree = in_tree.children()
    static_nums = {i for i, _ in static.args}
    dynamic = [i for i in range(static.num_args) if i not in static_nums]
    n = static.num_args
    wanted = {i % n if i < 0 else i for i in options.donate_argnums if i < n}
    out: list[bool] = []
    for i, child in zip(dynamic, args_tree.children(), strict=True):
        out.extend([i in wanted] * child.num_leaves)
    keys = kwargs_tree.node_data()[1] if kwargs_tree.num_leaves or kwargs_tree.children() else []
    for k, child in zip(keys, kwargs_tree.children(), strict=True):
        out.extend([k in options.donate_argnames] * child.num_leaves)
    return tuple(out)


class StaticFun:
    """``fun`` with its static arguments filled in."""

    __slots__ = ("fun", "static")

    def __init__(self, fun: Any, static: Static) -> None:
        self.fun = fun
        self.static = static

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = merge_static(self.static, args, kwargs)  # type: ignore[assignment]
        return self.fun(*args, **kwargs)
