"""The error of a program under construction, and how the errors of its parts join."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._ground.structural import full
from jax._language.avals import typeof
from jax._language.jaxpr import ClosedJaxpr
from jax.experimental.checkify._errors import Error, ErrorCategory, Site, Sites, Slot, slots_of
from jax.lax._arithmetic import add
from jax.lax._comparison import eq, ne
from jax.lax._control_common import as_array
from jax.lax._conversion import convert_element_type
from jax.lax._dynamic_slice import dynamic_index_in_dim
from jax.lax._join import concatenate
from jax.lax._reduce import argmax
from jax.lax._select import select_n
from jax.lax._shape import expand_dims, reshape

Enabled = frozenset[ErrorCategory]
_NONE = np.int32(0)


class State(NamedTuple):
    """What has failed so far: the code (``None`` without sites), and for each slot the values to report."""

    code: Any
    payload: dict[Slot, list[Any]]
    sites: Sites

    def leaves(self, sites: Sites, offset: int) -> list[Any]:
        """The state as one of a program with more sites, of which this state's begin at ``offset``."""
        code = _NONE if self.code is None else _shifted(self.code, offset)
        out = [code]
        for slot in slots_of(sites):
            out.extend(self.payload.get(slot) or [full(a.shape, 0, a.dtype) for a in slot])
        return out

    def as_error(self) -> Error:
        if not self.sites:
            return Error()
        code, *payload = [as_array(x, typeof(x)) for x in self.leaves(self.sites, 0)]
        return Error(code, payload, self.sites)


nothing = State(None, {}, ())


def from_leaves(leaves: Sequence[Any], sites: Sites) -> State:
    code, *payload = leaves
    found: dict[Slot, list[Any]] = {}
    rest = iter(payload)
    for slot in slots_of(sites):
        found[slot] = [next(rest) for _ in slot]
    return State(code, found, sites)


def renamed(state: State, sites: Sites, other: Site) -> State:
    """The state as one of a program with ``sites``; what fails at a place that is not among them fails at ``other``."""
    if state.code is None:
        return state
    places = [np.int32((sites.index(s) if s in sites else sites.index(other)) + 1) for s in state.sites]
    payload = {slot: values for slot, values in state.payload.items() if slot in slots_of(sites)}
    return State(select_n(state.code, _NONE, *places), payload, sites)


def num_leaves(sites: Sites) -> int:
    """How many arrays the state of a program with these sites consists of."""
    return 1 + sum(len(slot) for slot in slots_of(sites))


def failure(failed: Any, site: Site, values: Sequence[Any] = ()) -> State:
    """The state of one place, which fails if the boolean scalar says so."""
    payload = {site.values: list(values)} if site.values else {}
    return State(convert_element_type(failed, np.dtype(np.int32)), payload, (site,))


def _shifted(code: Any, offset: int) -> Any:
    if not offset:
        return code
    return select_n(ne(code, _NONE), _NONE, add(code, np.int32(offset)))


def join(states: Sequence[State]) -> State:
    """The state after the parts of a program in their order; what failed first counts.

    The codes of all parts are looked at as one vector: a chain of selections, one for each part, takes XLA long.
    """
    states = [s for s in states if s.code is not None]
    if len(states) < 2:
        return states[0] if states else nothing
    sites = tuple([site for s in states for site in s.sites])
    offsets = np.cumsum([0, *(len(s.sites) for s in states[:-1])]).astype(np.int32)
    codes = concatenate([expand_dims(s.code, (0,)) for s in states], 0)
    failed = ne(codes, np.zeros(len(states), np.int32))
    place = argmax(failed, 0, np.int32)
    code = _row(codes, place)
    payload = {slot: _of_place(slot, states, place) for slot in slots_of(sites)}
    return State(select_n(ne(code, _NONE), _NONE, add(code, _row(offsets, place))), payload, sites)


def _row(x: Any, place: Any) -> Any:
    return dynamic_index_in_dim(x, place, keepdims=False, allow_negative_indices=False)


def _of_place(slot: Slot, states: Sequence[State], place: Any) -> list[Any]:
    """The values that the part at ``place`` reports; any others where it reports none of these types."""
    holders = [i for i, s in enumerate(states) if slot in s.payload]
    rows = [states[i].payload[slot] for i in holders]
    if len(rows) == 1:
        return rows[0]
    position = np.zeros(len(states), np.int32)
    position[holders] = np.arange(len(holders))
    which = _row(position, place)
    if len(rows) > 2 and all(a.size <= 64 for a in slot):
        return [_row(concatenate([expand_dims(_strong(x, a), (0,)) for x in column], 0), which)
                for a, column in zip(slot, zip(*rows, strict=True), strict=True)]
    out = rows[0]
    for i, values in enumerate(rows[1:], 1):  # large values are not put side by side
        out = _choose(eq(which, np.int32(i)), values, out)
    return out


def _strong(x: Any, aval: Any) -> Any:
    return convert_element_type(x, aval.dtype)


def first(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The leaves of the earlier of two errors of one program."""
    return _choose(ne(old[0], _NONE), old, new)


def _choose(failed: Any, old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    return [select_n(failed, b, a) for a, b in zip(old, new, strict=True)]


def unbatched(code: Any, payload: Sequence[Any]) -> tuple[Any, list[Any]]:
    """An error per example as one error: that of the first example that has one."""
    shape = typeof(code).shape
    if not shape:
        return code, list(payload)
    size = math.prod(shape)
    if not size:
        return _NONE, [full(typeof(x).shape[len(shape):], 0, typeof(x).dtype) for x in payload]
    code = reshape(code, (size,))
    place = argmax(ne(code, np.int32(0)), 0, np.int32)
    rows = [reshape(x, (size, *typeof(x).shape[len(shape):])) for x in payload]
    return (dynamic_index_in_dim(code, place, keepdims=False, allow_negative_indices=False),
            [dynamic_index_in_dim(x, place, keepdims=False, allow_negative_indices=False) for x in rows])


class Checked(NamedTuple):
    """A program that also returns its error: ``jaxpr`` gives the leaves of the error, then the results."""

    jaxpr: ClosedJaxpr
    sites: Sites

    def split(self, outs: Sequence[Any]) -> tuple[State, list[Any]]:
        n = num_leaves(self.sites)
        return from_leaves(outs[:n], self.sites), list(outs[n:])
