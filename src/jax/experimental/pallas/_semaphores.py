"""Semaphores: counters that programs of a kernel signal and wait for.

Interpreted programs run one after another. What a program waits for has therefore been signalled before, or never will be:
then the wait fails, and an error is raised when the kernel has run (or returned by ``checkify``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._base._jaxlib import xla
from jax._base.source import api_boundary
from jax._ground.references import read_through, write_through
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.effects import AccumEffect, ReadEffect, WriteEffect
from jax._language.jaxpr import JaxprEqn
from jax._language.primitive import RefPrimitive
from jax._language.refs import AbstractRef, Ref
from jax.experimental.checkify._check import check, check_effect
from jax.experimental.pallas._memory import SEMAPHORE, DeviceIdType
from jax.ref import RefView

_COUNT = ShapedArray((), np.dtype(np.int32))
_READ, _WRITE, _ACCUM = {ReadEffect(0)}, {WriteEffect(0)}, {AccumEffect(0)}

# Operands: the semaphore, an amount (of all but read), and those of the views that lead to one semaphore of several.
semaphore_read_p = RefPrimitive("semaphore_read")
semaphore_signal_p = RefPrimitive("semaphore_signal", multiple_results=True, writes=True)
semaphore_wait_p = RefPrimitive("semaphore_wait", multiple_results=True, writes=True)

semaphore_read_p.def_effectful_abstract_eval(lambda sem, *operands, views: (_COUNT, _READ))
semaphore_signal_p.def_effectful_abstract_eval(lambda sem, amount, *operands, views: ([], _ACCUM))
semaphore_wait_p.def_effectful_abstract_eval(
    lambda sem, amount, *operands, views, decrement: ([], (_WRITE if decrement else _READ) | {check_effect}))


def _signal(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    cell, amount, *operands = args
    cell.value = write_through(cell.value, params["views"], operands, amount, "add")
    return []


def _wait(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    cell, amount, *operands = args
    count = read_through(cell.value, params["views"], operands)
    check(lax.ge(count, amount), "pl.semaphore_wait: the semaphore has the value {}, and a program waits until it is {}. "
          "Programs of an interpreted kernel run one after another, so nothing will signal it any more: it would wait for "
          "ever. Signal the semaphore before, in the order of the grid.", count, amount)
    if params["decrement"]:
        cell.value = write_through(cell.value, params["views"], operands, lax.sub(count, amount), "set")
    return []


rules.discharge_rules[semaphore_read_p] = lambda args, params: read_through(args[0].value, params["views"], args[1:])
rules.discharge_rules[semaphore_signal_p] = _signal
rules.discharge_rules[semaphore_wait_p] = _wait


def _text(eqn: JaxprEqn, names: Any, settings: Any) -> str:
    place = "".join([view.text([names(v) for v in eqn.invars[-view.num_operands:]] if view.num_operands else [])
                     for view in eqn.params["views"]])
    made = f"{names.typed(eqn.outvars[0])} = " if eqn.outvars else ""
    amount = f" {names(eqn.invars[1])}" if eqn.primitive is not semaphore_read_p else ""
    return f"{made}{eqn.primitive} {names(eqn.invars[0])}{place}{amount}"


for _prim in (semaphore_read_p, semaphore_signal_p, semaphore_wait_p):
    rules.pp_rules[_prim] = _text


# --- the functions ----------------------------------------------------------------------------------------------------

def _target(api: str, sem: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The reference, the views and their operands of one semaphore."""
    aval = getattr(sem, "aval", None)
    if not isinstance(sem, Ref) or not isinstance(aval, AbstractRef) or aval.kind != SEMAPHORE:
        raise TypeError(f"pl.{api} needs a reference to a semaphore (scratch memory pl.ANY(shape, pl.semaphore)), got "
                        f"{sem!r}")
    if aval.shape != ():
        raise ValueError(f"pl.{api} needs one semaphore, and got an array of them of shape {aval.shape}; choose one with "
                         "sem.at[index]")
    if isinstance(sem, RefView):
        return sem.ref, sem.views, sem.operands
    return sem, (), ()


def _amount(api: str, name: str, x: Any) -> Any:
    aval = typeof(x)
    if aval.shape != () or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"pl.{api}: {name} must be an integer scalar, got {aval.str_short()}")
    if isinstance(x, (int, np.integer)) and x < 0:
        raise ValueError(f"pl.{api}: {name} must not be negative, got {x}")
    return x.astype(np.int32) if isinstance(x, xla.Array) else np.int32(x)


@api_boundary
def semaphore_read(sem_or_view: Any) -> Any:
    """The value of a semaphore, an int32 scalar.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out, sem):
    ...     pl.semaphore_signal(sem, 3)
    ...     pl.semaphore_wait(sem, 2)
    ...     out[...] = pl.semaphore_read(sem)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((), jnp.int32), scratch_shapes=[pl.ANY((), pl.semaphore)],
    ...                interpret=True)()
    Array(1, dtype=int32)
    """
    sem, views, operands = _target("semaphore_read", sem_or_view)
    return semaphore_read_p.bind(sem, *operands, views=views)


@api_boundary
def semaphore_signal(sem_or_view: Any, inc: Any = 1, *, device_id: Any = None,
                     device_id_type: DeviceIdType = DeviceIdType.MESH, core_index: Any = None) -> None:
    """Adds ``inc`` to a semaphore.

    Args:
      sem_or_view: a reference to a semaphore, or ``sem.at[index]`` for one of several.
      inc: an integer scalar, not negative.
      device_id, device_id_type, core_index: name another device or core. Interpreted kernels have one, so they must be left
        out.

    Raises:
      TypeError: no semaphore, or no integer.
      NotImplementedError: another device or core is named.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out, sems):
    ...     pl.semaphore_signal(sems.at[1], 3)
    ...     out[0], out[1] = pl.semaphore_read(sems.at[0]), pl.semaphore_read(sems.at[1])
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((2,), jnp.int32), scratch_shapes=[pl.ANY((2,), pl.semaphore)],
    ...                interpret=True)()
    Array([0, 3], dtype=int32)
    """
    if device_id is not None or core_index is not None:
        which = f"device_id={device_id!r}" if device_id is not None else f"core_index={core_index!r}"
        raise NotImplementedError(f"pl.semaphore_signal: {which} names a semaphore of another device or core, and "
                                  "interpreted kernels run on one; leave it out")
    if not isinstance(device_id_type, DeviceIdType):
        raise TypeError(f"pl.semaphore_signal: device_id_type must be a pl.DeviceIdType, got {device_id_type!r}")
    sem, views, operands = _target("semaphore_signal", sem_or_view)
    semaphore_signal_p.bind(sem, _amount("semaphore_signal", "inc", inc), *operands, views=views)


@api_boundary
def semaphore_wait(sem_or_view: Any, value: Any = 1, *, decrement: bool = True) -> None:
    """Waits until a semaphore is at least ``value``, and takes as much from it.

    Args:
      sem_or_view: a reference to a semaphore, or ``sem.at[index]`` for one of several.
      value: an integer scalar, not negative.
      decrement: whether to take ``value`` away.

    Raises:
      TypeError: no semaphore, or no integer.

    Interpreted programs run one after another, so that a wait which is not over at once never is. It is an error then,
    raised when the kernel has run, or returned by :func:`jax.experimental.checkify.checkify`.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out, sem):
    ...     out[...] = jnp.zeros_like(out)
    ...     pl.semaphore_wait(sem)
    >>> try:
    ...     pl.pallas_call(kernel, jax.ShapeDtypeStruct((), jnp.int32), scratch_shapes=[pl.ANY((), pl.semaphore)],
    ...                    interpret=True)().block_until_ready()
    ... except ValueError as error:
    ...     print("it would wait for ever" in str(error))
    True
    """
    sem, views, operands = _target("semaphore_wait", sem_or_view)
    semaphore_wait_p.bind(sem, _amount("semaphore_wait", "value", value), *operands, views=views, decrement=bool(decrement))


__all__ = ["semaphore_read", "semaphore_signal", "semaphore_wait"]
