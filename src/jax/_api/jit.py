"""``jit``: functions traced once per argument types and run as compiled programs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jax import stages
from jax._api.common import Described, check_callable, check_leaf_types
from jax._api.jit_primitive import bind_jit, call_params
from jax._api.statics import Options, Placed, complete_names, donation, inline_mode, signature_of, split_static
from jax._api.traced_calls import Call, prepare, trace_cached
from jax._base import config
from jax._base import source as source_info
from jax._base.source import api_boundary
from jax._dispatch import checks, spread
from jax._dispatch.program import executable_for
from jax._language.trace import Tracer, is_bottom
from jax._runtime import backend as backends
from jax._runtime import donations, fastpath
from jax.errors import JaxRuntimeError
from jax.tree_util import tree_flatten, tree_unflatten

UNSPECIFIED: Any = None


class _NoFunction:
    def __repr__(self) -> str:
        return "NO_FUNCTION"


NO_FUNCTION: Any = _NoFunction()


def jit(fun: Callable[..., Any] = NO_FUNCTION, /, *, in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED,
        static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: Any = False,
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
      inline: dissolve the function in the programs of enclosing jitted functions; :class:`jax.Inline` says when.
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
    if fun is NO_FUNCTION:
        return functools.partial(
            jit, in_shardings=in_shardings, out_shardings=out_shardings, static_argnums=static_argnums,
            static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            keep_unused=keep_unused, device=device, backend=backend, inline=inline, compiler_options=compiler_options)
    check_callable(fun, "jit")
    if device is not None and backend is not None:
        raise ValueError(f"jit takes a device or a backend, not both; got device={device!r} and backend={backend!r}")
    signature = signature_of(fun)
    nums, names = complete_names("static", signature, static_argnums, static_argnames)
    d_nums, d_names = complete_names("donate", signature, donate_argnums, donate_argnames)
    both = set(nums) & set(d_nums) | set(names) & set(d_names)
    if both:
        raise ValueError(f"jit: static arguments cannot be donated: {sorted(map(str, both))}")
    place = _placement(device, backend, in_shardings, out_shardings)
    options = Options(nums, names, d_nums, d_names, bool(keep_unused), inline_mode(inline), place,
                      _checked_options(compiler_options))
    return _wrap(fun, options)


def _checked_options(given: Any) -> tuple[tuple[str, Any], ...]:
    """``compiler_options`` as a key; whether XLA knows them is found out when it compiles."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise TypeError(f"jit: compiler_options is a dict from names to values, got {given!r} of type "
                        f"{type(given).__name__}")
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"jit: compiler_options has the key {name!r}; options are named by strings")
        if not isinstance(value, (str, bool, int, float, np.generic)):
            raise TypeError(f"jit: the compiler option {name} has the value {value!r} of type {type(value).__name__}; "
                            "options are strings, booleans, integers or floats")
    return tuple(sorted(given.items()))


def _placement(device: Any, backend: Any, in_shardings: Any, out_shardings: Any) -> Any:
    if device is not None or backend is not None:
        if in_shardings is not None or out_shardings is not None:
            raise ValueError("jit takes either a device or backend, or in_shardings and out_shardings; with these, a "
                             "SingleDeviceSharding names one device")
        warnings.warn("jit: the arguments device and backend are deprecated; place the arguments of the function with "
                      "jax.device_put(x, device)", DeprecationWarning, stacklevel=3)
        return device if device is not None else backends.local_devices(backend=backend)[0]
    if in_shardings is None and out_shardings is None:
        return None
    from jax._api.placed_calls import sharding_options  # few functions are given shardings
    return sharding_options(in_shardings, out_shardings)


# --- the wrapped function -------------------------------------------------------------------------------------------

def answered_early(fun: Callable[..., Any], static_argnums: tuple[int, ...], early: Callable[..., Any]) -> Any:
    """``jit(fun)`` for library code, called in C++. At first ``early`` is asked for the result of a call on concrete arrays.

    Where it returns None, the function is compiled, and then the program answers such calls.
    """
    options = Options(static_argnums, (), (), (), False, True, None, ())

    @api_boundary
    def cache_miss(*args: Any) -> Any:
        out = early(*args) if is_bottom() else None
        return _call(fun, options, args, {}) if out is None else (out, None, True)

    return fastpath.make_callable(fun.__name__, fun, cache_miss, static_argnums=static_argnums, cache_key=(options, early))


def _wrap(fun: Callable[..., Any], options: Options) -> Any:
    @api_boundary
    def cache_miss(*args: Any, **kwargs: Any) -> Any:
        return _call(fun, options, args, kwargs)

    name = getattr(fun, "__name__", "<unnamed wrapped function>")
    compiled = fastpath.make_callable(name, fun, cache_miss, static_argnums=options.static_argnums,
                                      static_argnames=options.static_argnames, cache_key=options)
    wrapped = compiled
    if options.static_argnums or options.static_argnames or options.donate_argnums or options.donate_argnames:
        wrapped = _explaining(compiled, fun, options)
    _copy_metadata(wrapped, fun)
    wrapped.lower = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs).lower())
    wrapped.trace = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs))
    wrapped.eval_shape = api_boundary(lambda *args, **kwargs: _trace(fun, options, args, kwargs).out_info)
    wrapped.clear_cache = lambda: _clear(compiled, fun, options.device)
    if wrapped is not compiled:
        # Not the bound method, which the garbage collector cannot see through.
        wrapped._cache_size = lambda: compiled._cache_size()
    wrapped.in_cpp = compiled  # for library code, whose static arguments are known to be hashable
    return wrapped


def _explaining(compiled: Any, fun: Any, options: Options) -> Callable[..., Any]:
    """``compiled`` with our messages for what jaxlib refuses without a name: unhashable static arguments, and arguments
    whose memory has been given away."""
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return compiled(*args, **kwargs)
        except (ValueError, JaxRuntimeError) as err:
            if "Non-hashable static arguments" in str(err):
                _explain_unhashable(options, args, kwargs, fun, err)
            if "donate" in str(err):
                _explain_donated(options, args, kwargs, fun, err)
            raise
    return call


def _explain_donated(options: Options, args: Any, kwargs: Any, fun: Any, err: Exception) -> None:
    static, dyn_args, dyn_kwargs = split_static(options, args, kwargs, fun)
    leaves, tree = tree_flatten((dyn_args, dyn_kwargs))
    donated = {i for i, taken in enumerate(donation(options, tree, static)) if taken}
    names = Described(fun).arg_names(tree, {i for i, _ in static.args})
    better = donations.explained(err, leaves, donated, names.__getitem__, getattr(fun, "__name__", "the function"))
    if better is not err:
        source_info.filter_traceback(better)
        raise better from None


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


def _clear(wrapped: Any, fun: Any, place: Any) -> None:
    wrapped._clear_cache()
    wrapped.forget_guarded()
    trace_cached.evict_weakref(fun)
    if isinstance(place, Placed):
        place.forget(fun)


def _call(fun: Any, options: Options, args: Any, kwargs: Any) -> Any:
    if config.disable_jit.value:
        return fun(*args, **kwargs), None, True
    if config.compilation_cache_dir.value and is_bottom():
        backends.default_device()  # so that programs can be loaded while they are traced
    call = prepare(fun, options, args, kwargs)
    params = jit_params(call, options)
    if not is_bottom() or any(isinstance(x, Tracer) for x in call.operands):
        outs = bind_jit(*call.operands, **params)
        return tree_unflatten(call.out_tree, outs), None, False
    executable, committed = executable_for(call.operands, **params)
    finish = checks.follow_keys(call.jaxpr, call.operands, call.name)
    try:
        outs = executable.call(call.operands, committed)
        if checks.enabled():
            checks.check_results(outs, f"jit of {call.name}", call.jaxpr, call.operands)
    except TypeError as err:
        check_leaf_types(call.leaves, call.in_tree, "argument ", f"jit of {call.name}")
        raise err
    if finish is not None:
        finish(outs)
    out = tree_unflatten(call.out_tree, outs)
    if len(call.operands) != len(call.leaves) or finish is not None:
        return out, None, False
    return fastpath.answer(out, executable, call.out_tree, call.leaves, committed)


def jit_params(call: Call, options: Options) -> dict[str, Any]:
    params = call_params(call.jaxpr, call.name, {
        "inline": options.inline, "keep_unused": options.keep_unused, "device": None,
        "compiler_options": options.compiler_options})
    params["device"] = call.place  # with its shardings, which are for this program alone
    if any(call.donated):
        params["donated_invars"] = call.donated
    return params


def _trace(fun: Any, options: Options, args: Any, kwargs: Any) -> stages.Traced:
    call = prepare(fun, options, args, kwargs, abstract=True)
    return stages.Traced(jit_params(call, options), call.in_tree, call.out_tree,
                         [x for x in call.operands[:len(call.operands) - len(call.leaves)]], call.name,
                         [spread.laid_out(x) for x in call.operands])
