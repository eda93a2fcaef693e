"""How the search for NaN and infinities (``jax_debug_nans``, ``jax_debug_infs``) looks into loops and branches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jax._dispatch.checks import Search, descents
from jax.lax._cond import cond_p
from jax.lax._scan import scan_p
from jax.lax._slice import index_in_dim
from jax.lax._while import while_p


@contextmanager
def _noted(where: str) -> Iterator[None]:
    try:
        yield
    except FloatingPointError as error:
        error.add_note(f"This was in {where}.")
        raise


def _scan(search: Search, params: dict[str, Any], args: list[Any]) -> None:
    body, first = params["jaxpr"], params["num_consts"]
    num_carry, length = params["num_carry"], params["length"]
    consts, carry, xs = args[:first], args[first:first + num_carry], args[first + num_carry:]
    for step in reversed(range(length)) if params["reverse"] else range(length):
        elements = [index_in_dim(x, step, 0, keepdims=False) for x in xs]
        with _noted(f"step {step} of a loop of {length} steps (scan)"):
            outs = search.program(body.jaxpr, body.consts, [*consts, *carry, *elements])
        carry = outs[:num_carry]


def _while(search: Search, params: dict[str, Any], args: list[Any]) -> None:
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    n = params["cond_nconsts"]
    first = n + params["body_nconsts"]
    cond_consts, body_consts, carry = args[:n], args[n:first], args[first:]
    step = 0
    while bool(search.program(cond.jaxpr, cond.consts, [*cond_consts, *carry])[0]):
        with _noted(f"step {step} of a while loop"):
            carry = search.program(body.jaxpr, body.consts, [*body_consts, *carry])
        step += 1


def _cond(search: Search, params: dict[str, Any], args: list[Any]) -> None:
    branches = params["branches"]
    index = min(max(int(args[0]), 0), len(branches) - 1)
    branch = branches[index]
    with _noted(f"branch {index} of {len(branches)} (cond or switch)"):
        search.program(branch.jaxpr, branch.consts, args[1:])


descents[scan_p] = _scan
descents[while_p] = _while
descents[cond_p] = _cond

__all__: list[str] = []
