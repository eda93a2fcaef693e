"""Where parts of a program are computed: on the accelerator, on its host, on a stream of a GPU."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from jax._api.common import check_callable
from jax._api.placement import device_put
from jax._base.source import api_boundary
from jax._runtime import backend
from jax.experimental.xla_metadata import set_xla_metadata, xla_metadata_call2
from jax.memory import Space
from jax.tree_util import tree_map


def _attributes(compute_type: Any) -> dict[str, str]:
    """How XLA calls a place."""
    if compute_type == "device_host":
        return {"_xla_compute_type": "host"}
    if compute_type == "device":
        return {}
    if compute_type == "tpu_sparsecore":
        if backend.default_backend() != "tpu":
            raise NotImplementedError(f"compute_on: 'tpu_sparsecore' is a part of TPUs, and the platform is "
                                      f"{backend.default_backend()}; use 'device', or leave compute_on out")
        return {"_xla_compute_type": "sparseoffload"}
    stream = re.fullmatch(r"gpu_stream:(\d+)", compute_type) if isinstance(compute_type, str) else None
    if stream is None:
        raise ValueError(f"compute_on: there is no compute type {compute_type!r}; there are 'device', 'device_host', "
                         "'tpu_sparsecore', and 'gpu_stream:N' with a number N")
    return {"_xla_stream_annotation": stream[1], "inlineable": "false"}


@api_boundary
def compute_on(f: Any = None, *, compute_type: str | None = None, out_memory_spaces: Any = None,
               compiler_options: Mapping[str, Any] | None = None) -> Any:
    """Says where a function, or a block, is computed.

    Three forms: ``compute_on(f, compute_type=..., out_memory_spaces=...)`` is a function like ``f``; without ``f`` it is a
    decorator; ``with compute_on("device_host"):`` is about the operations of a block.

    Args:
      f: a function of trees of arrays; in the last form, the compute type.
      compute_type: ``"device"``, ``"device_host"`` (the host of the accelerator), ``"gpu_stream:N"`` or
        ``"tpu_sparsecore"``.
      out_memory_spaces: where results are: a ``jax.memory.Space``, or a tree of them like the results.
      compiler_options: for the compiler of that part of the program.

    The results are the same everywhere. On CPUs the host is the device, and there are no streams: XLA computes such parts
    with the rest.

    Raises:
      ValueError: for another compute type.
      TypeError: without a compute type, or ``f`` is no function.
      NotImplementedError: ``"tpu_sparsecore"`` on other platforms.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.compute_on import compute_on
    >>> @jax.jit
    ... def f(x):
    ...     with compute_on("device_host"):
    ...         return x + 1
    >>> print(f(1.))
    2.0
    """
    if isinstance(f, str):
        if compute_type is not None:
            raise TypeError(f"compute_on was given two compute types, {f!r} and {compute_type!r}")
        f, compute_type = None, f
    if compute_type is None:
        raise TypeError("compute_on takes a compute type: compute_on(f, compute_type='device_host', out_memory_spaces=...), "
                        "or with compute_on('device_host')")
    found = _attributes(compute_type)
    if f is None and out_memory_spaces is None:
        if compiler_options:
            raise TypeError("compute_on: compiler_options are for functions; give the function, or out_memory_spaces to "
                            "have a decorator")
        return set_xla_metadata(**found)
    if f is None:
        return functools.partial(compute_on, compute_type=compute_type, out_memory_spaces=out_memory_spaces,
                                 compiler_options=compiler_options)
    check_callable(f, "compute_on")
    if out_memory_spaces is None:
        raise TypeError("compute_on: out_memory_spaces says where the results of the function are, for example "
                        "jax.memory.Space.Device")
    return _placed(f, found, out_memory_spaces, compiler_options)


def _placed(f: Callable[..., Any], attributes: dict[str, str], spaces: Any, options: Mapping[str, Any] | None) -> Any:
    outer = {**attributes, "backend_config": json.dumps(dict(options))} if options else attributes
    inside = set_xla_metadata(**attributes)(f) if attributes else f
    call = xla_metadata_call2(inside, outer)

    @functools.wraps(f)
    def computed(*args: Any, **kwargs: Any) -> Any:
        outs = call(*args, **kwargs)
        return tree_map(lambda x: device_put(x, spaces), outs) if isinstance(spaces, Space) else \
            tree_map(device_put, outs, spaces)
    return computed
