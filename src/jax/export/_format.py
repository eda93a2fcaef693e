"""The file format of exported programs.

A container of this library's own: a line that says what it is, the version of the format, a header in JSON, the program as a
portable artifact of StableHLO, the container of the derivative if it was asked for, and a checksum over all of it::

    16 bytes  b"fleetjax.export\\n"
    2         version of the format
    3 x 8     lengths of the header, the program and the derivative
    ...       header (UTF-8), program, derivative
    32        SHA-256 of everything before

Numbers are unsigned and little-endian. Readers know all versions up to their own.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import jax.random
from jax import dtypes
from jax._language.avals import ShapedArray
from jax.export import _trees

_MAGIC = b"fleetjax.export\n"
_VERSION = 1
_HEAD = struct.Struct("<H3Q")
_DIGEST = 32


def serialize(exported: Any, vjp_order: int) -> bytearray:
    """The bytes of an exported function and of ``vjp_order`` of its derivatives, each that of the one before."""
    if vjp_order < 0:
        raise ValueError(f"serialize: vjp_order must not be negative, got {vjp_order}")
    header = json.dumps(_header(exported), separators=(",", ":"), sort_keys=True).encode()
    derivative = bytes(serialize(exported.vjp(), vjp_order - 1)) if vjp_order else b""
    program = exported.mlir_module_serialized
    out = bytearray(_MAGIC)
    out += _HEAD.pack(_VERSION, len(header), len(program), len(derivative))
    for part in (header, program, derivative):
        out += part
    out += hashlib.sha256(out).digest()
    return out


def unpack(blob: bytes | bytearray) -> tuple[dict[str, Any], bytes, bytes]:
    """Header, program and derivative (empty if there is none) of a container.

    Raises:
      TypeError: not bytes.
      ValueError: bytes of something else, damaged, or of a later version.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"deserialize takes bytes, got {type(blob).__name__}")
    data = bytes(blob)
    if not data.startswith(_MAGIC):
        raise ValueError("deserialize: these bytes were not made by Exported.serialize of this library. Programs that "
                         "another implementation serialised are in a format of its own: export the function again.")
    first = len(_MAGIC) + _HEAD.size
    if len(data) < first + _DIGEST:
        raise ValueError(f"deserialize: the exported function is cut short: {len(data)} bytes")
    version, *sizes = _HEAD.unpack_from(data, len(_MAGIC))
    if version > _VERSION:
        raise ValueError(f"deserialize: the exported function is in version {version} of the format, and this release knows "
                         f"versions up to {_VERSION}; upgrade it")
    if len(data) != first + sum(sizes) + _DIGEST or hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ValueError("deserialize: the exported function is damaged: its length or checksum is wrong")
    ends = [first + sum(sizes[:i]) for i in range(4)]
    header, program, derivative = (data[a:b] for a, b in zip(ends, ends[1:], strict=False))
    return json.loads(header), program, derivative


def _header(exported: Any) -> dict[str, Any]:
    return {
        "fun_name": exported.fun_name,
        "in_tree": _trees.encode(exported.in_tree), "in_avals": [_encode_type(a) for a in exported.in_avals],
        "out_tree": _trees.encode(exported.out_tree), "out_avals": [_encode_type(a) for a in exported.out_avals],
        "nr_devices": exported.nr_devices, "platforms": list(exported.platforms),
        "disabled_checks": [str(c) for c in exported.disabled_safety_checks],
        "calling_convention_version": exported.calling_convention_version,
        "kept": list(exported.module_kept_var_idx), "takes_platform": exported.uses_global_constants,
    }


def _encode_type(aval: Any) -> list[Any]:
    dtype = aval.dtype
    if dtypes.issubdtype(dtype, dtypes.prng_key):
        return [list(aval.shape), "key", dtype._impl.name]
    if isinstance(dtype, dtypes.ExtendedDType):
        raise ValueError(f"arrays of dtype {dtype} cannot be serialised")
    return [list(aval.shape), "float0" if dtype == dtypes.float0 else str(dtype)]


def decode_type(entry: list[Any]) -> ShapedArray:
    shape, name, *impl = entry
    if name == "key":
        return ShapedArray(tuple(shape), jax.random.key(0, impl=impl[0]).dtype)
    return ShapedArray(tuple(shape), dtypes.float0 if name == "float0" else dtypes.as_dtype(name))
