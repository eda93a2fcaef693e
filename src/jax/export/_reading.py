"""Exported functions from bytes."""

from __future__ import annotations

from typing import Any

from jax._base.source import api_boundary
from jax.export import _trees
from jax.export._checks import DisabledSafetyCheck
from jax.export._exported import (
    Exported,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from jax.export._format import decode_type, unpack


@api_boundary
def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function in bytes that :meth:`Exported.serialize` made.

    Raises:
      TypeError: not bytes.
      ValueError: bytes of something else, damaged, or of a later version; container classes that are not registered here.

    >>> import jax
    >>> from jax import export
    >>> blob = export.export(jax.jit(lambda x: 2 * x))(1.0).serialize()
    >>> float(export.deserialize(blob).call(4.0))
    8.0
    """
    return _from_header(*unpack(blob))


def _from_header(header: dict[str, Any], program: bytes, derivative: bytes) -> Exported:
    convention = header["calling_convention_version"]
    low, high = minimum_supported_calling_convention_version, maximum_supported_calling_convention_version
    if not low <= convention <= high:
        raise ValueError(f"deserialize: {header['fun_name']} was exported with version {convention} of the calling "
                         f"convention, and this release supports {low} to {high}; export it again, with a "
                         "release closer to this one")
    ins, outs = ([decode_type(a) for a in header[k]] for k in ("in_avals", "out_avals"))
    nothing_in, nothing_out = (None,) * len(ins), (None,) * len(outs)
    vjp = deserialize(derivative) if derivative else None
    return Exported(
        header["fun_name"], _trees.decode(header["in_tree"]), tuple(ins), _trees.decode(header["out_tree"]), tuple(outs),
        nothing_in, nothing_out, nothing_in, nothing_out, header["nr_devices"], tuple(header["platforms"]), (), (),
        tuple([DisabledSafetyCheck(c) for c in header["disabled_checks"]]), program, convention, tuple(header["kept"]),
        header["takes_platform"],
        None if vjp is None else lambda _: vjp)
