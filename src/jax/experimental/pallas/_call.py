"""``pallas_call``: a kernel on blocks of arrays as a function of the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import check_callable, check_leaf_types
from jax._api.jit import jit
from jax._base import source as source_info
from jax._base.caching import weak_cache
from jax._base.source import api_boundary
from jax._language.avals import ShapedArray
from jax._language.axes import axis_env
from jax._language.refs import AbstractRef
from jax._language.trace import Tracer
from jax._tree_compare import differences
from jax.experimental.pallas._kernel import Trees, kernel_name, trace_kernel
from jax.experimental.pallas._mapping import BlockMapping, GridMapping, block_mapping
from jax.experimental.pallas._memory import MemoryRef, ref_type
from jax.experimental.pallas._programs import Program, program_like
from jax.experimental.pallas._specs import BlockSpec, CostEstimate, GridSpec, NoBlockSpec, no_block_spec
from jax.lax._creation import as_shape
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten


@api_boundary
def pallas_call(kernel: Callable[..., None], out_shape: Any, *, grid_spec: GridSpec | None = None, grid: Any = (),
                in_specs: Any = no_block_spec, out_specs: Any = no_block_spec, scratch_shapes: Any = (),
                input_output_aliases: Mapping[int, int] | None = None, debug: bool = False, interpret: Any = False,
                name: str | None = None, compiler_params: Any = None, cost_estimate: CostEstimate | None = None,
                metadata: Mapping[str, str] | None = None) -> Callable[..., Any]:
    """A function of arrays that runs a kernel once for each point of a grid, on blocks of these arrays.

    Args:
      kernel: called as ``kernel(*in_refs, *out_refs, *scratch_refs)`` with references to blocks, which it reads and writes
        (``ref[...]``). It returns nothing. Operands that are trees come as trees of references.
      out_shape: the type of the result, or a tree of them: ``jax.ShapeDtypeStruct`` or anything with a shape and a dtype.
        The elements of a tuple or list are results of their own, and come as a tuple.
      grid_spec: a :class:`GridSpec` with the next four.
      grid: the sizes of the grid; the programs run one after another, the last index fastest.
      in_specs, out_specs: trees of :class:`BlockSpec` like operands and results; by default each program sees whole arrays.
      scratch_shapes: a tuple (or, for arguments by name, a dict) of types of memory, such as ``pl.ANY(shape, dtype)``. All
        programs have the same scratch memory.
      input_output_aliases: ``{operand: result}`` by position (of leaves, if there are trees): the result starts out as the
        operand, and not unspecified. The operand itself does not change.
      debug: print the kernel's jaxpr.
      interpret: run the kernel as a loop over the grid that XLA compiles, on any platform.
      name: what the call is named in programs and profiles.
      compiler_params: settings for a backend's compiler, which interpreted kernels have none of.
      cost_estimate: what a call costs, for :func:`estimate_cost` of programs with this call.
      metadata: attributes for XLA on the call, pairs of strings.

    Returns:
      A function of arrays, with results like ``out_shape``. It is compiled; ``jit``, ``vmap`` (which puts an axis in front
      of the grid) and ``jvp`` act on it. For reverse mode put a ``jax.custom_vjp`` around it.

    Raises:
      ValueError: without ``interpret`` on CPUs; specs do not fit the arrays; the kernel closes over arrays or returns one.
      NotImplementedError: without ``interpret`` on other platforms.
      TypeError: an argument is of the wrong type.

    Elements of results that no program writes are unspecified, as scratch memory is at first: NaN, the least integer or
    False. What a program writes to an operand is seen by later programs of the same call only.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def add(x_ref, y_ref, out_ref):
    ...     out_ref[...] = x_ref[...] + y_ref[...]
    >>> x = jnp.arange(8.)
    >>> block = pl.BlockSpec((4,), lambda i: i)
    >>> pl.pallas_call(add, jax.ShapeDtypeStruct(x.shape, x.dtype), grid=2, in_specs=[block, block], out_specs=block,
    ...                interpret=True)(x, x)
    Array([ 0.,  2.,  4.,  6.,  8., 10., 12., 14.], dtype=float32)
    """
    check_callable(kernel, "pallas_call")
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif not isinstance(grid_spec, GridSpec):
        raise TypeError(f"pallas_call: grid_spec must be a pl.GridSpec, got {grid_spec!r}")
    else:
        _only_one(grid, in_specs, out_specs, scratch_shapes)
    return call_of("pallas_call", kernel, out_shape, grid_spec, input_output_aliases=input_output_aliases or {}, debug=debug,
                   interpret=interpret, name=name, compiler_params=compiler_params, cost_estimate=cost_estimate,
                   metadata=metadata)


def call_of(api: str, kernel: Callable[..., None], out_shape: Any, grid_spec: GridSpec, *,
            input_output_aliases: Mapping[int, int], debug: bool, axis_names: tuple[Any, ...] = (),
            **given: Any) -> Callable[..., Any]:
    """What ``api``, a public function, returns: the call of a kernel on a grid, whose axes may have names."""
    sizes = _grid(grid_spec.grid)
    settings = _settings(kernel, debug=debug, **given)
    try:
        aliases = dict(input_output_aliases)
    except (TypeError, ValueError):
        raise TypeError(f"{api}: input_output_aliases must be a dict {{operand: result}} of positions, got "
                        f"{input_output_aliases!r}") from None
    return KernelCall(api, kernel, grid_spec, sizes, settings, aliases, axis_names,
                      _Results(out_shape, grid_spec.out_specs, sizes))


class KernelCall:
    """A kernel with all that :func:`pallas_call` was told of it, as a function of arrays."""

    def __init__(self, api: str, kernel: Callable[..., None], spec: GridSpec, grid: tuple[int, ...],
                 settings: dict[str, Any], aliases: dict[int, int], axis_names: tuple[Any, ...], results: _Results) -> None:
        self._api = api
        self._kernel = kernel
        self._spec = spec
        self._grid = grid
        self._settings = settings
        self._aliases = aliases
        self._axis_names = axis_names
        self._results = results
        self.__name__ = self.__qualname__ = settings["name"]

    @api_boundary
    def __call__(self, *operands: Any) -> Any:
        leaves, in_tree = tree_flatten(operands)
        types = [_operand_type(self._api, a) for a in check_leaf_types(leaves, in_tree, "operand ", self._api)]
        return self._results.unflatten(_program(self, in_tree, tuple(types), axis_env.get())(leaves))

    def __repr__(self) -> str:
        return f"<{self._api} of {self.__name__}>"

    def trace(self, *operands: Any) -> Any:
        """As that of :func:`jax.jit`: the program, not lowered yet."""
        return jit(self).trace(*operands)

    def lower(self, *operands: Any) -> Any:
        """As that of :func:`jax.jit`: the program, not compiled yet."""
        return jit(self).lower(*operands)

    def eval_shape(self, *operands: Any) -> Any:
        """The types of the results."""
        return jit(self).eval_shape(*operands)

    def program(self, in_tree: Any, types: tuple[ShapedArray, ...]) -> Program:
        """The program for operands of given structure and types."""
        results, spec = self._results, self._spec
        blocks = [*_input_blocks(spec.in_specs, in_tree, types, self._grid), *results.blocks]
        scratch, scratch_tree = tree_flatten(spec.scratch_shapes, is_leaf=lambda x: hasattr(x, "get_ref_aval"))
        scratch_types = tuple([ref_type(f"{self._api}: scratch memory", s) for s in scratch])
        pairs = _aliases(self._aliases, types, results.avals)
        mapping = GridMapping(self._grid, tuple(blocks), len(types), scratch_types)
        trees = Trees(in_tree, results.tree, scratch_tree)
        jaxpr, mapping = trace_kernel(self._kernel, mapping, trees, self._axis_names)
        if self._settings["debug"]:
            print(f"The kernel in {self._api} {source_info.describe_function(self._kernel)}:\n{jaxpr}")
        return program_like(self._kernel, dict(self._settings, jaxpr=jaxpr, grid_mapping=mapping, out_avals=results.avals,
                                               input_output_aliases=pairs))


@weak_cache
def _program(call: KernelCall, in_tree: Any, types: tuple[ShapedArray, ...], env: Any) -> Program:
    return call.program(in_tree, types)


def _operand_type(api: str, aval: Any) -> ShapedArray:
    if isinstance(aval, AbstractRef):
        raise TypeError(f"{api}: an operand is a reference, of type {aval.str_short()}. Pass its array, ref[...], and write "
                        "the result back.")
    return ShapedArray(aval.shape, aval.dtype)


# --- arguments --------------------------------------------------------------------------------------------------------

def _only_one(grid: Any, in_specs: Any, out_specs: Any, scratch_shapes: Any) -> None:
    given = [name for name, value, default in (("grid", grid, ()), ("in_specs", in_specs, no_block_spec),
                                               ("out_specs", out_specs, no_block_spec),
                                               ("scratch_shapes", scratch_shapes, ()))
             if value is not default and not (default == () and isinstance(value, (tuple, list)) and not value)]
    if given:
        raise ValueError(f"pallas_call: with grid_spec, {' and '.join(given)} must not be given; make them part of the "
                         "GridSpec")


def _grid(grid: tuple[Any, ...]) -> tuple[int, ...]:
    out = []
    for n in grid:
        if isinstance(n, Tracer):
            raise NotImplementedError(f"pallas_call: the grid {grid} has a traced size. Sizes of grids must be known while "
                                      "tracing: make the grid as large as it can get, pass the size as an operand, and put "
                                      "the kernel's body under pl.when(pl.program_id(axis) < size).")
        if isinstance(n, bool) or not hasattr(n, "__index__") or isinstance(n, np.ndarray) and n.ndim:
            raise ValueError(f"pallas_call: the grid must be an integer or a tuple of integers, got {grid}")
        if n < 0:
            raise ValueError(f"pallas_call: sizes of a grid cannot be negative, got {grid}")
        out.append(n.__index__())
    return tuple(out)


def _settings(kernel: Any, *, interpret: Any, name: Any, compiler_params: Any, cost_estimate: Any, metadata: Any,
              debug: Any) -> dict[str, Any]:
    """The parameters of the equation that are not about blocks."""
    if interpret is not None and not isinstance(interpret, (bool, np.bool_)):
        raise TypeError(f"pallas_call: interpret must be True or False, got {interpret!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"pallas_call: name must be a string, got {name!r}")
    if cost_estimate is not None and not isinstance(cost_estimate, CostEstimate):
        raise TypeError(f"pallas_call: cost_estimate must be a pl.CostEstimate, got {cost_estimate!r}")
    try:
        hash(compiler_params)
    except TypeError:
        raise TypeError(f"pallas_call: compiler_params must be an object that can be hashed, of a class that the backend "
                        f"defines, got {compiler_params!r}") from None
    pairs = None
    if metadata is not None:
        if not isinstance(metadata, Mapping) or not all(isinstance(s, str) for kv in metadata.items() for s in kv):
            raise TypeError(f"pallas_call: metadata must be a dict from strings to strings, got {metadata!r}")
        pairs = tuple(sorted(metadata.items()))
    return {"interpret": bool(interpret), "name": kernel_name(kernel, name), "compiler_params": compiler_params,
            "cost_estimate": cost_estimate, "metadata": pairs, "debug": bool(debug), "original": None}


def _aliases(aliases: Mapping[int, int], in_avals: Sequence[Any], out_avals: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    for i, o in aliases.items():
        for k, n, what in ((i, len(in_avals), "operand"), (o, len(out_avals), "result")):
            if not isinstance(k, (int, np.integer)) or not 0 <= k < n:
                raise ValueError(f"pallas_call: input_output_aliases has {i!r}: {o!r}, and there is no {what} {k!r}; there "
                                 f"are {n} of them, counted from 0 (as leaves of trees)")
        a, b = in_avals[i], out_avals[o]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ValueError(f"pallas_call: input_output_aliases has {i}: {o}, but operand {i} is of type {a.str_short()} "
                             f"and result {o} of type {b.str_short()}; they must be the same")
    if len(set(aliases.values())) < len(aliases):
        raise ValueError(f"pallas_call: two operands are aliases of one result in input_output_aliases={dict(aliases)}")
    return tuple(sorted(aliases.items()))


# --- specs ------------------------------------------------------------------------------------------------------------

def _is_spec(x: Any) -> bool:
    return isinstance(x, (BlockSpec, NoBlockSpec))


def _specs_like(what: str, specs: Any, tree: Any, of: str) -> list[Any]:
    """The specs for the leaves of a tree; None where none is given."""
    if isinstance(specs, NoBlockSpec):
        return [None] * tree.num_leaves
    leaves, spec_tree = tree_flatten(specs, is_leaf=_is_spec)
    for leaf in leaves:
        if not _is_spec(leaf):
            raise TypeError(f"pallas_call: {what} must be a tree of pl.BlockSpec, and {leaf!r} of type "
                            f"{type(leaf).__name__} is in it")
    if spec_tree != tree:
        found = differences(tree_unflatten(spec_tree, [0] * len(leaves)), tree_unflatten(tree, [0] * tree.num_leaves))
        lines = "".join([f"\n  {d.describe((what, of))}" for d in found][:3])
        raise ValueError(f"pallas_call: {what} must be a tree like {of}, but they differ:{lines}\n  {what}: {spec_tree}\n  "
                         f"{of}: {tree}")
    return [None if isinstance(s, NoBlockSpec) else s for s in leaves]


def _names(root: str, tree: Any) -> list[str]:
    numbered = tree_unflatten(tree, list(range(tree.num_leaves)))
    return [root + keystr(path) for path, _ in tree_flatten_with_path(numbered)[0]]


def _input_blocks(specs: Any, tree: Any, avals: Sequence[ShapedArray],
                  grid: tuple[int, ...]) -> list[BlockMapping]:
    if not isinstance(specs, (NoBlockSpec, tuple)):
        raise TypeError(f"pallas_call: in_specs must be a tuple or a list with an entry for each operand, got {specs!r}")
    found = _specs_like("in_specs", specs, tree, "the operands")
    return [block_mapping(s, name, a, grid) for s, name, a in zip(found, _names("operands", tree), avals, strict=True)]


class _Results:
    """What a kernel computes: types, structure, blocks."""

    def __init__(self, out_shape: Any, specs: Any, grid: tuple[int, ...]) -> None:
        if isinstance(out_shape, list):
            out_shape = tuple(out_shape)
        leaves, self.tree = tree_flatten(out_shape)
        self.avals = tuple([_result_type(x) for x in leaves])
        found = _specs_like("out_specs", specs, self.tree, "out_shape")
        self.blocks = []
        for s, name, a, x in zip(found, _names("out_shape", self.tree), self.avals, leaves, strict=True):
            if isinstance(x, MemoryRef) and (s is None or s.memory_space is None):
                s = BlockSpec(memory_space=x.memory_space) if s is None else s.replace(memory_space=x.memory_space)
            self.blocks.append(block_mapping(s, name, a, grid))

    def unflatten(self, outs: Sequence[Any]) -> Any:
        return tree_unflatten(self.tree, outs)


def _result_type(x: Any) -> ShapedArray:
    if not (hasattr(x, "shape") and hasattr(x, "dtype")) or isinstance(x, AbstractRef):
        raise TypeError(f"pallas_call: out_shape must be a tree of jax.ShapeDtypeStruct or arrays, and {x!r} of type "
                        f"{type(x).__name__} is in it. Write jax.ShapeDtypeStruct(shape, dtype).")
    dtype = x.dtype
    if not isinstance(dtype, dtypes.ExtendedDType):
        dtype = dtypes.canonicalize_dtype(dtype)
    return ShapedArray(as_shape(x.shape), dtype)


__all__ = ["pallas_call"]
