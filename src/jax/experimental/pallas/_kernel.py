"""Tracing kernels: a Python function on references becomes a program on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from jax import ref as _operations_of_references  # noqa: F401  (reading and writing of references in kernels)
from jax._api.common import Described
from jax._base import source as source_info
from jax._language.axes import extend_axis_env
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, subjaxprs
from jax._language.refs import AbstractRef, Ref
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import current_trace
from jax.experimental.pallas._axis_names import with_indices
from jax.experimental.pallas._grid import called, inside_grid
from jax.experimental.pallas._mapping import INDEX, GridMapping, without_constants
from jax.experimental.pallas._memory import SEMAPHORE
from jax.tree_util import tree_structure, tree_unflatten


class Trees(NamedTuple):
    """The structures of operands, results and scratch memory."""

    inputs: Any
    outputs: Any
    scratch: Any


def trace_kernel(kernel: Callable[..., Any], mapping: GridMapping, trees: Trees,
                 axis_names: Sequence[Any] = ()) -> tuple[ClosedJaxpr, GridMapping]:
    """The program of a kernel: it takes the indices in the grid, references to blocks, and those to scratch memory.

    Scratch memory that the kernel asks for by itself is added to the mapping. ``axis_names`` are what the kernel may call
    the axes of the grid in ``lax.axis_index``.

    Raises:
      ValueError: the kernel returns something, closes over arrays, or treats a semaphore as an array.
    """
    avals = [*(m.ref_aval for m in mapping.block_mappings), *mapping.scratch_avals]
    n, num_inputs, num_outputs = len(mapping.grid), mapping.num_inputs, len(mapping.outputs)
    own: list[AbstractRef] = []
    described = Described(kernel)
    name = source_info.describe_function(kernel)
    structure: list[Any] = [None]

    def flat(*args: Any) -> list[Any]:
        trace = current_trace.get()

        def new_scratch(aval: AbstractRef) -> Any:
            own.append(aval)
            return trace.new_arg(aval)

        refs = args[n:]
        inputs = tree_unflatten(trees.inputs, refs[:num_inputs])
        outputs = tree_unflatten(trees.outputs, refs[num_inputs:num_inputs + num_outputs])
        scratch = tree_unflatten(trees.scratch, refs[num_inputs + num_outputs:])
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        named = scratch if isinstance(scratch, dict) else {}
        placed = scratch if isinstance(scratch, (tuple, list)) else () if isinstance(scratch, dict) else (scratch,)
        structure[0] = tree_structure(((*inputs, *given, *placed), named))
        with inside_grid(mapping.grid, args[:n], new_scratch), ExitStack() as named_axes:
            for axis, size in zip(axis_names, mapping.grid, strict=False):
                named_axes.enter_context(extend_axis_env(axis, size))
            returned = called(kernel, (*inputs, *given, *placed), named, lambda: _how(name, inputs, given, placed, named))
        if returned is not None:
            raise ValueError(f"pallas_call: the kernel {name} must return None, and it "
                             f"returned {_what(returned)}. Write results to the references of the outputs: "
                             "out_ref[...] = value.")
        return []

    def arg_names() -> tuple[str, ...]:
        found = () if structure[0] is None else described.arg_names(structure[0])
        return (*[f"program_id({i})" for i in range(n)], *found)

    jaxpr, consts = trace_to_jaxpr(flat, [*[INDEX] * n, *avals], DebugInfo("pallas_call", name, arg_names))
    closed = without_constants(jaxpr, consts, lambda types: (
        f"pallas_call: the kernel {name} closes over arrays (it captures constants): {types}. Pass them to the kernel as "
        "operands; what is known while tracing and small can be computed inside."))
    for use in _array_uses_of_semaphores(closed.jaxpr):
        raise ValueError(f"pallas_call: {use} treats a semaphore as an array; use pl.semaphore_signal, pl.semaphore_wait "
                         "and pl.semaphore_read")
    if axis_names:
        closed = with_indices(closed, axis_names)
    return closed, mapping.replace(scratch_avals=(*mapping.scratch_avals, *own))


def _how(name: str, inputs: Sequence[Any], outputs: Sequence[Any], scratch: Sequence[Any], named: dict[str, Any]) -> str:
    by_name = f"{', and ' if scratch else ''}by name {', '.join(named)}" if named else ""
    return (f"pallas_call: the kernel {name} is called with references, in this order: operands ({len(inputs)}), results "
            f"({len(outputs)}), scratch memory ({len(scratch) if scratch or not named else ''}{by_name})")


def _what(returned: Any) -> str:
    return "a reference" if isinstance(returned, Ref) else f"a value of structure {tree_structure(returned)}"


def _array_uses_of_semaphores(jaxpr: Jaxpr) -> Iterator[str]:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in ("get", "swap", "addupdate") and getattr(eqn.invars[0].aval, "kind", None) == SEMAPHORE:
            yield f"{eqn.primitive} at {source_info.summarize(eqn.source_info.traceback)}"
    for inner in subjaxprs(jaxpr):
        yield from _array_uses_of_semaphores(inner)


def kernel_name(kernel: Any, name: str | None) -> str:
    """What a call of a kernel is called in programs."""
    found: Any = kernel
    while hasattr(found, "func"):
        found = found.func
    return name or getattr(found, "__name__", None) or "kernel"


__all__ = ["Trees", "kernel_name", "trace_kernel"]
