"""``pmap``: a function mapped over devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._api.jit import jit
from jax._api.vmap import vmap
from jax._base.source import api_boundary
from jax._language.axes import axis_size as size_of_axis
from jax._runtime import backend as backends


def pmap(fun: Callable[..., Any], axis_name: Hashable | None = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Sequence[int] = (), devices: Sequence[Any] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Sequence[int] = ()) -> Any:
    """Compiles ``fun`` and maps it over an axis of its arguments with one example per device.

    So far all examples of a call are computed on the first of the devices; the results are the same, collectives
    (``jax.lax.psum`` ...) included.

    Args:
      fun: the function for one device.
      axis_name: a name by which collectives in ``fun`` refer to the axis.
      in_axes, out_axes: as for :func:`jax.vmap`.
      static_broadcasted_argnums: positions of arguments that are Python values, the same on all devices.
      devices: the devices to use, by default all of this process.
      backend: the platform whose devices to use.
      axis_size: the size of the axis, where no argument is mapped.
      donate_argnums: positions of arguments whose memory may be reused.

    Raises:
      ValueError: more examples than devices, or what :func:`jax.vmap` raises.

    >>> import jax, jax.numpy as jnp
    >>> jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.ones((1, 2))).tolist()
    [[1.0, 1.0]]
    """
    check_callable(fun, "pmap")
    static = (static_broadcasted_argnums,) if isinstance(static_broadcasted_argnums, int) \
        else tuple(static_broadcasted_argnums)
    name = _Anonymous() if axis_name is None else axis_name

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i] for i in static}
        axes = in_axes
        if isinstance(axes, (tuple, list)) and len(axes) == len(args):
            axes = tuple(a for i, a in enumerate(axes) if i not in fixed)

        def one(*dynamic: Any, **named: Any) -> Any:
            _check_devices(size_of_axis(name), devices, backend)
            rest = iter(dynamic)
            return fun(*[fixed[i] if i in fixed else next(rest) for i in range(len(args))], **named)

        dynamic = [x for i, x in enumerate(args) if i not in fixed]
        return vmap(one, in_axes=axes, out_axes=out_axes, axis_name=name, axis_size=axis_size)(*dynamic, **kwargs)

    compiled = jit(mapped, static_argnums=static or None, donate_argnums=donate_argnums or None,
                   device=None if devices is None else devices[0], backend=backend if devices is None else None)

    @functools.wraps(fun)
    @api_boundary
    def pmapped(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    pmapped.lower = compiled.lower  # type: ignore[attr-defined]
    pmapped.trace = compiled.trace  # type: ignore[attr-defined]
    return pmapped


class _Anonymous:
    """The name of an axis that the user gave none."""

    def __repr__(self) -> str:
        return "<the axis of a pmap>"


def _check_devices(size: int, devices: Sequence[Any] | None, backend: str | None) -> None:
    count = len(devices) if devices is not None else backends.local_device_count(backend)
    if size > count:
        raise ValueError(f"pmap maps one example to each device: the mapped axis has size {size}, and there "
                         f"{'is one device' if count == 1 else f'are {count} devices'}. Use jax.vmap to compute many "
                         "examples on one device.")


__all__ = ["pmap"]
