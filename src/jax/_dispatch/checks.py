"""Looking for NaN and infinities in results, under ``jax_debug_nans`` and ``jax_debug_infs``.

When a compiled program returns one, the program is run again one operation at a time, and the value is followed back
from the result to the operation that made it out of operands without any, into loops, branches and called functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax._base import config, source
from jax._base._jaxlib import xla
from jax._language.avals import typeof
from jax._language.discharge import without_own_references
from jax._language.evaluation import bind_eqn
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jax._language.refs import Ref
from jax._language.trace import bottom, run_in
from jax._runtime import transfer

# Under jax_debug_key_reuse: (program, arguments, name) -> None, or a function of the results, to be called when the program
# has run. jax.random enters what looks for keys that are used again.
key_followers: list[Callable[..., Any]] = []


def follow_keys(jaxpr: ClosedJaxpr, args: Sequence[Any], name: str) -> Any:
    """Raises if a program, applied to concrete values, would use a random key again; see ``key_followers``."""
    if config.debug_key_reuse.value:
        for follow in key_followers:
            return follow(jaxpr, args, name)
    return None


def enabled() -> bool:
    """Whether results are to be checked in this thread."""
    return bool(config.debug_nans.value or config.debug_infs.value)


class Forbidden(NamedTuple):
    """What is looked for."""

    nans: bool
    infs: bool

    def where(self, x: Any) -> Any:
        """A mask of the forbidden elements of ``x``, or None if there are none."""
        value = _readable(x)
        if value is None:
            return None
        mask = np.zeros(value.shape, bool)
        if self.nans:
            mask |= np.isnan(value)
        if self.infs:
            mask |= np.isinf(value)
        return mask if mask.any() else None

    def found(self, x: Any) -> str | None:
        """``"NaN"`` or ``"an infinity"`` if ``x`` holds such a value."""
        value = _readable(x)
        if value is None:
            return None
        if self.nans and np.isnan(value).any():
            return "NaN"
        return "an infinity" if self.infs and np.isinf(value).any() else None


def _readable(x: Any) -> Any:
    """The elements of an array as NumPy's own floats, or None where there are none, or none in this process."""
    if type(x) in (float, complex):
        return np.asarray(x)
    dtype = getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype) or not dtypes.issubdtype(dtype, np.inexact):
        return None
    if isinstance(x, xla.ArrayImpl):
        if not x.is_fully_addressable or x.is_deleted():
            return None
        with transfer.explicit():
            x = np.asarray(x)
    elif not isinstance(x, (np.ndarray, np.generic)):
        return None
    return np.asarray(x) if dtype.kind in "fc" and dtype.itemsize > 1 else np.asarray(x).astype(np.float32)


def check_operation(outs: Sequence[Any], prim: Any, params: dict[str, Any], args: Sequence[Any]) -> None:
    """Raises FloatingPointError if a result of an eager operation holds what the options forbid.

    Loops and branches are run again to name the operation inside.
    """
    forbidden = Forbidden(config.debug_nans.value, config.debug_infs.value)
    found = next((kind for x in outs if (kind := forbidden.found(x))), None)
    if found is None:
        return
    descent = descents.get(prim)
    if descent is not None and not any(isinstance(x, Ref) for x in args):
        with config.debug_nans(False), config.debug_infs(False):
            run_in(bottom, descent, Search(forbidden, prim.name), params, list(args))
    mask = next(m for x in outs if (m := forbidden.where(x)) is not None)
    operands = f" (operands: {_describe(args, _first(mask))})" if args else ""
    raise FloatingPointError(f"{found} in the result of {prim.name}, at {source.summarize(source.capture())}{operands}")


def check_results(outs: Sequence[Any], name: str, jaxpr: ClosedJaxpr, args: Sequence[Any]) -> None:
    """Raises FloatingPointError if a result of a program, one of ``outs``, holds what the options forbid.

    If the arguments still exist, the error names the operation that made the value and the user's line.
    """
    forbidden = Forbidden(config.debug_nans.value, config.debug_infs.value)
    found = next((kind for x in outs if (kind := forbidden.found(x))), None)
    if found is None:
        return
    if any(isinstance(x, Ref) or isinstance(x, xla.ArrayImpl) and x.is_deleted() for x in args):
        raise FloatingPointError(f"{found} in the result of {name}. Its arguments were donated or are references, so that "
                                 "it cannot be run again to find the operation: compile it without donation.")
    jaxpr = without_own_references(jaxpr)
    with config.debug_nans(False), config.debug_infs(False):  # what runs now is looked at here
        try:
            search = Search(forbidden, name)
            run_in(bottom, search.program, jaxpr.jaxpr, jaxpr.consts, args)
        except FloatingPointError:
            raise
        except Exception as error:
            raise FloatingPointError(f"{found} in the result of {name}; the search for the operation that made it failed: "
                                     f"{error}") from error
    raise FloatingPointError(
        f"{found} in the result of the compiled {name}, but not when its operations run one at a time: the compiler "
        "has changed the order or precision of operations. jax.disable_jit() and jax_debug_nans=False get around it.")


class Search:
    """Runs a program one operation at a time and follows forbidden values back to where they come from."""

    def __init__(self, forbidden: Forbidden, name: str) -> None:
        self.forbidden = forbidden
        self.name = name

    def program(self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """The results of ``jaxpr``. Raises FloatingPointError at the operation that a forbidden result comes from."""
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        maker: dict[Any, JaxprEqn] = {}
        for eqn in jaxpr.eqns:
            with source.user_context(eqn.source_info):
                out = bind_eqn(eqn, _values(eqn, env))
            env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
            maker.update(dict.fromkeys(eqn.outvars, eqn))
        outs = [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]
        for v, x in zip(jaxpr.outvars, outs, strict=True):
            if self.forbidden.found(x):
                self._follow(jaxpr, v, env, maker)
        return outs

    def _follow(self, jaxpr: Jaxpr, v: Any, env: dict[Any, Any], maker: dict[Any, JaxprEqn]) -> None:
        """From a variable with a forbidden value to an operation whose operands have none."""
        while type(v) is not Literal and v in maker:
            eqn = maker[v]
            bad = next((u for u in eqn.invars if self.forbidden.found(
                u.val if type(u) is Literal else env[u])), None)
            if bad is None:
                self._blame(eqn, _values(eqn, env), env[v])
            v = bad
        kind = self.forbidden.found(v.val if type(v) is Literal else env[v])
        if v in jaxpr.invars:
            what = f"the argument {jaxpr.debug_info.arg_name(jaxpr.invars.index(v))}"
        else:
            what = "a constant of it, a literal or an array that it closes over"
        raise FloatingPointError(f"{kind} in the result of {self.name} comes from {what}, which holds it already")

    def _blame(self, eqn: JaxprEqn, args: list[Any], out: Any) -> None:
        prim = eqn.primitive
        inside = descents.get(prim) or _called
        inside(self, eqn.params, args)
        place = eqn.source_info.summary()
        frame = source.user_frame(eqn.source_info.traceback)
        line = f"\n    {text}" if frame is not None and (text := frame.text()) else ""
        operands = _describe(args, _first(self.forbidden.where(out)))
        raise FloatingPointError(f"{self.forbidden.found(out)} in the result of {prim.name}, at {place}{line}\n"
                                 f"Operands: {operands}\n(found by running {self.name} again, one operation at a time)")


def _first(mask: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape of a result, and index of its first forbidden element."""
    return mask.shape, tuple(int(i) for i in np.argwhere(mask)[0])


Descent = Callable[[Search, dict[str, Any], list[Any]], None]
# Primitives that run jaxprs: how to search them. A descent raises FloatingPointError if it finds the operation.
descents: dict[Any, Descent] = {}


def _called(search: Search, params: dict[str, Any], args: list[Any]) -> None:
    """Operations that call one program with their own operands."""
    for value in params.values():
        if isinstance(value, ClosedJaxpr) and len(value.jaxpr.invars) == len(args):
            search.program(value.jaxpr, value.consts, args)
            return


def _values(eqn: JaxprEqn, env: dict[Any, Any]) -> list[Any]:
    return [v.val if type(v) is Literal else env[v] for v in eqn.invars]


def _describe(args: Sequence[Any], at: tuple[tuple[int, ...], tuple[int, ...]] | None = None) -> str:
    """Types of operands, and their values where a result of the same shape went wrong."""
    listed = []
    for x in args:
        text = typeof(x).str_short()
        value = _readable(x)
        if value is not None:
            if value.ndim == 0:
                text += f" = {value}"
            elif at is not None and value.shape == at[0]:
                text += f" ({value[at[1]]} at {list(at[1])})"
        listed.append(text)
    return ", ".join(listed) or "none"
