"""Programs with kernels as text, and their export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jax._api.common import check_callable
from jax._api.jit import jit
from jax._base.source import api_boundary
from jax.sharding import SingleDeviceSharding


def _check_static(api: str, dynamic_shapes: bool) -> None:
    if not isinstance(dynamic_shapes, bool):
        raise TypeError(f"pl.{api}: dynamic_shapes must be True or False, got {dynamic_shapes!r}")
    if dynamic_shapes:
        raise NotImplementedError(f"pl.{api}: symbolic dimensions are not supported yet. Pass dynamic_shapes=False, once "
                                  "for each shape that is needed.")


@api_boundary
def lower_as_mlir(f: Callable[..., Any], *args: Any, dynamic_shapes: bool = False, device: Any = None,
                  static_argnames: str | Sequence[str] = (), platforms: Sequence[str] | None = None, **kwargs: Any) -> str:
    """The StableHLO module of ``f(*args, **kwargs)``, as text with places in the source.

    Args:
      f: a function of trees of arrays.
      args, kwargs: its arguments; ``jax.ShapeDtypeStruct`` will do for arrays.
      dynamic_shapes: whether arrays may have symbolic dimensions; must be False in this version.
      device: the device that the program is for.
      static_argnames: names of arguments that are not arrays.
      platforms: for which platforms to lower, such as ``("cuda",)``; by default that of the device.

    Raises:
      ValueError: a kernel in it is not interpreted, and the platform is the CPU.
      NotImplementedError: a kernel is not interpreted, on another platform; ``dynamic_shapes`` is set.

    >>> import jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> "stablehlo.add" in pl.lower_as_mlir(lambda x: x + 1, jnp.ones(3))
    True
    """
    check_callable(f, "pl.lower_as_mlir")
    _check_static("lower_as_mlir", dynamic_shapes)
    placement = {} if device is None else {"in_shardings": SingleDeviceSharding(device)}
    traced = jit(f, static_argnames=static_argnames, **placement).trace(*args, **kwargs)
    lowered = traced.lower() if platforms is None else traced.lower(lowering_platforms=tuple(platforms))
    return lowered.as_text(debug_info=True)


@contextmanager
def pallas_export_experimental(dynamic_shapes: bool) -> Iterator[None]:
    """A context in which programs with kernels are exported.

    Args:
      dynamic_shapes: whether arrays may have symbolic dimensions; must be False in this version.

    Raises:
      NotImplementedError: ``dynamic_shapes`` is set.

    >>> from jax.experimental import pallas as pl
    >>> with pl.pallas_export_experimental(False):
    ...     pass
    """
    _check_static("pallas_export_experimental", dynamic_shapes)
    yield


__all__ = ["lower_as_mlir", "pallas_export_experimental"]
