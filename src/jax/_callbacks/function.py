"""What all callbacks share: the function as an equation holds it, its arguments and results, running it per example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import _jaxlib, host_calls
from jax._base._jaxlib import xla
from jax._ground.structural import move_axis
from jax._language.avals import ShapedArray, physical_aval, typeof
from jax._language.effects import Effect
from jax._language.trace import is_bottom
from jax._lowering import hlo
from jax._lowering.callback import emit_python_callback, fit_results
from jax._lowering.context import LoweringContext, TokenSet
from jax._lowering.shardings import is_spread
from jax._runtime import backend, transfer
from jax._runtime.execute import finish_host_call
from jax.lax._scan import scan
from jax.tree_util import tree_flatten, tree_leaves, tree_unflatten

Extended = dtypes.ExtendedDType


class HostFunction:
    """A user's function of trees as a function of arrays in a row, for the parameters of an equation.

    Two of them are equal if they call one function in one way, so that programs are found in caches.

    Attributes:
      callback_func: the user's function.
      in_tree: the structure of its arguments ``(args, kwargs)``.
      fixed: leaves of the arguments that are no arrays: ``((position, value), ...)``.
    """

    __slots__ = ("callback_func", "in_tree", "fixed")

    def __init__(self, callback_func: Callable[..., Any], in_tree: Any, fixed: tuple[tuple[int, Any], ...] = ()) -> None:
        self.callback_func = callback_func
        self.in_tree = in_tree
        self.fixed = fixed

    def __call__(self, *flat: Any) -> list[Any]:
        leaves = list(flat)
        for i, value in self.fixed:
            leaves.insert(i, value)
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        return tree_leaves(self.callback_func(*args, **kwargs))

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, HostFunction) and self._target() == other._target() and self.in_tree == other.in_tree
                and self.fixed == other.fixed)

    def __hash__(self) -> int:
        return hash((self._target(), self.in_tree))

    def _target(self) -> Any:
        """The function, or its address where it cannot be hashed."""
        try:
            hash(self.callback_func)
        except TypeError:
            return id(self.callback_func)
        return self.callback_func

    def __repr__(self) -> str:
        return getattr(self.callback_func, "__name__", None) or repr(self.callback_func)

    @property
    def where(self) -> str:
        """What messages call it."""
        return host_calls.describe(self.callback_func)


def split_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, tuple[tuple[int, Any], ...]]:
    """The arguments that are arrays, the structure of all, and the others with their positions."""
    leaves, tree = tree_flatten((args, kwargs))
    arrays, fixed = [], []
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            fixed.append((i, x))
        else:
            arrays.append(as_operand(x))
    return arrays, tree, tuple(fixed)


def as_operand(x: Any) -> Any:
    """An argument as what ``bind`` takes."""
    convert = getattr(x, "__jax_array__", None)
    return x if convert is None or isinstance(x, xla.Array) else convert()


# --- types of results -----------------------------------------------------------------------------------------------

def result_types(api: str, spec: Any) -> tuple[tuple[ShapedArray, ...], Any]:
    """The types in a tree of arrays, ``ShapeDtypeStruct`` or anything with a shape and a dtype; and its structure.

    Raises:
      TypeError: a leaf without shape or dtype.
      ValueError: a dtype that needs ``jax_enable_x64``.
    """
    leaves, tree = tree_flatten(spec)
    return tuple(_result_type(api, x) for x in leaves), tree


def _result_type(api: str, x: Any) -> ShapedArray:
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise TypeError(f"{api}: result_shape_dtypes must be a tree of jax.ShapeDtypeStruct or of arrays, and {x!r} of type "
                        f"{type(x).__name__} is in it. Write jax.ShapeDtypeStruct(shape, dtype).")
    dtype = x.dtype
    if not isinstance(dtype, Extended):
        dtype = np.dtype(dtype)
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(f"{api}: result_shape_dtypes asks for {dtype}, a 64-bit type, and these are off; ask for "
                             f"{dtypes.canonicalize_dtype(dtype)}, or set jax_enable_x64.")
    return ShapedArray(tuple(x.shape), dtype)


# --- arguments and results on the host ------------------------------------------------------------------------------

def _host_device() -> Any:
    """The CPU device that callbacks see arrays on; None in a process without a CPU client."""
    try:
        return backend.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def to_host_array(x: Any, aval: Any) -> Any:
    """An argument as users' functions get it: an array on the CPU (a NumPy array if there is no CPU client)."""
    dtype = aval.dtype
    if isinstance(dtype, Extended):
        if not isinstance(x, np.ndarray):
            return x
        return dtype.wrap(transfer.to_device(x))
    device = _host_device()
    if device is None:
        return np.asarray(x)
    away = backend.default_device().platform != device.platform
    with transfer.explicit():
        return transfer.to_device(x, aval.strip_weak_type(), device, committed=away)


def run(callback: HostFunction, args: Sequence[Any], avals: Sequence[Any], result_avals: Sequence[Any]) -> list[Any]:
    """Calls the user's function; returns NumPy arrays of the promised types."""
    outs = callback(*[to_host_array(x, a) for x, a in zip(args, avals, strict=True)])
    if len(outs) == len(result_avals):
        outs = [a.dtype.unwrap(x) if isinstance(a.dtype, Extended) else x
                for x, a in zip(outs, result_avals, strict=True)]
    return fit_results(callback.where, outs, [physical_aval(a) for a in result_avals])


def run_now(callback: HostFunction, args: Sequence[Any], result_avals: Sequence[Any]) -> list[Any]:
    """The evaluation on concrete arguments: the function is simply called."""
    where = backend.devices_of(args)
    try:
        outs = run(callback, args, [typeof(x) for x in args], result_avals)
    except Exception as error:
        raise host_calls.as_runtime_error(error, callback.where)  # noqa: B904 - it has its own cause
    return [_from_host(x, a, where[0] if where else None) for x, a in zip(outs, result_avals, strict=True)]


def _from_host(x: np.ndarray, aval: Any, device: Any) -> Any:
    if isinstance(aval.dtype, Extended):
        return aval.dtype.wrap(transfer.to_device(x, None, device))
    return transfer.to_device(x, aval, device)


# --- lowering -------------------------------------------------------------------------------------------------------

def lower_call(ctx: LoweringContext, operands: Sequence[Any], callback: HostFunction, *, effect: Effect | None,
               ordered: bool = False, partitioned: bool = False, sharding: Any = None) -> Sequence[Any]:
    """The operation that calls the host; with ``ordered`` it takes and leaves the token of its effect."""
    avals, result_avals = ctx.avals_in, ctx.avals_out

    def call(*arrays: Any) -> list[Any]:
        have = avals
        if partitioned:  # each device has a part
            have = [a.update(shape=x.shape[:len(a.shape)]) for x, a in zip(arrays, avals, strict=True)]
        outs = run(callback, arrays, have, result_avals)
        under_way = host_calls.under_way()
        if under_way is not None:
            finish_host_call(under_way)
        return outs

    call.__wrapped__ = callback.callback_func  # type: ignore[attr-defined]
    call.__name__ = getattr(callback.callback_func, "__name__", None) or type(callback.callback_func).__name__
    token = ctx.tokens_in.get(effect) if ordered else None
    # XLA's partitioner knows no layout for tokens of calls that each device makes with its part.
    chained = ctx.platform == "cpu" and not (partitioned and is_spread(ctx.module_context))
    if chained:
        token = _after_previous(ctx, token)
    results, token, _ = emit_python_callback(
        ctx, call, token, operands, avals, result_avals, has_side_effect=effect is not None, partitioned=partitioned)
    if chained:
        _previous(ctx)[:] = [_jaxlib.ir.InsertionPoint.current.block, token]
    if ordered:
        ctx.set_tokens_out(TokenSet({effect: token}))
    return results


def _previous(ctx: LoweringContext) -> list[Any]:
    """The block and the token of the last callback written into the module."""
    found: list[Any] = ctx.module_context.lowering_parameters.setdefault("previous_callback", [])
    return found


def _after_previous(ctx: LoweringContext, token: Any) -> Any:
    """A token that makes a call wait for the one before it in the same block.

    XLA's CPU runtime would run independent calls at once, on the threads that share the work of single operations. If
    all of these waited in callbacks, programs that the callbacks run could never finish.
    """
    before = _previous(ctx)
    tokens = [] if token is None else [token]
    if before and before[0] == _jaxlib.ir.InsertionPoint.current.block:
        tokens.append(before[1])
    return tokens[0] if len(tokens) == 1 else hlo.after_all(tokens) if tokens else hlo.create_token()


# --- one example at a time ------------------------------------------------------------------------------------------

def one_by_one(prim: Any, size: int, args: Sequence[Any], dims: Sequence[Any], params: dict[str, Any],
               unroll: int = 1) -> tuple[list[Any], list[int]]:
    """Applies a callback primitive to each example of a batch in turn; results are batched at 0."""
    avals = params.get("result_avals", ())
    if is_bottom() and not any(isinstance(a.dtype, Extended) for a in avals):
        return _rows_now(prim, size, args, dims, params), [0] * len(avals)
    fronted = [x if d is None else move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]

    def body(carry: Any, rows: Any) -> Any:
        given = iter(rows)
        return carry, tuple(prim.bind(*[x if d is None else next(given) for x, d in zip(fronted, dims, strict=True)],
                                      **params))

    rows = tuple(x for x, d in zip(fronted, dims, strict=True) if d is not None)
    _, outs = scan(body, (), rows, length=size, unroll=unroll)
    return list(outs), [0] * len(outs)


def _rows_now(prim: Any, size: int, args: Sequence[Any], dims: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    columns = [None if d is None else _rows_of(x, d) for x, d in zip(args, dims, strict=True)]
    found = [prim.bind(*[x if c is None else c[i] for x, c in zip(args, columns, strict=True)], **params)
             for i in range(size)]
    return [transfer.to_device(np.stack([np.asarray(row[k]) for row in found]) if found
                               else np.zeros((0, *a.shape), a.dtype))
            for k, a in enumerate(params.get("result_avals", ()))]


def _rows_of(x: Any, d: int) -> Any:
    dtype = typeof(x).dtype
    if isinstance(dtype, Extended):
        return [dtype.wrap(transfer.to_device(row)) for row in np.moveaxis(np.asarray(dtype.unwrap(x)), d, 0)]
    return np.moveaxis(np.asarray(x), d, 0)
