"""Moving trees of arrays between host and devices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._api.sharding_constraints import move, resolve
from jax._base import _jaxlib, config
from jax._base._jaxlib import Device, xla
from jax._base.source import api_boundary
from jax._dispatch.spread import place_finders
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.avals import ShapedArray, physical_aval, typeof
from jax._language.jaxpr import new_jaxpr_eqn
from jax._language.primitive import Primitive
from jax._language.trace import Tracer
from jax._language.zeros import Zero
from jax._lowering.hlo import custom_call
from jax._lowering.rules import extended_by_batching, register_lowering
from jax._lowering.shardings import is_spread, sharding_attr
from jax._lowering.types import string_attr
from jax._runtime import backend, transfer
from jax._runtime.array import ArrayImpl
from jax._runtime.layout import Format
from jax.dtypes import ExtendedDType
from jax.memory import Space
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from jax.tree_util import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten

# --- the primitive --------------------------------------------------------------------------------------------------

device_put_p = Primitive("device_put")


def _impl(x: Any, *, device: Any, donate: bool, may_alias: bool | None) -> Any:
    put: Any = transfer.to_device
    if isinstance(device, Space):
        device, put = _in_space(x, device), _beside
    elif isinstance(device, Sharding) and not isinstance(device, SingleDeviceSharding):
        put = _moved
    if _to_device.value is None and _between.value is None:
        return put(x, None, device, may_alias=may_alias, donate=donate)
    with transfer.explicit():
        return put(x, None, device, may_alias=may_alias, donate=donate)


_to_device, _between = config.transfer_guard_host_to_device, config.transfer_guard_device_to_device


def _beside(x: Any, aval: Any, sharding: Any, **how: Any) -> Any:
    """In other memory of the devices that ``x`` is on, and tied to them only if it was."""
    return transfer.to_device(x, None, sharding, committed=isinstance(x, ArrayImpl) and x._committed, **how)


def _moved(x: Any, aval: Any, sharding: Any, **how: Any) -> Any:
    return move(x, sharding, **how)


def _in_space(x: Any, space: Space) -> Any:
    """The sharding of ``x``, in other memory."""
    sharding = x.sharding if isinstance(x, ArrayImpl) else backend.default_sharding()
    if space is Space.Any:
        return sharding
    kind = "pinned_host" if space is Space.Host else next(iter(sharding.device_set)).default_memory().kind
    return sharding.with_memory_kind(kind)


def _lower(ctx: Any, x: Any, *, device: Any, **params: Any) -> Any:
    # One program runs on one set of devices, so inside it there is nowhere to move to; but there are layouts and memories.
    mod = ctx.module_context
    if isinstance(device, NamedSharding) and is_spread(mod) and ctx.scope.manual is None:
        attr = sharding_attr(mod, device, len(physical_aval(ctx.avals_in[0]).shape))
        x = _jaxlib.ir.Operation.create("sdy.sharding_constraint", (x.type,), (x,), {"sharding": attr}).result
    kind = _host_memory(device)
    if kind is not None and ctx.platform != "cpu":  # on CPUs all memory is the host's
        attrs = {"mhlo.frontend_attributes": _jaxlib.ir.DictAttr.get({"_xla_buffer_placement": string_attr(kind)})}
        x = custom_call("annotate_device_placement", [x], [x.type], has_side_effect=True, extra=attrs)[0]
    return [x]


def _host_memory(device: Any) -> str | None:
    if isinstance(device, Space):
        return {Space.Host: "pinned_host", Space.Device: "device"}.get(device)
    return getattr(device, "memory_kind", None) if isinstance(device, Sharding) else None


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = device_put_p.bind(x, **params)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    back = x.sharding if isinstance(x, ArrayImpl) and x._committed else None
    return out, transfer_p.bind(t, device=params["device"], back=back)


device_put_p.def_abstract_eval(lambda x, **params: x)
device_put_p.def_impl(_impl)
register_lowering(device_put_p, _lower, cacheable=False)
rules.primitive_jvps[device_put_p] = _jvp
rules.primitive_transposes[device_put_p] = lambda ct, x, **params: [ct]
rules.primitive_batchers[device_put_p] = lambda args, dims, **params: (
    device_put_p.bind(args[0], **dict(params, device=_for_batch(params["device"], dims[0]))), dims[0])
extended_by_batching.add(device_put_p)
place_finders[device_put_p] = lambda params: params["device"] if isinstance(params["device"], NamedSharding) else None


def _move_eqn(source: Any, target: Any, kind: str) -> Any:
    """The equation that moves a value to another memory of the device it is on."""
    spaces = {"device": Space.Device, "pinned_host": Space.Host, "unpinned_host": Space.Host}
    if kind not in spaces:
        raise ValueError(f"a checkpoint policy moves values to the memory {kind!r}, which is none of {sorted(spaces)}")
    params = {"device": spaces[kind], "donate": False, "may_alias": None}
    return new_jaxpr_eqn([source], [target], device_put_p, params, frozenset())


rules.memory_moves["move"] = _move_eqn


def _for_batch(device: Any, dim: int) -> Any:
    """The sharding of a batch whose examples have the sharding ``device``."""
    if not isinstance(device, NamedSharding):
        return device
    entries = [*device.spec.partitions, *(None,) * (dim - len(device.spec.partitions))]
    entries.insert(dim, None)
    return NamedSharding(device.mesh, device.spec.update(partitions=tuple(entries)), memory_kind=device.memory_kind)


# A tangent that is moved like its primal value, and whose cotangent is moved back to where that came from.
transfer_p = Primitive("transfer")
transfer_p.def_abstract_eval(lambda x, **params: x)
transfer_p.def_impl(lambda x, *, device, back: device_put_p.bind(x, device=device, donate=False, may_alias=None))
register_lowering(transfer_p, lambda ctx, x, *, device, back: _lower(ctx, x, device=device), cacheable=False)
deflinear(transfer_p, lambda ct, x, *, device, back: [
    ct if back is None else transfer_p.bind(ct, device=back, back=None)])
rules.primitive_batchers[transfer_p] = lambda args, dims, *, device, back: (transfer_p.bind(
    args[0], device=_for_batch(device, dims[0]), back=_for_batch(back, dims[0])), dims[0])
place_finders[transfer_p] = place_finders[device_put_p]


# --- public functions -----------------------------------------------------------------------------------------------

@api_boundary
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """A tree of arrays on a device.

    Args:
      x: a tree of arrays, NumPy arrays and scalars.
      device: a device, a sharding, a partition spec over the current mesh (:func:`jax.set_mesh`), a memory space
        (:class:`jax.memory.Space`), a :class:`jax.experimental.layout.Format`, or a tree of them (a prefix of ``x``);
        ``None`` leaves arrays where they are and puts the rest on the default device, not tied to it.
      src: where the values are now, in the same forms. Arrays know that, and NumPy arrays are on the host, so that it
        need not be given; it is checked against arrays that are committed.
      donate: whether the memory of ``x`` may be taken over (a bool, or a tree of bools).
      may_alias: whether results may share memory with ``x`` (a bool, or a tree of bools). NumPy arrays must then not be
        written to. By default memory is shared with arrays and with NumPy arrays that are read-only; ``False`` copies.

    Returns:
      A tree like ``x`` of arrays.

    Raises:
      OverflowError: integers that do not fit their 32-bit type while 64-bit types are off.
      TypeError: ``device`` is something else.
      NotImplementedError: a format with a layout that is not row-major.
      ValueError: a tree that is no prefix of ``x``; a sharding that does not fit; ``donate`` together with ``may_alias``.

    Cotangents go back to where committed values came from. Inside of ``jit`` a device makes no difference, as one program
    runs on one set of devices; a sharding is a constraint, and host memory is asked of the compiler.

    >>> import jax, numpy as np
    >>> jax.device_put({"a": np.ones(2), "b": 1}, jax.devices()[0])["b"].committed
    True
    """
    leaves, tree = tree_flatten(x)
    devices, sources, donations, aliases = (
        _for_leaves(value, name, x, len(leaves))
        for value, name in ((device, "device"), (src, "src"), (donate, "donate"), (may_alias, "may_alias")))
    out = [_put(leaf, d, dn, al, s)
           for leaf, d, dn, al, s in zip(leaves, devices, donations, aliases, sources, strict=True)]
    return tree_unflatten(tree, out)


def _for_leaves(value: Any, name: str, x: Any, count: int) -> list[Any]:
    """``value``, given for a tree or as a prefix of it, for each leaf."""
    if value is None or isinstance(value, (bool, Device, Sharding)):
        return [value] * count
    try:
        return broadcast_prefix(value, x, is_leaf=lambda y: y is None)
    except ValueError as error:
        raise ValueError(f"device_put: {name} must be one value, or a tree that is a prefix of x. {error}") from None


def _put(x: Any, device: Any, donate: bool, may_alias: bool | None, src: Any) -> Any:
    if donate and may_alias:
        raise ValueError("device_put: donate=True takes the memory of x over, and may_alias=True shares it; set one")
    if src is not None:
        _check_source(x, _placement(src))
    if isinstance(device, Format):
        device = device.placement("device_put", np.shape(x))
    return device_put_p.bind(x, device=_placement(device), donate=donate, may_alias=may_alias)


def _placement(device: Any) -> Any:
    if device is None or isinstance(device, (Device, Sharding, Space)) or hasattr(device, "sharding"):
        return device.plain() if hasattr(device, "plain") else device
    if isinstance(device, PartitionSpec):
        return resolve(device, "device_put")
    raise TypeError(f"device_put: {device!r} of type {type(device).__name__} is neither a device nor a sharding; give one "
                    "of jax.devices(), a jax.sharding.Sharding, a PartitionSpec over the current mesh, a "
                    "jax.memory.Space, or None")


def _check_source(x: Any, src: Any) -> None:
    if isinstance(x, ArrayImpl) and x._committed and not isinstance(src, Space):
        wanted = backend.as_sharding(src)
        if not x.sharding.is_equivalent_to(wanted, x.ndim):
            raise ValueError(f"device_put: src says that the array is on {wanted}, and it is on {x.sharding}; leave src out")


@api_boundary
def device_get(x: Any) -> Any:
    """A tree of arrays as NumPy arrays on the host; other leaves stay as they are. Copies are started all at once.

    Traced arrays have no value yet and stay as they are, too.
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, ArrayImpl):
            leaf.copy_to_host_async()

    def fetch(leaf: Any) -> Any:
        if isinstance(leaf, ArrayImpl):
            return transfer.to_host(leaf)
        convert = getattr(leaf, "__array__", None)
        if convert is None or isinstance(leaf, (np.generic, Tracer)) \
                or isinstance(getattr(leaf, "dtype", None), ExtendedDType):
            return leaf  # typed keys have no form on the host
        return np.asarray(leaf)
    return tree_map(fetch, x)


@api_boundary
def block_until_ready(x: Any) -> Any:
    """Waits until the arrays in a tree are computed; returns the tree."""
    leaves = tree_leaves(x)
    arrays = [leaf for leaf in leaves if isinstance(leaf, ArrayImpl)]
    try:
        xla.batched_block_until_ready(arrays)
    except (xla.JaxRuntimeError, ValueError):
        for array in arrays:
            array._check_alive()  # the error that says which one and why
        raise
    for leaf in leaves:
        if not isinstance(leaf, ArrayImpl) and hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Starts copying the arrays in a tree to the host, so that reading them later does not wait; returns the tree."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays whose memory is in use on a platform (the default one)."""
    return backend.live_arrays(platform)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Stacks one tree per device into a tree of arrays with a new leading axis, each device holding its own.

    Deprecated, as documented: use :func:`jax.device_put` with a sharding.

    Args:
      shards: trees of arrays, all of one structure, shapes and dtypes.
      devices: as many devices.

    Raises:
      TypeError: ``shards`` or ``devices`` is no sequence.
      ValueError: the number of shards differs from the number of devices, there are none, or the shards differ.
    """
    _deprecated("device_put_sharded")
    for value, what in ((shards, "shards"), (devices, "devices")):
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"device_put_sharded: {what} must be a list or tuple, got a {type(value).__name__}")
    if len(shards) != len(devices) or not devices:
        raise ValueError(f"device_put_sharded: {len(shards)} shards for {len(devices)} devices; there must be one for "
                         "each, and at least one")
    return tree_map(lambda *xs: _stacked(xs, devices), *shards)


def _stacked(xs: Sequence[Any], devices: Sequence[Any]) -> Any:
    avals = [typeof(x) for x in xs]
    for i, a in enumerate(avals):
        if (a.shape, a.dtype) != (avals[0].shape, avals[0].dtype):
            raise ValueError(f"device_put_sharded: shard 0 is {avals[0].str_short()} and shard {i} is {a.str_short()}; all "
                             "must have one shape and dtype")
    keys = isinstance(avals[0].dtype, ExtendedDType)
    with transfer.explicit():
        pieces = [transfer.to_device(np.asarray(avals[0].dtype.unwrap(x) if keys else x)[None], None, d)
                  for x, d in zip(xs, devices, strict=True)]
    sharding = over_devices(devices)
    aval = ShapedArray((len(xs), *pieces[0].shape[1:]), pieces[0].dtype)
    out = ArrayImpl(aval, sharding, pieces, True)
    return avals[0].dtype.wrap(out) if keys else out


def over_devices(devices: Sequence[Any]) -> Any:
    """The sharding of an array whose leading axis has one piece for each of these devices."""
    return NamedSharding(Mesh(np.array(devices, dtype=object), (PMAP_AXIS,)), PartitionSpec(PMAP_AXIS))


PMAP_AXIS = "_devices"


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """A tree of arrays with a new leading axis, each device holding a copy.

    Deprecated, as documented: use :func:`jax.device_put` with a sharding.

    Raises:
      TypeError: ``devices`` is no sequence.
      ValueError: ``devices`` is empty.
    """
    _deprecated("device_put_replicated")
    if not isinstance(devices, (list, tuple)):
        raise TypeError(f"device_put_replicated: devices must be a list or tuple, got a {type(devices).__name__}")
    if not devices:
        raise ValueError("device_put_replicated needs at least one device")
    return tree_map(lambda leaf: _stacked([leaf] * len(devices), devices), x)


def _deprecated(name: str) -> None:
    warnings.warn(f"jax.{name} is deprecated: use jax.device_put(x, sharding) with a jax.sharding.NamedSharding over the "
                  "devices", DeprecationWarning, stacklevel=3)
