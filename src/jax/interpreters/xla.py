"""Kept for libraries that still import it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from jax._base._jaxlib import Client as Backend
from jax._base._jaxlib import xla as xe
from jax._dispatch.eager import apply_primitive as apply_primitive
from jax._language.avals import aval_makers as pytype_aval_mappings
from jax._language.avals import typeof as abstractify
from jax._runtime import transfer as _transfer
from jax._src import xla_bridge as xb


def canonicalize_dtype(x: Any) -> Any:
    """A value as a NumPy array of the dtype that it has on devices (32 bits wide unless 64-bit types are on)."""
    return _transfer.host_value(x, abstractify(x).dtype)


class _Canonicalizers(MutableMapping[type, Callable[[Any], Any]]):
    """How values of classes become NumPy arrays. A class that is entered may be passed to programs; its type is given in
    :data:`pytype_aval_mappings`."""

    def __init__(self) -> None:
        self._given: dict[type, Callable[[Any], Any]] = {}

    def __getitem__(self, cls: type) -> Callable[[Any], Any]:
        if cls in self._given:
            return self._given[cls]
        if cls in pytype_aval_mappings:
            return canonicalize_dtype
        raise KeyError(cls)

    def __setitem__(self, cls: type, canonicalize: Callable[[Any], Any]) -> None:
        def put(x: Any, aval: Any, sharding: Any, committed: bool) -> Any:
            return _transfer.put_host(np.asarray(canonicalize(x), aval.dtype), aval, sharding, committed)
        self._given[cls] = canonicalize
        _transfer.put_handlers[cls] = put

    def __delitem__(self, cls: type) -> None:
        del self._given[cls], _transfer.put_handlers[cls]

    def __iter__(self) -> Iterator[type]:
        return iter({**dict.fromkeys(pytype_aval_mappings), **self._given})

    def __len__(self) -> int:
        return len({*pytype_aval_mappings, *self._given})


canonicalize_dtype_handlers = _Canonicalizers()
__all__ = ["Backend", "abstractify", "apply_primitive", "canonicalize_dtype", "canonicalize_dtype_handlers",
           "pytype_aval_mappings", "xb", "xe"]
