"""``pmap``: a function mapped over devices, one example on each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from jax._api.common import check_callable, flatten_axes
from jax._api.jit import jit
from jax._api.placement import PMAP_AXIS
from jax._base.source import api_boundary
from jax._ground.structural import broadcast_to_axis
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax._runtime import backend as backends
from jax._runtime.transfer import to_device
from jax._spmd.shard_map import apply_to_parts
from jax.lax import squeeze
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.tree_util import tree_flatten, tree_unflatten


def pmap(fun: Callable[..., Any], axis_name: Hashable | None = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Sequence[int] = (), devices: Sequence[Any] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Sequence[int] = ()) -> Any:
    """Compiles ``fun`` and maps it over an axis of its arguments, each example on a device of its own.

    :func:`jax.shard_map` and shardings of ``jit`` say more; ``pmap`` is the same as a ``shard_map`` over a mesh of one axis.

    Args:
      fun: the function for one device.
      axis_name: a name by which collectives in ``fun`` refer to the axis.
      in_axes, out_axes: as for :func:`jax.vmap`; with ``None`` in ``out_axes`` the result of the first device is taken.
      static_broadcasted_argnums: positions of arguments that are Python values, the same on all devices.
      devices: the devices to use, by default those of this process.
      backend: the platform whose devices to use.
      axis_size: the size of the axis, where no argument is mapped.
      donate_argnums: positions of arguments whose memory may be reused.

    Returns:
      The mapped function, with ``lower`` and ``trace``. Its results are laid out over the devices.

    Raises:
      ValueError: more examples than devices, arguments of different sizes, or none that is mapped.
      NotImplementedError: with several processes; ``shard_map`` works across processes.

    >>> import jax, jax.numpy as jnp
    >>> jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.ones((1, 2))).tolist()
    [[1.0, 1.0]]
    """
    check_callable(fun, "pmap")
    static = (static_broadcasted_argnums,) if isinstance(static_broadcasted_argnums, int) \
        else tuple(static_broadcasted_argnums)
    task = _Task(fun, PMAP_AXIS if axis_name is None else axis_name, in_axes, out_axes, static, devices, backend, axis_size)
    compiled = jit(task.call, static_argnums=static or None, donate_argnums=donate_argnums or None)

    @functools.wraps(fun)
    @api_boundary
    def pmapped(*args: Any, **kwargs: Any) -> Any:
        return compiled(*task.laid_out(args), **kwargs)

    pmapped.lower = api_boundary(lambda *args, **kwargs: compiled.lower(*args, **kwargs))  # type: ignore[attr-defined]
    pmapped.trace = api_boundary(lambda *args, **kwargs: compiled.trace(*args, **kwargs))  # type: ignore[attr-defined]
    pmapped.clear_cache = compiled.clear_cache  # type: ignore[attr-defined]
    return pmapped


class _Task:
    """What a mapped function was told."""

    __slots__ = ("fun", "name", "in_axes", "out_axes", "static", "devices", "backend", "axis_size", "__weakref__")

    def __init__(self, fun: Callable[..., Any], name: Any, in_axes: Any, out_axes: Any, static: tuple[int, ...],
                 devices: Sequence[Any] | None, backend: str | None, axis_size: int | None) -> None:
        self.fun = fun
        self.name = name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static = static
        self.devices = devices
        self.backend = backend
        self.axis_size = axis_size

    def axes_of(self, args: Sequence[Any], kwargs: Any) -> tuple[list[Any], Any, list[Any], dict[int, Any]]:
        """The dynamic leaves, their structure, the mapped axis of each, and the static arguments."""
        fixed = {i % len(args): args[i] for i in self.static}
        axes = self.in_axes
        if isinstance(axes, (tuple, list)) and len(axes) == len(args):
            axes = tuple(a for i, a in enumerate(axes) if i not in fixed)
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        leaves, tree = tree_flatten((dynamic, kwargs))
        args_tree = tree.children()[0]
        found = flatten_axes("pmap: in_axes", args_tree, axes, tupled_args=True)
        return leaves, tree, [*found, *(0,) * (len(leaves) - len(found))], fixed

    def mesh(self, leaves: Sequence[Any], axes: Sequence[Any]) -> Mesh:
        """As many devices as there are examples."""
        sizes = {}
        for i, (x, a) in enumerate(zip(leaves, axes, strict=True)):
            if a is not None:
                shape = np.shape(x)
                if not -len(shape) <= a < len(shape):
                    raise ValueError(f"pmap: leaf {i} of the arguments has shape {shape}, and in_axes asks for its axis {a}")
                sizes[i] = shape[a]
        if len(set(sizes.values())) > 1:
            raise ValueError(f"pmap: the mapped axes of the arguments have different sizes: {list(sizes.values())}")
        size = next(iter(sizes.values()), self.axis_size)
        if size is None:
            raise ValueError("pmap: no argument is mapped, so that the number of examples is unknown; pass axis_size=, or "
                             "an axis in in_axes")
        if self.axis_size is not None and size != self.axis_size:
            raise ValueError(f"pmap: axis_size is {self.axis_size}, and the mapped arguments have size {size}")
        if backends.process_count(self.backend) > 1:
            raise NotImplementedError("pmap over the devices of several processes is not supported; use jax.shard_map over "
                                      "a mesh of all devices, and jax.make_array_from_process_local_data for its arguments")
        have = list(self.devices) if self.devices is not None else backends.local_devices(backend=self.backend)
        if size > len(have):
            raise ValueError(f"pmap maps one example to each device: the mapped axis has size {size}, and there "
                             f"{'is one device' if len(have) == 1 else f'are {len(have)} devices'}. Use jax.vmap to compute "
                             "many examples on one device.")
        return Mesh(np.array(have[:size], dtype=object), (self.name,))

    def spec(self, axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*(None,) * axis, self.name)

    def laid_out(self, args: Sequence[Any]) -> Sequence[Any]:
        """Arguments from the host with each example on its device, so that none holds them all."""
        leaves, _, axes, fixed = self.axes_of(args, {})
        if any(isinstance(x, Tracer) for x in leaves):
            return args
        mesh = self.mesh(leaves, axes)
        placed = []
        for x, a in zip(leaves, axes, strict=True):
            if isinstance(x, np.ndarray) and a is not None:
                x = to_device(x, None, NamedSharding(mesh, self.spec(a % x.ndim)))
            placed.append(x)
        tree = tree_flatten(tuple(x for i, x in enumerate(args) if i not in fixed))[1]
        rest = iter(tree_unflatten(tree, placed))
        return [fixed[i] if i in fixed else next(rest) for i in range(len(args))]

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The mapped function on whole arguments."""
        leaves, tree, axes, fixed = self.axes_of(args, kwargs)
        mesh = self.mesh(leaves, axes)
        axes = [None if a is None else a % x.ndim for x, a in zip(leaves, axes, strict=True)]
        part = _Part(self, axes, tree, fixed, len(args))
        outs, out_tree = apply_to_parts(part, mesh, [self.spec(a) for a in axes], leaves,
                                        getattr(self.fun, "__name__", type(self.fun).__name__))
        return tree_unflatten(out_tree, outs)


class _Part:
    """The function for one device, of parts in which the mapped axis has size 1."""

    __slots__ = ("task", "axes", "tree", "fixed", "count", "out_specs", "__weakref__")

    def __init__(self, task: _Task, axes: Sequence[Any], tree: Any, fixed: dict[int, Any], count: int) -> None:
        self.task = task
        self.axes = axes
        self.tree = tree
        self.fixed = fixed
        self.count = count
        self.out_specs: list[PartitionSpec] = []

    def __call__(self, *parts: Any) -> Any:
        examples = [x if a is None else squeeze(x, (a,)) for x, a in zip(parts, self.axes, strict=True)]
        dynamic, named = tree_unflatten(self.tree, examples)
        rest = iter(dynamic)
        out = self.task.fun(*[self.fixed[i] if i in self.fixed else next(rest) for i in range(self.count)], **named)
        found, out_tree = tree_flatten(out)
        wanted = flatten_axes("pmap: out_axes", out_tree, self.task.out_axes)
        self.out_specs = []
        outs = []
        for x, a in zip(found, wanted, strict=True):
            if a is not None:
                ndim = typeof(x).ndim
                if not -ndim - 1 <= a <= ndim:
                    raise ValueError(f"pmap: out_axes asks for the axis {a} of a result with {ndim + 1} dimensions, the "
                                     "mapped one included")
                a %= ndim + 1
                x = broadcast_to_axis(x, 1, a)
            self.out_specs.append(self.task.spec(a))
            outs.append(x)
        return tree_unflatten(out_tree, outs)


__all__ = ["pmap"]
