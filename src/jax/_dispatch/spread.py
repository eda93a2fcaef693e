"""Programs over several devices: which devices, and how arguments and results are laid out on them.

A program over n devices is one module of n partitions. XLA's own partitioner (Shardy) splits every operation, starting
from the shardings of the arguments, those that the program asks for, and those that the caller wants of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax import dtypes
from jax._base._jaxlib import xla
from jax._base.caching import no_context, weak_cache
from jax._language.avals import physical_aval, typeof
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from jax._runtime import backend
from jax.sharding import GSPMDSharding, NamedSharding, PartitionSpec, SingleDeviceSharding, sharding_from_hlo

ArrayImpl = xla.ArrayImpl
Devices = tuple[Any, ...]


class Placement(NamedTuple):
    """What the caller of a program says of its place: devices, and shardings of arguments and results where given."""

    devices: Devices
    mesh: Any
    in_shardings: tuple[Any, ...] | None = None
    out_shardings: tuple[Any, ...] | None = None

    def bare(self) -> Placement:
        """The same devices, for another program."""
        return Placement(self.devices, self.mesh)


class Spread(NamedTuple):
    """A place for one program: one sharding per argument, and per result one or None (as the compiler chooses)."""

    devices: Devices
    mesh: Any
    in_shardings: tuple[Any, ...]
    out_shardings: tuple[Any, ...]

    def everywhere(self) -> Any:
        """The sharding that gives each device the whole value."""
        return replicated(self.devices, self.mesh)

    def const_sharding(self, value: Any) -> Any:
        """Where an array that the program closes over is laid out: as it is, if on these devices."""
        have = getattr(value, "_sharding", None)
        if have is not None and tuple(have._device_assignment) == self.devices and len(self.devices) > 1:
            return have
        return self.everywhere()

    def boundary(self, lowered: Any, loaded: Any) -> dict[str, Any]:
        """The shardings of a compiled program's kept arguments and of its results, for an executable."""
        return {"in_shardings": [self.in_shardings[i] for i in lowered.kept_var_idx],
                "out_shardings": self._results(loaded, len(lowered.ordered_effects)),
                "const_shardings": [self.const_sharding(c) for c in lowered.const_args],
                "home": self.everywhere(), "spread": True}

    def _results(self, loaded: Any, first: int) -> list[Any]:
        if None not in self.out_shardings:
            return list(self.out_shardings)
        found = loaded.get_output_shardings() if len(self.devices) > 1 else None
        if found is None:
            return [self.everywhere() if s is None else s for s in self.out_shardings]
        device_list = xla.DeviceList(self.devices)
        return [sharding_from_hlo(op, self.mesh, device_list) if s is None else s
                for op, s in zip(found[first:], self.out_shardings, strict=True)]


def replicated(devices: Devices, mesh: Any) -> Any:
    """The sharding that gives each device the whole value."""
    if mesh is not None:
        return NamedSharding(mesh, PartitionSpec())
    if len(devices) == 1:
        return backend.device_sharding(devices[0])
    return GSPMDSharding.get_replicated(devices)


# --- what a call says ------------------------------------------------------------------------------------------------

def plan(args: Sequence[Any], jaxpr: ClosedJaxpr, name: str, placement: Placement | None = None) -> Spread:
    """The place of a program for these arguments.

    Raises:
      ValueError: arguments on other devices than the rest, or laid out otherwise than the caller says.
    """
    arrays = [_plain(x) for x in args]
    devices, mesh = (placement.devices, placement.mesh) if placement is not None else (None, None)
    for x in arrays:
        if x is not None and x._committed and type(x._sharding) is not SingleDeviceSharding:
            if devices is None:
                devices = tuple(x._sharding._device_assignment)
            if mesh is None:
                mesh = getattr(x._sharding, "mesh", None)
    if devices is None or mesh is None:
        inner: Any = place_in(jaxpr)
        if inner is not None:
            devices = inner.devices if devices is None else devices
            mesh = inner.mesh if mesh is None and inner.devices == devices else mesh
    assert devices is not None
    if mesh is not None and tuple(mesh._flat_devices_tuple) != devices and set(mesh._flat_devices_tuple) != set(devices):
        mesh = None
    asked = placement.in_shardings if placement is not None and placement.in_shardings is not None else [None] * len(args)
    missing = len(args) - len(asked)  # closed-over values of enclosing traces come first
    everywhere = replicated(devices, mesh)
    ins = []
    for i, (x, want) in enumerate(zip(arrays, (*(None,) * missing, *asked), strict=True)):
        if x is None or not x._committed:
            ins.append(everywhere if want is None else want)
            continue
        have = x._sharding
        if tuple(have._device_assignment) != devices:
            raise _other_devices(args, arrays, jaxpr, name, devices)
        if want is not None and not have.is_equivalent_to(want, x.ndim):
            raise ValueError(
                f"jit of {name}: in_shardings says {want} for the argument {jaxpr.jaxpr.debug_info.arg_name(i)}, and the "
                f"array passed ({x.aval.str_short()}) is laid out as {have}. Move it with jax.device_put(x, sharding), or "
                "leave in_shardings out to take arguments as they are.")
        ins.append(have if want is None else want)
    outs = placement.out_shardings if placement is not None else None
    return Spread(devices, mesh, tuple(ins), outs if outs is not None else (None,) * len(jaxpr.jaxpr.outvars))


class Layout:
    """The layout over several devices of an argument that is described, or need not be kept."""

    __slots__ = ("_sharding", "aval", "ndim")
    _committed = True

    def __init__(self, sharding: Any, aval: Any) -> None:
        self._sharding = sharding
        self.aval = aval
        self.ndim = len(aval.shape)


def laid_out(x: Any) -> Layout | None:
    """The layout of an argument over a mesh; None if it is on one device, on the host or anywhere."""
    plain = x if hasattr(x, "sharding") and hasattr(x, "shape") and type(x) is not ArrayImpl else _plain(x)
    sharding = getattr(plain, "_sharding", None) or getattr(plain, "sharding", None)
    if not isinstance(sharding, (NamedSharding, GSPMDSharding)) or getattr(plain, "_committed", True) is False:
        return None
    if getattr(getattr(sharding, "mesh", None), "_flat_devices_tuple", True):
        return Layout(sharding, physical_aval(typeof(plain)))
    return None


def _plain(x: Any) -> Any:
    """The array that carries an argument; None for host values."""
    if type(x) is ArrayImpl or type(x) is Layout:
        return x
    dtype = getattr(x, "dtype", None)
    return dtype.unwrap(x) if isinstance(dtype, dtypes.ExtendedDType) else None


def _other_devices(args: Sequence[Any], arrays: Sequence[Any], jaxpr: ClosedJaxpr, name: str,
                   devices: Devices) -> ValueError:
    info = jaxpr.jaxpr.debug_info
    lines = [f"  {info.arg_name(i)} ({x.aval.str_short()}) on {_listed(x._sharding._device_assignment)}"
             for i, x in enumerate(arrays) if x is not None and x._committed]
    return ValueError(f"jit of {name}: the program runs on {_listed(devices)}, and arguments are committed to other "
                      "devices:\n" + "\n".join(lines) + "\nMove them with jax.device_put(x, sharding).")


def _listed(devices: Sequence[Any]) -> str:
    text = ", ".join(map(str, devices[:8]))
    return f"{text} ... ({len(devices)} devices)" if len(devices) > 8 else text




# --- what a program says ---------------------------------------------------------------------------------------------

# primitive -> (params) -> a mesh, a sharding, a placement or None: where equations ask for devices.
place_finders: dict[Any, Callable[[dict[str, Any]], Any]] = {}


@weak_cache(context=no_context)
def place_in(jaxpr: ClosedJaxpr) -> Placement | None:
    """The devices that the equations of a program, or arrays that it closes over, ask for; None if they ask for none."""
    for value in jaxpr.consts:
        x = _plain(value)
        if x is not None and len(x._sharding._device_assignment) > 1:
            return as_placement(x._sharding)
    return _search(jaxpr.jaxpr)


def _search(jaxpr: Jaxpr) -> Placement | None:
    for eqn in jaxpr.eqns:
        finder = place_finders.get(eqn.primitive)
        found = None if finder is None else as_placement(finder(eqn.params))
        if found is not None:
            return found
        for sub in jaxprs_in_params(eqn.params):
            found = place_in(sub) if isinstance(sub, ClosedJaxpr) else _search(sub)
            if found is not None:
                return found
    return None


def as_placement(what: Any) -> Placement | None:
    """The devices of a sharding, a mesh or a placement; None for None, one device, and what has no devices."""
    if what is None or isinstance(what, Placement):
        return what.bare() if what is not None else None
    mesh = getattr(what, "mesh", what)
    flat = getattr(mesh, "_flat_devices_tuple", None)
    if flat:
        return Placement(tuple(flat), mesh)
    if isinstance(what, xla.Sharding) and type(what) not in (SingleDeviceSharding, NamedSharding):
        return Placement(tuple(what._device_assignment), None)
    return None


__all__ = ["Placement", "Spread", "as_placement", "laid_out", "place_finders", "place_in", "plan", "replicated"]
