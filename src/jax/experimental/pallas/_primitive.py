"""The primitive of a kernel call: its type, and how it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._language.effects import RefEffect
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax.experimental.pallas._interpret import interpreted
from jax.experimental.pallas._runtime_checks import reporting

# Operands: arrays. Parameters: ``jaxpr``, the kernel's program on indices and references; ``grid_mapping``; ``out_avals``;
# ``input_output_aliases`` as pairs; ``interpret``; ``name``; ``original``, for derivatives the call that they are of; and
# what is only for compilers.
pallas_call_p = Primitive("pallas_call", multiple_results=True)
pallas_call_p.abstract_cache = None


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, out_avals: tuple[Any, ...], **params: Any) -> Any:
    return list(out_avals), {e for e in jaxpr.effects if not isinstance(e, RefEffect)}


def program_of(params: dict[str, Any], in_avals: Sequence[Any], neutral: bool = False) -> ClosedJaxpr:
    """The program that runs a kernel in interpret mode: a loop over the grid."""
    return interpreted(params["jaxpr"], params["grid_mapping"], tuple(in_avals), params["out_avals"],
                       params["input_output_aliases"], neutral)


def _lower(ctx: Any, *values: Any, interpret: bool, name: str, metadata: Any, **params: Any) -> Any:
    if not interpret:
        _refuse(ctx.platforms, name)
    program = program_of(params, ctx.avals_in)
    return call_jaxpr(ctx, name, reporting(program), values, dict(metadata) if metadata else None)


def _refuse(platforms: Sequence[str], name: str) -> None:
    where = " and ".join(platforms)
    if tuple(platforms) == ("cpu",):
        raise ValueError(f"pallas_call of {name}: Only interpret mode is supported on CPU backend. Call "
                         "pl.pallas_call(..., interpret=True).")
    raise NotImplementedError(f"pallas_call of {name}: kernels are not compiled for {where} yet. Call "
                              "pl.pallas_call(..., interpret=True), which runs them as a loop on any platform.")


pallas_call_p.def_effectful_abstract_eval(_abstract)
register_lowering(pallas_call_p, _lower, cacheable=False)

__all__ = ["pallas_call_p", "program_of"]
