"""``jit``: functions traced once per argument types and run as compiled programs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax import stages
from jax._api.common import FlatFun, arg_names, check_callable, check_leaf_types
from jax._api.jit_primitive import bind_jit, call_params
from jax._base import _jaxlib, config
from jax._base import source as source_info
from jax._base.caching import trace_context, weak_cache
from jax._base.source import api_boundary
from jax._dispatch import checks
from jax._dispatch.program import executable_for
from jax._language.avals import ShapedArray, typeof
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer, is_bottom
from jax._runtime import fastpath
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten


class Options(NamedTuple):
    """What a call of ``jit`` was told, normalised once."""

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    keep_unused: bool
    inline: bool
    device: Any
    compiler_options: tuple[tuple[str, Any], ...]


UNSPECIFIED: Any = None


def jit(fun: Callable[..., Any] | None = None, /, *, in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED,
        static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool = False,
        compiler_options: dict[str, Any] | None = None) -> Any:
    """Compiles ``fun`` with XLA, once for each combination of argument types, and runs the compiled program.

    Args:
      fun: a pure function of trees of arrays. Without it, ``jit(**options)`` is a decorator.
      in_shardings: where the arguments live: one device or sharding for all of them, or a tree of such; ``None`` takes
        them where they are.
      out_shardings: likewise for the outputs.
      static_argnums: positions of arguments that are Python values, part of the program: hashable, compared by ``==``,
        each new value is a new compilation.
      static_argnames: names of such arguments. Either of the two is completed from the signature of ``fun``.
      donate_argnums: positions of arguments whose memory the program may reuse for its outputs; they cannot be used
        afterwards.
      donate_argnames: names of such arguments.
      keep_unused: pass arguments that the program does not read (by default they are dropped).
      device: the device to run on (deprecated; place the arguments with ``jax.device_put``).
      backend: the platform to run on, like ``"cpu"`` (deprecated likewise).
      inline: dissolve the function in the programs of enclosing jitted functions.
      compiler_options: options for XLA, by name.

    Returns:
      The compiled function, with ``lower``, ``trace``, ``eval_shape`` and ``clear_cache``.

    Raises:
      TypeError: an argument that is no array and not static, or an output that is none.
      ValueError: an unhashable static argument.

    >>> import jax
    >>> float(jax.jit(lambda x: x * 2)(4.0))
    8.0
    """
    if fun is None:
        return functools.partial(
            jit, in_shardings=in_shardings, out_shardings=out_shardings, static_argnums=static_argnums,
            static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            keep_unused=keep_unused, device=device, backend=backend, inline=inline, compiler_options=compiler_options)
    check_callable(fun, "jit")
    if device is not None and backend is not None:
        raise ValueError(f"jit takes a device or a backend, not both; got device={device!r} and backend={backend!r}")
    signature = _signature(fun)
    nums, names = _complete("static", signature, static_argnums, static_argnames)
    d_nums, d_names = _complete("donate", signature, donate_argnums, donate_argnames)
    both = set(nums) & set(d_nums) | set(names) & set(d_names)
    if both:
        raise ValueError(f"jit: static arguments cannot be donated: {sorted(map(str, both))}")
    place = _placement(device, backend, in_shardings, out_shardings)
    options = Options(nums, names, d_nums, d_names, bool(keep_unused), bool(inline), place,
                      tuple(sorted((compiler_options or {}).items())))
    return _wrap(fun, options)


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None


def _complete(kind: str, signature: inspect.Signature | None, argnums: Any, argnames: Any,
              ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments, each completed from the other by the signature."""
    nums = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for n in nums:
        if not hasattr(n, "__index__"):
            raise TypeError(f"jit: {kind}_argnums must be integers, got {n!r}")
    for s in names:
        if not isinstance(s, str):
            raise TypeError(f"jit: {kind}_argnames must be strings, got {s!r}")
    if signature is None:
        return nums, names
    params = list(signature.parameters.values())
    positional = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    var_args = any(p.kind is p.VAR_POSITIONAL for p in params)
    var_kwargs = any(p.kind is p.VAR_KEYWORD for p in params)
    if not var_args:
        for n in nums:
            if not -len(positional) <= n < len(positional):
                raise ValueError(f"jit: {kind}_argnums contains {n}, but the function takes {len(positional)} "
                                 f"positional arguments: {signature}")
        nums = tuple(n % len(positional) for n in nums)
    if not var_kwargs:
        known = {p.name for p in params}
        for s in names:
            if s not in known:
                raise ValueError(f"jit: {kind}_argnames contains {s!r}, which is no argument of the function: {signature}")
    by_keyword = {p.name for p in params if p.kind is p.POSITIONAL_OR_KEYWORD}
    if argnums is None:
        nums = tuple(i for i, s in enumerate(positional) if s in names)
    if argnames is None:
        names = tuple(positional[n] for n in nums if 0 <= n < len(positional) and positional[n] in by_keyword)
    return nums, names


def _placement(device: Any, backend: Any, in_shardings: Any, out_shardings: Any) -> Any:
    from jax._runtime import backend as backends  # a device is looked up only where one was asked for
    if backend is not None:
        return backends.devices(backend)[0]
    if device is not None:
        return device
    found = set()
    for s in tree_flatten((in_shardings, out_shardings))[0]:
        devices = [s] if isinstance(s, _jaxlib.Device) else list(getattr(s, "device_set", ()))
        if len(devices) != 1:
            raise NotImplementedError(f"jit: shardings over {len(devices)} devices are not supported yet; use a "
                                      f"SingleDeviceSharding, got {s!r}")
        found.add(devices[0])
    if len(found) > 1:
        raise ValueError(f"jit: in_shardings and out_shardings name several devices: {found}")
    return found.pop() if found else None


# --- the wrapped function -------------------------------------------------------------------------------------------

def _wrap(fun: Callable[..., Any], options: Options) -> Any:
    @api_boundary
    def cache_miss(*args: Any, **kwargs: Any) -> Any:
        return _call(fun, options, args, kwargs)

    name = getattr(fun, "__name__", "<unnamed wrapped function>")
    compiled = fastpath.make_callable(name, fun, cache_miss, static_argnums=options.static_argnums,
                                      static_argnames=options.static_argnames, cache_key=options)
    wrapped = compiled
    if options.static_argnums or options.static_argnames:
        wrapped = _explaining_statics(compiled, fun, options)
    _copy_metadata(wrapped, fun)
    wrapped.lower = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs).lower())
    wrapped.trace = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs))
    wrapped.eval_shape = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs).out_info)
    wrapped.clear_cache = lambda: _clear(compiled, fun)
    wrapped._cache_size = compiled._cache_size
    wrapped.in_cpp = compiled  # for library code, whose static arguments are known to be hashable
    return wrapped


def _explaining_statics(compiled: Any, fun: Any, options: Options) -> Callable[..., Any]:
    """``compiled`` with our message for unhashable static arguments, which jaxlib would refuse without a name."""
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return compiled(*args, **kwargs)
        except ValueError as err:
            if "Non-hashable static arguments" not in str(err):
                raise
            _explain_unhashable(options, args, kwargs, fun, err)
    return call


def _explain_unhashable(options: Options, args: Any, kwargs: Any, fun: Any, err: ValueError) -> None:
    try:
        split_static(options, args, kwargs, fun)
    except ValueError as better:
        source_info.filter_traceback(better)
        raise better from None
    raise err


def _copy_metadata(wrapped: Any, fun: Any) -> None:
    for attr in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        try:
            setattr(wrapped, attr, getattr(fun, attr))
        except AttributeError:
            pass
    wrapped.__wrapped__ = fun


def _clear(wrapped: Any, fun: Any) -> None:
    wrapped._clear_cache()
    _trace_cached.evict_weakref(fun)


class Call(NamedTuple):
    """A call of a jitted function, traced: what runs it, and on what."""

    jaxpr: ClosedJaxpr
    operands: list[Any]
    leaves: list[Any]
    in_tree: Any
    out_tree: Any
    donated: tuple[bool, ...]
    name: str


def _call(fun: Any, options: Options, args: Any, kwargs: Any) -> Any:
    if config.disable_jit.value:
        return fun(*args, **kwargs), None, True
    call = prepare(fun, options, args, kwargs)
    params = jit_params(call, options)
    if not is_bottom() or any(isinstance(x, Tracer) for x in call.operands):
        outs = bind_jit(*call.operands, **params)
        return tree_unflatten(call.out_tree, outs), None, False
    executable, committed = executable_for(call.operands, **params)
    try:
        outs = executable.call(call.operands, committed)
        if checks.enabled():
            checks.check_results(outs, f"jit of {call.name}", call.jaxpr, call.operands)
    except TypeError as err:
        check_leaf_types(call.leaves, call.in_tree, "argument ", f"jit of {call.name}")
        raise err
    out = tree_unflatten(call.out_tree, outs)
    if len(call.operands) != len(call.leaves):
        return out, None, False
    return fastpath.answer(out, executable, call.out_tree, call.leaves, committed)


def jit_params(call: Call, options: Options) -> dict[str, Any]:
    params = call_params(call.jaxpr, call.name, {
        "inline": options.inline, "keep_unused": options.keep_unused, "device": options.device,
        "compiler_options": options.compiler_options})
    if any(call.donated):
        params["donated_invars"] = call.donated
    return params


def prepare(fun: Any, options: Options, args: Any, kwargs: Any, *, abstract: bool = False) -> Call:
    """Flattens a call and traces it (from the cache if its types have been seen)."""
    static, dyn_args, dyn_kwargs = split_static(options, args, kwargs, fun)
    leaves, in_tree = tree_flatten((dyn_args, dyn_kwargs))
    operands = leaves
    for x in leaves:
        if hasattr(type(x), "__jax_array__"):  # objects that stand for an array
            operands = [x.__jax_array__() if hasattr(type(x), "__jax_array__") else x for x in leaves]
            break
    try:
        avals = tuple([typeof(x) for x in operands])
    except TypeError:
        avals = tuple([_abstract_leaf(x, abstract) for x in operands])
        if not abstract or None in avals:
            _explain_bad_argument(fun, leaves, in_tree, abstract)
    traced: Any = _trace_cached(fun, in_tree, avals, static, axis_env.get(), options.inline)
    jaxpr, consts, out_tree = traced
    name = getattr(fun, "__name__", "<unnamed function>")
    donated = donation(options, in_tree, static)
    if consts:
        donated = (*(False,) * len(consts), *donated)
        return Call(jaxpr, [*consts, *operands], leaves, in_tree, out_tree, donated, name)
    return Call(jaxpr, operands, leaves, in_tree, out_tree, donated, name)


def _abstract_leaf(x: Any, allowed: bool) -> Any:
    """The type of an argument, or ``None``; with ``allowed``, anything with a shape and a dtype has one."""
    try:
        return typeof(x)
    except TypeError:
        if allowed and hasattr(x, "shape") and hasattr(x, "dtype"):
            return ShapedArray(x.shape, x.dtype, bool(getattr(x, "weak_type", False)))
        return None


def _explain_bad_argument(fun: Any, leaves: Any, in_tree: Any, abstract: bool) -> None:
    names = arg_names(fun, in_tree)
    for x, name in zip(leaves, names, strict=True):
        if _abstract_leaf(x, abstract) is None:
            raise TypeError(
                f"jit of {getattr(fun, '__name__', fun)}: the argument {name} has the value {_brief(x)} of type "
                f"{type(x).__name__}, which is no array, scalar or tree of them. If it is a setting and not data, mark "
                "it with static_argnums or static_argnames; otherwise convert it to an array.")


def _brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


# --- static and donated arguments -----------------------------------------------------------------------------------

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
            f"{type(value).__name__} (value {_brief(value)}). Static arguments are part of the compiled program's key "
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


# --- tracing --------------------------------------------------------------------------------------------------------

@weak_cache(context=trace_context)
def _trace_cached(fun: Any, in_tree: Any, avals: tuple[Any, ...], static: Static, env: Any, inline: bool,
                  ) -> tuple[ClosedJaxpr, list[Any], Any]:
    """The jaxpr of a call, the enclosing tracers it closes over (its leading arguments), and the output's tree."""
    target = _StaticFun(fun, static) if static.args or static.kwargs else fun
    flat = FlatFun(target, in_tree)
    info = DebugInfo("jit", functools.partial(source_info.describe_function, fun),
                     functools.partial(_names_with_static, fun, in_tree, static))
    try:
        jaxpr, consts = trace_to_jaxpr(flat, avals, info)
    except TypeError:
        _explain_bad_output(fun, flat)
        raise
    jaxpr, consts, tracers = hoist_tracers(jaxpr, consts)
    return ClosedJaxpr(jaxpr, consts), tracers, flat.out_tree


def hoist_tracers(jaxpr: Any, consts: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Makes the constants that are tracers leading arguments of the jaxpr; returns these and the constants left."""
    if not any(isinstance(c, Tracer) for c in consts):
        return jaxpr, consts, []
    pairs = list(zip(jaxpr.constvars, consts, strict=True))
    moved = [(v, c) for v, c in pairs if isinstance(c, Tracer)]
    kept = [(v, c) for v, c in pairs if not isinstance(c, Tracer)]
    info = jaxpr.debug_info
    names = info.arg_names
    if names is not None:
        info = info._replace(arg_names=lambda: (*(f"closed-over value {i}" for i in range(len(moved))),
                                                *(names() if callable(names) else names)))
    jaxpr = jaxpr.replace(constvars=[v for v, _ in kept], invars=[*(v for v, _ in moved), *jaxpr.invars],
                          effects=jaxpr.effects, debug_info=info)
    return jaxpr, [c for _, c in kept], [c for _, c in moved]


class _StaticFun:
    """``fun`` with its static arguments filled in."""

    __slots__ = ("fun", "static")

    def __init__(self, fun: Any, static: Static) -> None:
        self.fun = fun
        self.static = static

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = merge_static(self.static, args, kwargs)  # type: ignore[assignment]
        return self.fun(*args, **kwargs)


def _names_with_static(fun: Any, in_tree: Any, static: Static) -> tuple[str, ...]:
    if not static.args:
        return arg_names(fun, in_tree)
    dyn = tree_unflatten(in_tree, [None] * in_tree.num_leaves)
    try:
        names = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        names = []
    taken = {i for i, _ in static.args}
    left = [names[i] if i < len(names) else f"args[{i}]" for i in range(static.num_args) if i not in taken]
    out = []
    numbered = tree_unflatten(in_tree, list(range(in_tree.num_leaves)))
    for path, _ in tree_flatten_with_path(numbered)[0]:
        head = left[path[1].idx] if path[0].idx == 0 else str(path[1].key)
        out.append(head + keystr(path[2:]))
    del dyn
    return tuple(out)


def _explain_bad_output(fun: Any, flat: FlatFun) -> None:
    """If tracing failed because an output is no array, says which one."""
    if flat.out_tree is None or flat.last_out is None:
        return
    for (path, _), x in zip(tree_flatten_with_path(tree_unflatten(
            flat.out_tree, list(range(flat.out_tree.num_leaves))))[0], flat.last_out, strict=True):
        if _abstract_leaf(x, False) is None:
            raise TypeError(
                f"jit of {getattr(fun, '__name__', fun)}: the function returned {_brief(x)} of type "
                f"{type(x).__name__}{f' at {keystr(path)}' if path else ''}, which is no array, scalar or tree of them") \
                from None


def _trace(fun: Any, options: Options, args: Any, kwargs: Any) -> stages.Traced:
    call = prepare(fun, options, args, kwargs, abstract=True)
    return stages.Traced(jit_params(call, options), call.in_tree, call.out_tree,
                         [x for x in call.operands[:len(call.operands) - len(call.leaves)]], call.name)
