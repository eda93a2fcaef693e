"""Derivatives and batching of kernel calls, and how checks look into them.

The derivative of a kernel is a kernel with references to tangents beside those to values; batching puts an axis in front of
the grid, along which blocks of mapped arrays move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._base import source as source_info
from jax._base.caching import no_context, weak_cache
from jax._dispatch.checks import Search, descents
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.effects import writes
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms.batch import AxisData, match_axis, named_axes_of
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.partial import save_everything
from jax.experimental.checkify._errors import user_checks
from jax.experimental.checkify._interpret import checked_program, structural_rules
from jax.experimental.checkify._state import nothing
from jax.experimental.pallas._dims import squeezed
from jax.experimental.pallas._mapping import INDEX, BlockMapping, GridMapping
from jax.experimental.pallas._primitive import pallas_call_p, program_of
from jax.experimental.pallas._specs import CostEstimate
from jax.lax._control_common import permuted

# --- derivatives ------------------------------------------------------------------------------------------------------


def _differentiable(aval: Any) -> bool:
    return aval.to_tangent_aval().dtype != dtypes.float0


def _tangent_type(aval: Any) -> ShapedArray:
    found = aval.to_tangent_aval()
    return ShapedArray(found.shape, found.dtype)


def _of_tangent(m: BlockMapping) -> BlockMapping:
    return BlockMapping(m.block_shape, m.index_map_jaxpr, _tangent_type(m.array_aval), m.memory_space, m.pipeline_mode,
                        f"the tangent of {m.origin}")


def _needs_tangent(params: dict[str, Any], nonzeros: Sequence[bool]) -> tuple[bool, ...]:
    """Which operands need references to tangents: those with one, and those that the kernel, or its result, changes."""
    mapping: GridMapping = params["grid_mapping"]
    changed = {i - len(mapping.grid) for i in writes(params["jaxpr"].effects)}
    aliased = {i for i, _ in params["input_output_aliases"]}
    return tuple([nz or (i in changed or i in aliased) and _differentiable(m.array_aval)
                  for i, (nz, m) in enumerate(zip(nonzeros, mapping.inputs, strict=True))])


@weak_cache
def _jvp_kernel(kernel: ClosedJaxpr, mapping: GridMapping, of_inputs: tuple[bool, ...]) -> tuple[ClosedJaxpr, GridMapping]:
    """The derivative of a kernel: (indices, operands, tangents, results, tangents, scratch memory, tangents)."""
    of_outputs = [_differentiable(m.array_aval) for m in mapping.outputs]
    of_scratch = [_differentiable(a) and a.kind is None for a in mapping.scratch_avals]
    n, (a, b, c) = len(mapping.grid), (len(of_inputs), len(of_outputs), len(of_scratch))
    new, _ = jvp_jaxpr(kernel, [*[False] * n, *of_inputs, *of_outputs, *of_scratch], False)
    order, tangent = list(range(n)), n + a + b + c
    start = n
    for marks in (of_inputs, of_outputs, of_scratch):
        order.extend(range(start, start + len(marks)))
        order.extend(range(tangent, tangent + sum(marks)))
        start, tangent = start + len(marks), tangent + sum(marks)
    inputs = [*mapping.inputs, *(_of_tangent(m) for m, nz in zip(mapping.inputs, of_inputs, strict=True) if nz)]
    outputs = [*mapping.outputs, *(_of_tangent(m) for m, nz in zip(mapping.outputs, of_outputs, strict=True) if nz)]
    scratch = [*mapping.scratch_avals,
               *(s.to_tangent_aval() for s, nz in zip(mapping.scratch_avals, of_scratch, strict=True) if nz)]
    return permuted(new, order), mapping.replace(block_mappings=(*inputs, *outputs), num_inputs=len(inputs),
                                                 scratch_avals=tuple(scratch))


class Original:
    """The parameters of a call whose derivative another one computes besides its results."""

    __slots__ = ("params",)

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    @property
    def num_operands(self) -> int:
        """How many of the operands of the derivative are its own; they come first."""
        return self.params["grid_mapping"].num_inputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Original) and self.params == other.params

    def __hash__(self) -> int:
        return hash((self.params["name"], self.params["jaxpr"]))

    def __repr__(self) -> str:
        return self.params["name"]


def _with_tangents(primals: Sequence[Any], tangents: Sequence[Any],
                   params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Operands and parameters of the call that computes results and, after them, their tangents."""
    of_inputs = _needs_tangent(params, [type(t) is not Zero for t in tangents])
    kernel, mapping = _jvp_kernel(params["jaxpr"], params["grid_mapping"], of_inputs)
    given = [instantiate_zeros(t) for t, nz in zip(tangents, of_inputs, strict=True) if nz]
    out_avals = params["out_avals"]
    of_outputs = [_differentiable(a) for a in out_avals]
    pairs = list(params["input_output_aliases"])
    for i, o in params["input_output_aliases"]:
        if of_outputs[o]:
            pairs.append((len(primals) + sum(of_inputs[:i]), len(out_avals) + sum(of_outputs[:o])))
    types = (*out_avals, *(_tangent_type(a) for a, nz in zip(out_avals, of_outputs, strict=True) if nz))
    new = dict(params, jaxpr=kernel, grid_mapping=mapping, out_avals=types, input_output_aliases=tuple(pairs),
               name=f"{params['name']}_jvp", cost_estimate=None, original=Original(params))
    return [*primals, *given], new


def _paired(outs: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    rest = iter(found)
    return [next(rest) if _differentiable(o) else Zero(o.to_tangent_aval()) for o in outs]


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    operands, new = _with_tangents(primals, tangents, params)
    outs = pallas_call_p.bind(*operands, **new)
    n = len(params["out_avals"])
    return outs[:n], _paired(params["out_avals"], outs[n:])


def _linearize(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """The kernel runs now; the tangent program runs it again beside its derivative."""
    outs = run_in(trace.parent, pallas_call_p.bind, *primals, **params)
    operands, new = _with_tangents(primals, tangents, params)
    avals, effects = pallas_call_p.abstract_eval(**new)
    found = trace.tangents.emit(pallas_call_p, operands, new, avals, effects)
    return outs, _paired(params["out_avals"], found[len(outs):])


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    """With values known and tangents unknown, values are computed by the original call, and by the other one again."""
    original, params = eqn.params["original"], eqn.params
    if not any(unknown):
        keeps = policy is save_everything or policy(eqn.primitive, *[v.aval for v in eqn.invars], **params)
        return eqn, None, [False] * len(eqn.outvars), list(eqn.outvars) if keeps else []
    if original is None or any(unknown[:original.num_operands]):
        return None, eqn, [True] * len(eqn.outvars), []
    n = len(original.params["out_avals"])
    values, tangents = eqn.outvars[:n], eqn.outvars[n:]
    known = eqn.replace(invars=eqn.invars[:original.num_operands], outvars=values, params=original.params,
                        effects=pallas_call_p.abstract_eval(**original.params)[1])
    rest = eqn.replace(outvars=[*(DropVar(v.aval) for v in values), *tangents])
    return known, rest, [*[False] * n, *[True] * len(tangents)], values if policy is save_everything else []


def _transpose(cts: Any, *args: Any, name: str, **params: Any) -> list[Any]:
    if all(type(c) is Zero for c in cts):
        return [Zero(x.aval.to_cotangent_aval()) if type(x) is UndefinedPrimal else None for x in args]
    raise ValueError(
        f"pallas_call of {name.removesuffix('_jvp')} has no reverse-mode derivative (jax.grad, jax.vjp, jax.jacrev): what a "
        "kernel writes over is lost, so it cannot be run backwards. The call is at "
        f"{source_info.summarize(source_info.capture())}. Put a jax.custom_vjp around it whose backward function computes "
        "the gradient, with another kernel perhaps; or use forward mode (jax.jvp, jax.jacfwd).")


# --- batching ---------------------------------------------------------------------------------------------------------

def _along(m: BlockMapping, size: int, dim: int | None) -> BlockMapping:
    """The mapping of an array with a mapped axis at ``dim`` (None: without one), under a grid with an axis in front."""
    program, first = m.index_map_jaxpr.jaxpr, Var(INDEX)
    if dim is None:
        new = program.replace(invars=[first, *program.invars])
        return BlockMapping(m.block_shape, ClosedJaxpr(new, ()), m.array_aval, m.memory_space, m.pipeline_mode, m.origin)
    places = m.places(program.outvars)
    places.insert(dim, (first, None))
    outvars = [v for pair in places for v in pair if v is not None]
    shape = m.array_aval.shape
    return BlockMapping((*m.block_shape[:dim], squeezed, *m.block_shape[dim:]),
                        ClosedJaxpr(program.replace(invars=[first, *program.invars], outvars=outvars), ()),
                        ShapedArray((*shape[:dim], size, *shape[dim:]), m.array_aval.dtype),
                        m.memory_space, m.pipeline_mode, m.origin)


@weak_cache(context=no_context)
def _batched_kernel(kernel: ClosedJaxpr, mapping: GridMapping, size: int,
                    dims: tuple[int | None, ...]) -> tuple[ClosedJaxpr, GridMapping]:
    blocks = [*(_along(m, size, d) for m, d in zip(mapping.inputs, dims, strict=True)),
              *(_along(m, size, 0) for m in mapping.outputs)]
    jaxpr = kernel.jaxpr
    new = jaxpr.replace(invars=[Var(INDEX), *jaxpr.invars], effects=None,
                        debug_info=jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(new, ()), mapping.replace(grid=(size, *mapping.grid), block_mappings=tuple(blocks),
                                                 num_batched=mapping.num_batched + 1)


def _batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    if axis.name is not None and axis.name in named_axes_of({"jaxpr": params["jaxpr"]}):
        raise NotImplementedError(f"vmap of pallas_call of {params['name']}: the kernel refers to the mapped axis "
                                  f"{axis.name!r} by name, and programs of a kernel cannot see other examples; call "
                                  "collectives outside of the kernel, and pass lax.axis_index as an operand")
    args, dims = list(args), list(dims)
    for i, _ in params["input_output_aliases"]:
        args[i], dims[i] = match_axis(axis.size, dims[i], 0, args[i]), 0  # as the result has it
    first = len(params["grid_mapping"].grid)
    for i in [k - first for k in writes(params["jaxpr"].effects) if 0 <= k - first < len(args)]:
        if dims[i] is None:  # every example has its own copy to write to
            args[i], dims[i] = match_axis(axis.size, None, 0, args[i]), 0
    outs = pallas_call_p.bind(*args, **_batched(params, axis.size, dims))
    return outs, [0] * len(outs)


def _batched(params: dict[str, Any], size: int, dims: Sequence[int | None]) -> dict[str, Any]:
    """The parameters of the call for a batch, which has the mapped axis in front of its results."""
    found: Any = _batched_kernel(params["jaxpr"], params["grid_mapping"], size, tuple(dims))
    cost, original = params["cost_estimate"], params["original"]
    if cost is not None:
        cost = CostEstimate(*[size * x for x in dataclasses.astuple(cost)])
    if original is not None:
        original = Original(_batched(original.params, size, dims[:original.num_operands]))
    types = tuple([ShapedArray((size, *a.shape), a.dtype) for a in params["out_avals"]])
    return dict(params, jaxpr=found[0], grid_mapping=found[1], out_avals=types, cost_estimate=cost, original=original)


# --- checks -----------------------------------------------------------------------------------------------------------

def _checked(enabled: Any, eqn: JaxprEqn, values: list[Any]) -> Any:
    """Under ``checkify`` an interpreted kernel is the loop that it is run as, with its error."""
    if not eqn.params["interpret"]:
        return nothing, pallas_call_p.bind(*values, **eqn.params)
    # Automatic checks are not to find fault with what is computed of unspecified elements, and dropped.
    program = program_of(eqn.params, [v.aval for v in eqn.invars], neutral=not enabled <= user_checks)
    checked = checked_program(enabled, program)
    if checked is None:
        return nothing, pallas_call_p.bind(*values, **eqn.params)
    return checked.split(eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *values))


def _search(search: Search, params: dict[str, Any], args: list[Any]) -> None:
    """Under ``jax_debug_nans``: what is not specified must not be taken for what the kernel has computed."""
    if params["interpret"]:
        program = program_of(params, [typeof(x) for x in args], neutral=True)
        search.program(program.jaxpr, program.consts, args)


rules.primitive_jvps[pallas_call_p] = _jvp
rules.primitive_linearizations[pallas_call_p] = _linearize
rules.partial_eval_rules[pallas_call_p] = _partial
rules.primitive_transposes[pallas_call_p] = _transpose
rules.fancy_primitive_batchers[pallas_call_p] = _batch
structural_rules[pallas_call_p] = _checked
descents[pallas_call_p] = _search
