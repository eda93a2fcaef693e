"""Registration of the foreign functions that compiled programs call, at the first program that needs them."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from jax._base import _jaxlib


@functools.cache
def register_lapack() -> None:
    """Makes jaxlib's LAPACK kernels (``lapack_sgetrf_ffi`` ...) known to XLA's CPU backend.

    They run SciPy's LAPACK, which is loaded here: programs without linear algebra do not import SciPy.
    """
    lapack, client = _jaxlib.lapack, _jaxlib.xla_client
    for platform, targets in lapack.registrations().items():
        for name, function, api_version in targets:
            client.register_custom_call_target(name, function, platform=platform, api_version=api_version)
    for name in lapack.batch_partitionable_targets():
        client.register_custom_call_as_batch_partitionable(name)


def register_targets(names: Iterable[str]) -> None:
    """Makes the kernels of this library that a program from elsewhere names known to XLA."""
    if any(name.startswith("lapack_") or name in _OWN for name in names):
        lapack_target("potrf", np.dtype(np.float32))  # which has SciPy's LAPACK loaded


_OWN = frozenset(("tridiagonal_solve_perturbed_ffi",))


@functools.cache
def lapack_target(routine: str, dtype: object) -> str:
    """The name of the kernel for ``routine`` (``"getrf"``) on ``dtype``, ready to be called.

    Raises:
      NotImplementedError: for dtypes that LAPACK does not have.
    """
    register_lapack()
    if routine == "tridiagonal_solve_perturbed":  # jaxlib's own; one kernel for all dtypes
        return f"{routine}_ffi"
    return str(_jaxlib.lapack.prepare_lapack_call(f"{routine}_ffi", dtype))
