"""Calls from a compiled program back into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib, host_calls
from jax._language.avals import physical_aval
from jax._lowering.context import LoweringContext
from jax._lowering.hlo import custom_call
from jax._lowering.manual import Region
from jax._lowering.shardings import gathered, is_spread, on_first_device
from jax._lowering.types import ir_type

_TARGETS = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}


def emit_python_callback(ctx: LoweringContext, callback: Callable[..., Any], token: Any, operands: Sequence[Any],
                         operand_avals: Sequence[Any], result_avals: Sequence[Any], *, has_side_effect: bool,
                         returns_token: bool = True, partitioned: bool = False,
                         sharding: Any = None) -> tuple[list[Any], Any, Any]:
    """Calls ``callback(*arrays) -> sequence of arrays`` on the host when the program runs.

    Args:
      token: what orders the call among others, or None.
      operand_avals, result_avals: types of what the callback takes and returns; it gets NumPy arrays.
      has_side_effect: whether the call stays although its results are not read.
      returns_token: accepted for compatibility; a token comes back exactly if one was given.
      partitioned: whether every device calls with its own part (else one device calls for all).
      sharding: an attribute for the operation, such as ``{"mhlo.sharding": ...}``.

    Returns:
      The results, the token after the call (None without a token), and an object to keep as long as the executable.

    Raises:
      NotImplementedError: on platforms whose programs cannot call the host, where a region is manual over some axes of
        its mesh only, and for ordered calls by several devices.
    """
    kind = _TARGETS.get(ctx.platform)
    if kind is None:
        raise NotImplementedError(f"programs for {ctx.platform} cannot call Python; known: {', '.join(_TARGETS)}")
    module = ctx.module_context
    if ctx.scope.manual is not None and is_spread(module) and not partitioned:
        _check_all_manual(ctx.scope.manual)
    wrapped = _checked(callback, [physical_aval(a) for a in result_avals], token is not None)
    index = len(module.host_callbacks)
    module.add_host_callback(wrapped)
    module.add_keepalive(wrapped)  # also keeps the calls in Python, where exceptions are recognised
    ir = _jaxlib.ir
    target = f"xla_ffi_{'partitioned_' if partitioned else ''}python_{kind}_callback"
    config = {"index": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)}
    tokens = [] if token is None else [token]
    types = [*(t.type for t in tokens), *(ir_type(a) for a in result_avals)]
    if partitioned and tokens and is_spread(module):
        raise NotImplementedError("a callback that each device makes with its part (partitioned=True) cannot be ordered in "
                                  "a program over several devices; leave one of the two out")
    if sharding is None and is_spread(module) and ctx.scope.manual is None:
        # One device calls, with whole values; the others get what it got. XLA knows the calls that each device makes.
        operands = operands if partitioned else [gathered(module, x) for x in operands]
        sharding = {"sdy.sharding": on_first_device(module, max(1, len(types)))}
    results = custom_call(
        target, [*tokens, *operands], types, backend_config=config, has_side_effect=has_side_effect,
        operand_layouts=[*(() for _ in tokens), *(_row_major(a) for a in operand_avals)],
        result_layouts=[*(() for _ in tokens), *(_row_major(a) for a in result_avals)], extra=sharding)
    if tokens:
        return results[1:], results[0], wrapped
    return results, None, wrapped


def _check_all_manual(region: Region) -> None:
    """XLA cannot divide calls over the axes that a partially manual region leaves to it: it ends the process."""
    free = [name for name in region.mesh.axis_names if name not in region.axes]
    if free:
        raise NotImplementedError(
            f"callbacks inside of shard_map need all axes of the mesh in axis_names, and {free} are left to the compiler; "
            "add them to axis_names, or call back outside of shard_map")


def _row_major(aval: Any) -> tuple[int, ...]:
    return tuple(reversed(range(len(physical_aval(aval).shape))))


def _checked(callback: Callable[..., Any], avals: Sequence[Any], has_token: bool) -> Callable[..., Any]:
    """``callback`` with its results checked: wrong ones would be read as other memory than they are.

    A token is passed, and expected back, as None in front. Exceptions are kept for whoever waits for the program.
    """
    where = host_calls.describe(callback)

    def call(*args: Any) -> tuple[Any, ...]:
        try:
            with host_calls.running():
                checked = fit_results(where, callback(*(args[1:] if has_token else args)), avals)
        except BaseException as error:
            raise host_calls.keep(error, where) from None
        return (None, *checked) if has_token else tuple(checked)

    return call


def fit_results(where: str, outs: Any, avals: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """What a callback returned as NumPy arrays of the types that were promised.

    Raises:
      RuntimeError: for another number of arrays, or for arrays of other shapes or kinds of dtype.
    """
    outs = tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)
    if len(outs) != len(avals):
        raise RuntimeError(f"{where} returned {len(outs)} arrays where the program expects {len(avals)}")
    return [_fit(where, i, out, aval) for i, (out, aval) in enumerate(zip(outs, avals, strict=True))]


def _fit(where: str, i: int, out: Any, aval: Any) -> np.ndarray[Any, Any]:
    value = np.asarray(out)
    if value.shape != aval.shape:
        raise RuntimeError(f"{where} returned an array of shape {value.shape} for result {i}, where the program expects "
                           f"{aval.str_short()}")
    if value.dtype != aval.dtype:
        if value.dtype.kind != aval.dtype.kind and not np.can_cast(value.dtype, aval.dtype):
            raise RuntimeError(f"{where} returned an array of dtype {value.dtype} for result {i}, where the program "
                               f"expects {aval.str_short()}")
        value = value.astype(aval.dtype)
    return np.ascontiguousarray(value).reshape(value.shape)
