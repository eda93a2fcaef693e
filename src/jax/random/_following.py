"""Calls of programs on concrete values, looked at for keys that are used again (``jax_debug_key_reuse``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import source as source_info
from jax._language.jaxpr import ClosedJaxpr
from jax.random import _identity_rules  # noqa: F401  (they enter themselves)
from jax.random._arrays import KeyArray
from jax.random._identities import Plan, follow, signature
from jax.random._identity import Use


def follow_call(jaxpr: ClosedJaxpr, args: Sequence[Any], name: str) -> Callable[[Sequence[Any]], None] | None:
    """Checks a call of a program on concrete values.

    Returns:
      What marks keys as consumed and tells what became of them, given the results; ``None`` where there are no keys.

    Raises:
      KeyReuseError: the program consumes a key twice, or one that has been consumed before.
    """
    sig = signature(jaxpr)
    given = [x.identities() if type(x) is KeyArray else None for x in (*jaxpr.consts, *args)]
    if all(g is None for g in given) and all(o is None for o in sig.outputs):
        return None
    if sig.missed and len(jaxpr.eqns) < 64:  # with the values of this call more can be said
        sig = follow(jaxpr, [None if type(x) is KeyArray else x for x in args])
    here = source_info.current()
    if len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name == name:  # an operation by itself
        plan = Plan(sig, given, place=here)
    else:
        def name_of(position: int) -> str:
            i = position - len(jaxpr.consts)
            return " that the function closes over," if i < 0 else f" ({jaxpr.jaxpr.debug_info.arg_name(i)} of {name})"
        plan = Plan(sig, given, f" (in {name}, called at {source_info.summarize(here)})", Use(f"the program {name}", here),
                    name_of=name_of)

    def finish(outs: Sequence[Any]) -> None:
        plan.commit()
        for out, ids in zip(outs, plan.results(sig), strict=True):
            if type(out) is KeyArray and ids is not None:
                out._identities = ids
    return finish
