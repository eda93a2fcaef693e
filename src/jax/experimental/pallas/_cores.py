"""``kernel``: functions that run once on each core of a mesh, on whole arrays."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from jax._api.common import check_callable
from jax._base.source import api_boundary
from jax.experimental.pallas._call import call_of
from jax.experimental.pallas._specs import CostEstimate, GridSpec

_NOT_GIVEN: Any = object()


@api_boundary
def kernel(body: Any = _NOT_GIVEN, out_type: Any = (), *, mesh: Any, scratch_types: Any = (), compiler_params: Any = None,
           interpret: Any = False, cost_estimate: CostEstimate | None = None, debug: bool = False, name: str | None = None,
           metadata: Mapping[str, str] | None = None) -> Any:
    """A function of arrays that runs ``body`` on each core of a mesh.

    Args:
      body: called as ``body(*in_refs, *out_refs, *scratch_refs)`` with references to whole arrays. Where a core is, it finds
        with ``jax.lax.axis_index(name)``. It returns nothing. Without it the result is a decorator.
      out_type: the type of the result, or a tree of them: ``jax.ShapeDtypeStruct`` or anything with a shape and a dtype.
      mesh: the axes of cores: a ``jax.sharding.Mesh`` or ``AbstractMesh``, or anything with names and sizes in its
        ``shape``.
      scratch_types: a tuple (or, for arguments by name, a dict) of types of memory; each core has its own.
      compiler_params, interpret, cost_estimate, debug, name, metadata: as for :func:`pallas_call`.

    Interpreted cores run one after another, the last axis fastest.

    Raises:
      TypeError: ``mesh`` has no named axes, or an argument is of the wrong type.
      NotImplementedError: several bodies or meshes; a collective other than ``axis_index`` along an axis of the mesh.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> mesh = jax.sharding.AbstractMesh((4,), ("core",))
    >>> @pl.kernel(out_type=jax.ShapeDtypeStruct((4,), jnp.int32), mesh=mesh, interpret=True)
    ... def double(x, out):
    ...     i = jax.lax.axis_index("core")
    ...     out[i] = 2 * x[i]
    >>> double(jnp.arange(4))
    Array([0, 2, 4, 6], dtype=int32)
    """
    settings: dict[str, Any] = {
        "mesh": mesh, "scratch_types": scratch_types, "compiler_params": compiler_params, "interpret": interpret,
        "cost_estimate": cost_estimate, "debug": debug, "name": name, "metadata": metadata}
    if body is _NOT_GIVEN:
        return functools.partial(kernel, out_type=out_type, **settings)
    if isinstance(body, (tuple, list)) or isinstance(mesh, (tuple, list)):
        raise NotImplementedError("pl.kernel: several bodies, or meshes, are not supported; call a kernel for each of them")
    check_callable(body, "pl.kernel")
    names, sizes = _axes(mesh)
    spec = GridSpec(sizes, scratch_shapes=scratch_types)
    return call_of("pl.kernel", body, out_type, spec, input_output_aliases={}, debug=debug, interpret=interpret, name=name,
                   compiler_params=compiler_params, cost_estimate=cost_estimate, metadata=metadata,
                   axis_names=names)


def _axes(mesh: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    shape = getattr(mesh, "shape", None)
    if not isinstance(shape, Mapping) or not all(isinstance(n, int) for n in shape.values()):
        raise TypeError("pl.kernel: mesh must have named axes of cores, such as jax.sharding.AbstractMesh((2,), ('core',)), "
                        f"got {mesh!r}")
    return tuple(shape), tuple(shape.values())


__all__ = ["kernel"]
