"""How errors come out of ``shard_map`` and ``pmap``: each part has its own, and the first of them counts."""

from __future__ import annotations

from typing import Any

from jax._base.caching import weak_cache
from jax._ground.structural import broadcast_to_axis
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.staging import trace_to_jaxpr
from jax._spmd.primitive import context, shard_map_p
from jax.experimental.checkify._calls import unchanged
from jax.experimental.checkify._interpret import Outs, checked_program, structural_rules
from jax.experimental.checkify._state import Checked, Enabled, from_leaves, num_leaves, unbatched
from jax.sharding import PartitionSpec


def _shard_map(enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Outs:
    params = eqn.params
    with context(params):
        checked = checked_program(enabled, params["jaxpr"])
        if checked is not None:
            body = _with_rows(params["jaxpr"], checked)
    if checked is None:
        return unchanged(eqn, values)
    n = num_leaves(checked.sites)
    rows = PartitionSpec(tuple([name for name in params["mesh"].axis_names if name in params["axes"]]))
    outs = shard_map_p.bind(*values, **dict(params, jaxpr=body, out_specs=(*[rows] * n, *params["out_specs"])))
    code, payload = unbatched(outs[0], outs[1:n])
    return from_leaves([code, *payload], checked.sites), list(outs[n:])


@weak_cache
def _with_rows(closed: ClosedJaxpr, checked: Checked) -> ClosedJaxpr:
    """The program of one part, the error of which is a row of the errors of all."""
    n = num_leaves(checked.sites)

    def run(*args: Any) -> list[Any]:
        outs = eval_jaxpr(checked.jaxpr.jaxpr, checked.jaxpr.consts, *args)
        return [*(broadcast_to_axis(x, 1, 0) for x in outs[:n]), *outs[n:]]
    return ClosedJaxpr(*trace_to_jaxpr(run, closed.in_avals, closed.jaxpr.debug_info._replace(arg_names=None)))


structural_rules[shard_map_p] = _shard_map
