"""Checks in kernels that are compiled without ``checkify``: what has failed is raised when the program has run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jax import lax
from jax._base.caching import weak_cache
from jax._callbacks.debugging import watch
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import trace_to_jaxpr
from jax.experimental.checkify._errors import Error, Sites, user_checks
from jax.experimental.checkify._interpret import checked_program, has_checks
from jax.experimental.checkify._state import num_leaves


class ChecksOfKernel(NamedTuple):
    """Raises the error that it is given; equal for equal programs, so that compiled ones are found again."""

    sites: Sites

    def __call__(self, code: Any, *payload: Any) -> None:
        Error(np.asarray(code), [np.asarray(x) for x in payload], self.sites).throw()


@weak_cache
def reporting(program: ClosedJaxpr) -> ClosedJaxpr:
    """``program`` with its checks, if it has any, as errors of the running program."""
    if not has_checks(program.effects):
        return program
    checked = checked_program(user_checks, program)
    if checked is None:
        return program
    n, sites = num_leaves(checked.sites), checked.sites

    def run(*args: Any) -> list[Any]:
        found = eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *args)
        error, outs = found[:n], found[n:]
        lax.cond(error[0] != 0, lambda *e: watch(ChecksOfKernel(sites), e, {}, False), lambda *e: None, *error)
        return outs

    jaxpr, consts = trace_to_jaxpr(run, program.in_avals, program.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts)


__all__ = ["reporting"]
