"""Scratch memory that kernels ask for themselves, and choosing among references."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.common import check_callable
from jax._base.source import api_boundary
from jax._ground.references import free_ref_p, new_ref_p
from jax._language.avals import typeof
from jax._language.refs import AbstractRef, Ref
from jax.experimental.pallas._blocks import unspecified
from jax.experimental.pallas._grid import new_scratch
from jax.experimental.pallas._memory import SEMAPHORE, memory_ref, ref_type
from jax.tree_util import tree_flatten, tree_leaves, tree_unflatten


def new_reference(aval: AbstractRef) -> Any:
    """A reference to new memory, which holds nothing that is specified (semaphores: zero)."""
    first = np.zeros(aval.shape, np.int32) if aval.kind == SEMAPHORE else unspecified(aval.shape, aval.dtype)
    return new_ref_p.bind(first, memory_space=aval.memory_space, kind=aval.kind)


def _is_memory(x: Any) -> bool:
    return hasattr(x, "get_ref_aval")


@api_boundary
def run_scoped(f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any) -> Any:
    """``f`` called with references to new scratch memory, which is given up when ``f`` returns.

    Args:
      f: a function of references; what it returns must consist of arrays.
      types, kw_types: types of memory, such as ``pl.ANY(shape, dtype)``, or trees of them: ``f`` gets references in their
        places.
      collective_axes: mesh axes whose cores are to share the memory; must be empty, as interpreted kernels run on one core.

    Returns:
      What ``f`` returns.

    Raises:
      TypeError: an argument is no type of memory, or ``f`` returns a reference.
      NotImplementedError: ``collective_axes`` are given.

    What the memory holds at first is unspecified, as for ``scratch_shapes`` of :func:`pallas_call`; semaphores are zero.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(x, out):
    ...     def double(tmp):
    ...         tmp[...] = x[...]
    ...         out[...] = x[...] + tmp[...]
    ...     pl.run_scoped(double, pl.ANY(x.shape, x.dtype))
    >>> x = jnp.arange(3.)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)
    Array([0., 2., 4.], dtype=float32)
    """
    check_callable(f, "pl.run_scoped")
    if collective_axes not in ((), [], None):
        raise NotImplementedError(f"pl.run_scoped: collective_axes={collective_axes!r} cannot be shared by interpreted "
                                  "kernels, whose cores run one after another; leave collective_axes out, and use "
                                  "pl.get_global for memory that programs share")
    leaves, tree = tree_flatten((types, kw_types), is_leaf=_is_memory)
    refs = [new_reference(ref_type("pl.run_scoped", x)) for x in leaves]
    args, kwargs = tree_unflatten(tree, refs)
    out = f(*args, **kwargs)
    for x in tree_leaves(out):
        if isinstance(x, Ref):
            raise TypeError("pl.run_scoped: the function returned a reference, and its memory is given up when the function "
                            "returns; return what it holds, ref[...]")
    for ref in refs:
        free_ref_p.bind(ref)
    return out


def with_scoped(*types: Any, collective_axes: Any = (),
                **kw_types: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function gets, after its other arguments, references to scratch memory from :func:`run_scoped`.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     @pl.with_scoped(pl.ANY((2,), jnp.int32))
    ...     def fill(value, tmp):
    ...         tmp[...] = jnp.full(2, value)
    ...         out[...] = tmp[...]
    ...     fill(7)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((2,), jnp.int32), interpret=True)()
    Array([7, 7], dtype=int32)
    """
    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        check_callable(f, "pl.with_scoped")

        @functools.wraps(f)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            return run_scoped(lambda *refs, **named: f(*args, *refs, **kwargs, **named), *types,
                              collective_axes=collective_axes, **kw_types)
        return scoped
    return decorate


@api_boundary
def empty_ref_like(x: Any) -> Any:
    """A reference to new memory like ``x``: a type of memory, or anything else with a shape and a dtype.

    What it holds at first is unspecified. The reference lives as long as the function that is being traced.

    Raises:
      TypeError: ``x`` has no shape and dtype.

    >>> import jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> pl.empty_ref_like(pl.ANY((2, 3), jnp.float32)).shape
    (2, 3)
    """
    if not _is_memory(x):
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise TypeError(f"pl.empty_ref_like needs a type of memory such as pl.ANY(shape, dtype), or something with a "
                            f"shape and a dtype, got {x!r}")
        x = memory_ref(x.shape, x.dtype, getattr(getattr(x, "aval", None), "memory_space", None))
    return new_reference(ref_type("pl.empty_ref_like", x))


@api_boundary
def get_global(what: Any) -> Any:
    """A reference to scratch memory that all programs of a kernel share, as if it were in ``scratch_shapes``.

    Each call makes another one. It keeps what it holds from one program of the grid to the next.

    Args:
      what: a type of memory, such as ``pl.ANY(shape, dtype)``.

    Raises:
      ValueError: outside of a kernel.
      TypeError: ``what`` is no type of memory.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     count = pl.get_global(pl.ANY((), jnp.int32))
    ...     first = pl.program_id(0) == 0
    ...     count[...] = jnp.where(first, 0, count[...] + 1)
    ...     out[0] = count[...] * 10
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((3,), jnp.int32), grid=3,
    ...                out_specs=pl.BlockSpec((1,), lambda i: i), interpret=True)()
    Array([ 0, 10, 20], dtype=int32)
    """
    return new_scratch("get_global", ref_type("pl.get_global", what))


# --- choosing ---------------------------------------------------------------------------------------------------------

@api_boundary
def select_ref(idx: Any, *refs: Any) -> Any:
    """The reference number ``idx`` of several, chosen when the kernel runs.

    It is read and written like the others, and ``.at[index]`` is a part of it.

    Args:
      idx: an integer scalar; what is out of bounds counts as the nearest number.
      refs: at least two references of equal shapes and dtypes.

    Raises:
      ValueError: fewer than two references, or they differ.
      TypeError: ``idx`` is not an integer scalar, or something is no reference.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(x, y, out):
    ...     out[0] = pl.select_ref(pl.program_id(0), x, y)[1]
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((2,), jnp.int32), grid=2, out_specs=pl.BlockSpec((1,), lambda i: i),
    ...                interpret=True)(jnp.arange(3), jnp.arange(3) * 10)
    Array([ 1, 10], dtype=int32)
    """
    if len(refs) < 2:
        raise ValueError(f"pl.select_ref chooses among at least two references, got {len(refs)}")
    for ref in refs:
        if not isinstance(ref, Ref):
            raise TypeError(f"pl.select_ref chooses among references, got {ref!r} of type {type(ref).__name__}")
        if (ref.shape, ref.dtype) != (refs[0].shape, refs[0].dtype):
            raise ValueError("pl.select_ref: references must have equal shapes and dtypes, got "
                             + " and ".join(f"{r.dtype}{list(r.shape)}" for r in refs))
    aval = typeof(idx)
    if aval.shape != () or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"pl.select_ref: idx must be an integer scalar, got {aval.str_short()}")
    last = len(refs) - 1
    if isinstance(idx, (int, np.integer)):
        return refs[min(max(int(idx), 0), last)]
    return SelectedRef(lax.clamp(np.int32(0), lax.convert_element_type(idx, np.int32), np.int32(last)), refs)


class SelectedRef:
    """One of several references: what :func:`select_ref` returns for a number that is not known while tracing."""

    is_reference = True

    def __init__(self, idx: Any, refs: tuple[Any, ...]) -> None:
        self._idx = idx
        self._refs = refs

    shape = property(lambda self: self._refs[0].shape, doc="The shape.")
    dtype = property(lambda self: self._refs[0].dtype, doc="The dtype.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    size = property(lambda self: self._refs[0].size, doc="The number of elements.")
    aval = property(lambda self: self._refs[0].aval, doc="The type.")
    at = property(lambda self: _Parts(self), doc="``ref.at[index]`` is a part of it.")

    def __len__(self) -> int:
        return len(self._refs[0])

    def __getitem__(self, index: Any) -> Any:
        found = [ref[index] for ref in self._refs]
        return lax.select_n(self._idx, *found)

    def __setitem__(self, index: Any, value: Any) -> None:
        for k, ref in enumerate(self._refs):
            part = ref.at[index]
            old = part[...]
            part[...] = value
            part[...] = lax.select_n(lax.eq(self._idx, np.int32(k)), old, part[...])

    def get(self, idx: Any = ...) -> Any:
        """``ref[idx]``."""
        return self[idx]

    def set(self, value: Any, idx: Any = ...) -> None:
        """``ref[idx] = value``."""
        self[idx] = value

    def swap(self, value: Any, idx: Any = ...) -> Any:
        """Writes ``value`` and returns what was there."""
        old = self[idx]
        self[idx] = value
        return old

    def addupdate(self, x: Any, idx: Any = ...) -> None:
        """Adds ``x`` to what is there."""
        self[idx] = self[idx] + x


class _Parts:
    __slots__ = ("ref",)

    def __init__(self, ref: SelectedRef) -> None:
        self.ref = ref

    def __getitem__(self, index: Any) -> SelectedRef:
        return SelectedRef(self.ref._idx, tuple([r.at[index] for r in self.ref._refs]))


__all__ = ["empty_ref_like", "get_global", "new_reference", "run_scoped", "select_ref", "with_scoped"]
