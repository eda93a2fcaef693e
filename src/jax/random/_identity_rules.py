"""What each operation does with keys that pass through it, for :mod:`jax.random._identities`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._api.call_primitives import call_p, closed_call_p
from jax._api.checkpoint_policies import name_p
from jax._api.custom_calls import custom_jvp_call_p, custom_vjp_call_p
from jax._api.jit_primitive import jit_p
from jax._api.placement import device_put_p
from jax._api.remat_primitive import remat_p
from jax._base import source as source_info
from jax._ground.structural import broadcast_in_dim_p, transpose_p
from jax._language.jaxpr import JaxprEqn
from jax._language.trace import bottom, run_in
from jax._spmd.primitive import shard_map_p
from jax.custom_batching import custom_vmap_call_p
from jax.lax._cond import cond_p
from jax.lax._control_common import pieces
from jax.lax._join import stack_p, unstack_p
from jax.lax._scan import scan_p
from jax.lax._while import while_p
from jax.random._arrays import random_unwrap_p, random_wrap_p
from jax.random._calls import SAMPLER
from jax.random._gamma import random_gamma_p
from jax.random._identities import (
    Known,
    Plan,
    call,
    consume,
    holds_keys,
    rules,
    signature,
)
from jax.random._identity import Identities, Identity, Use, fresh
from jax.random._primitives import (
    random_bits_p,
    random_clone_p,
    random_consume_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unmapped_p,
)

Given = list[Identities]
AHEAD = 4  # iterations of a loop that are followed; keys that change places are back by then


def _new(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    return [None] * len(eqn.outvars)


def _consuming(name: str) -> Any:
    def rule(eqn: JaxprEqn, given: Given, known: Known) -> Given:
        consume(given[0], Use(name, eqn.source_info.traceback))
        return [None] * len(eqn.outvars)
    return rule


def _passing(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    return given


for _prim in (random_seed_p, random_wrap_p, random_unwrap_p, random_clone_p, random_fold_in_p):
    rules[_prim] = _new
for _prim, _name in ((random_bits_p, "the drawing of random bits"), (random_split_p, "jax.random.split"),
                     (random_gamma_p, "jax.random.gamma")):
    rules[_prim] = _consuming(_name)
rules[random_consume_p] = lambda eqn, given, known: _consuming(f"jax.random.{eqn.params['api']}")(eqn, given, known)
for _prim in (random_unmapped_p, lax.copy_p, lax.optimization_barrier_p, device_put_p, name_p):
    rules[_prim] = _passing


# --- operations that move keys --------------------------------------------------------------------------------------

def _by_numpy(move: Any) -> Any:
    def rule(eqn: JaxprEqn, given: Given, known: Known) -> Given:
        if any(g is None for g in given):
            return [None]
        return [move(*given, **eqn.params)]
    return rule


def _sliced(x: Any, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple([slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, steps, strict=True)])]


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, sharding: Any = None) -> Any:
    """Copies of a key are new keys: a mapped function gives all examples the same one on purpose."""
    if int(np.prod(shape)) != x.size:
        return fresh(shape)
    return x.reshape(shape)


def _reshape(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    if given[0] is None or eqn.params.get("dimensions") is not None:
        return [None]
    return [given[0].reshape(eqn.outvars[0].aval.shape)]


rules[lax.slice_p] = _by_numpy(_sliced)
rules[lax.squeeze_p] = _by_numpy(lambda x, dimensions: np.squeeze(x, tuple(dimensions)))
rules[lax.reshape_p] = _reshape
rules[transpose_p] = _by_numpy(lambda x, permutation: np.transpose(x, permutation))
rules[lax.rev_p] = _by_numpy(lambda x, dimensions: np.flip(x, tuple(dimensions)))
rules[lax.concatenate_p] = _by_numpy(lambda *xs, dimension: np.concatenate(xs, dimension))
rules[broadcast_in_dim_p] = _by_numpy(_broadcast)


def _by_evaluation(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    """Moves the numbers of keys, instead of keys, where all other operands are known."""
    table: list[Identity] = []
    operands: list[Any] = []
    for v, ids in zip(eqn.invars, given, strict=True):
        if ids is not None:
            operands.append(np.arange(len(table), len(table) + ids.size, dtype=np.int32).reshape(ids.shape))
            table.extend(ids.flat)
        else:
            operands.append(known.of(v))
    if not table:
        return [None] * len(eqn.outvars)
    if any(x is None for x in operands):
        known.missed = True
        return [None] * len(eqn.outvars)
    outs = run_in(bottom, eqn.primitive.bind, *operands, **eqn.params)
    if not eqn.primitive.multiple_results:
        outs = [outs]
    return [_looked_up(table, np.asarray(places)) for places in outs]


def _looked_up(table: Sequence[Identity], places: np.ndarray) -> Identities:
    out = fresh(places.shape).reshape(-1)
    for i, k in enumerate(places.flat):
        if 0 <= k < len(table):  # what comes from out of bounds is new
            out[i] = table[k]
    return out.reshape(places.shape)


for _prim in (lax.gather_p, lax.dynamic_slice_p, lax.dynamic_update_slice_p, lax.scatter_p, lax.select_n_p, lax.split_p,
              lax.pad_p, lax.tile_p, stack_p, unstack_p):
    rules[_prim] = _by_evaluation


# --- calls ----------------------------------------------------------------------------------------------------------

def _calling(parameter: str) -> Any:
    def rule(eqn: JaxprEqn, given: Given, known: Known) -> Given:
        closed = eqn.params[parameter]
        values = [known.of(v) for v in eqn.invars] if known.folding else None
        known.missed |= values is None and signature(closed).missed
        return call(closed, given, values=values)
    return rule


def _jit(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    if eqn.params["name"].startswith(SAMPLER):
        for ids in given:
            consume(ids, Use(eqn.params["name"], eqn.source_info.traceback))
        return [None] * len(eqn.outvars)
    return _of_jaxpr(eqn, given, known)


_of_jaxpr = _calling("jaxpr")
rules[jit_p] = _jit
rules[closed_call_p] = rules[custom_jvp_call_p] = rules[custom_vjp_call_p] = _calling("call_jaxpr")
rules[custom_vmap_call_p] = _calling("call")
rules[call_p] = lambda eqn, given, known: call(call_p.program(eqn.params["call_jaxpr"]), given)


def _checkpoint(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    """What is computed a second time in the backward pass consumes keys again on purpose."""
    if eqn.params["differentiated"]:
        return [None] * len(eqn.outvars)
    return call(eqn.params["jaxpr"], given)


rules[remat_p] = _checkpoint


def _cond(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    """Of the branches only one runs: what any of them consumes counts as consumed."""
    outcomes, plans = [], []
    for branch in eqn.params["branches"]:
        sig = signature(branch)
        plan = Plan(sig, [*[None] * len(branch.consts), *given[1:]])
        plans.append(plan)
        outcomes.append(plan.results(sig))
    for plan in plans:
        plan.commit()
    return [_joined(column) for column in zip(*outcomes, strict=True)]


def _joined(column: Sequence[Identities]) -> Identities:
    """The identities of what is one of several arrays: those on which all agree, else new ones."""
    if any(ids is None for ids in column):
        return None
    out = np.empty(column[0].size, object)
    for i, several in enumerate(zip(*[ids.flat for ids in column], strict=True)):
        same = all(s is several[0] for s in several)
        out[i] = several[0] if same else Identity(next((s.used for s in several if s.used is not None), None))
    return out.reshape(column[0].shape)


def _loop_text(eqn: JaxprEqn, name: str) -> str:
    return f", in another iteration of the {name} at {source_info.summarize(eqn.source_info.traceback)}"


def _while(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    params = eqn.params
    cond_consts, body_consts, carry = pieces(given, params["cond_nconsts"], params["body_nconsts"])
    states = [carry]
    for i in range(AHEAD):
        within = _loop_text(eqn, "while_loop") if i else ""
        call(params["cond_jaxpr"], [*cond_consts, *states[-1]], within)
        if i + 1 < AHEAD:
            states.append(call(params["body_jaxpr"], [*body_consts, *states[-1]], within))
    return [_joined(column) for column in zip(states[0], states[1], states[-1], strict=True)]


def _scan(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    params = eqn.params
    body, length, num_carry = params["jaxpr"], params["length"], params["num_carry"]
    consts, carry, xs = pieces(given, params["num_consts"], num_carry)
    order = range(length)[::-1] if params["reverse"] else range(length)
    num_ys = len(eqn.outvars) - num_carry
    ys = [fresh(v.aval.shape) if holds_keys(v) else None for v in eqn.outvars[num_carry:]]
    for step, i in enumerate(order):
        rows = [None if x is None else np.asarray(x[i], object) for x in xs]
        if step < AHEAD:
            outs = call(body, [*consts, *carry, *rows], _loop_text(eqn, "scan") if step else "")
            carry = outs[:num_carry]
        else:  # carry and constants have been followed far enough
            outs = call(body, [*[None] * (len(consts) + num_carry), *rows])
        for k in range(num_ys):
            row = outs[num_carry + k]
            if ys[k] is not None and row is not None:
                ys[k][i] = row if row.shape else row[()]
        if step >= AHEAD and not any(r is not None for r in rows) and not any(y is not None for y in ys):
            break
    return [*carry, *ys]


def _shard_map(eqn: JaxprEqn, given: Given, known: Known) -> Given:
    """Parts of one array of keys are consumed together; a key that all parts have counts as used once."""
    body = eqn.params["jaxpr"]
    sig = signature(body)
    whole = [None] * len(given)
    for i, (own, ids) in enumerate(zip(sig.inputs[len(body.consts):], given, strict=True)):
        if own is None or ids is None:
            continue
        if own.shape == ids.shape:
            whole[i] = ids
        else:
            use = next((one.used for one in own.flat if one.used is not None), None)
            if use is not None:
                consume(ids, use)
    Plan(sig, [*[None] * len(body.consts), *whole]).commit()
    return [None] * len(eqn.outvars)


rules[shard_map_p] = _shard_map
rules[cond_p] = _cond
rules[while_p] = _while
rules[scan_p] = _scan
