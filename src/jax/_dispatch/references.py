"""Running programs on references: discharged, they take arrays and return the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._base._jaxlib import xla
from jax._base.caching import weak_cache
from jax._language.discharge import apply_discharged, discharged
from jax._language.jaxpr import ClosedJaxpr
from jax._language.lifting import lifted
from jax._language.refs import Ref, is_ref_type, use
from jax._runtime import transfer


class Pure(NamedTuple):
    """A program on references as one on arrays.

    Attributes:
      jaxpr: takes arrays in place of references; returns the new arrays first, and then the results.
      changed: the positions of the arguments whose new arrays it returns.
      in_avals: the types of its arguments before.
      closed_over: references that come before the arguments.
    """

    jaxpr: ClosedJaxpr
    changed: tuple[int, ...]
    in_avals: list[Any]
    closed_over: tuple[Ref, ...]

    def operands(self, args: Sequence[Any], name: str) -> list[Any]:
        """All arguments.

        Raises:
          ValueError: a reference is both among the arguments and closed over.
        """
        if any([x is r for x in args for r in self.closed_over]):
            raise ValueError(f"{name} was compiled for references of its own, and is given one that a derivative rule in it "
                             "closes over; call the jitted function instead")
        return [*self.closed_over, *args]


def pure_program(jaxpr: ClosedJaxpr) -> Pure | None:
    """``jaxpr`` without references; None if it has none."""
    return _pure_program(jaxpr, ()) if use.begun else None


def pure_program_for(jaxpr: ClosedJaxpr, args: Sequence[Any]) -> Pure | None:
    """:func:`pure_program`, for a call with these arguments: what it closes over may be one of them."""
    pure = pure_program(jaxpr)
    if pure is None or not pure.closed_over:
        return pure
    same = tuple([(k, i) for k, r in enumerate(pure.closed_over) for i, x in enumerate(args) if x is r])
    return _pure_program(jaxpr, same) if same else pure


@weak_cache
def _pure_program(jaxpr: ClosedJaxpr, same: tuple[tuple[int, int], ...]) -> Pure | None:
    """``same`` says which references that the program closes over are which of its arguments."""
    whole = lifted(jaxpr, same)
    pure = discharged(whole.closed)
    closed, changed = pure.closed, pure.changed
    if closed is jaxpr:
        return None
    if changed:
        # New arrays come first, where donated arguments look for results that can have their memory.
        old = closed.jaxpr
        n = len(old.outvars) - len(changed)
        closed = ClosedJaxpr(old.replace(outvars=[*old.outvars[n:], *old.outvars[:n]], effects=old.effects), closed.consts)
    return Pure(closed, changed, whole.closed.in_avals, whole.refs)


def donations(pure: Pure, donated: Sequence[bool]) -> tuple[bool, ...]:
    """Which arguments' memory the program may reuse: of references, that of the changed ones."""
    avals, first = pure.in_avals, len(pure.closed_over)
    asked = (*(False,) * first, *(donated or (False,) * (len(avals) - first)))
    return tuple([i in pure.changed if is_ref_type(a) else bool(d)
                  for i, (a, d) in enumerate(zip(avals, asked, strict=True))])


def arrays_in(args: Sequence[Any]) -> list[Any]:
    """The arguments with the arrays of references in their place."""
    return [x.peek() if type(x) is Ref else x for x in args]


def placement_of(pure: Pure, device: Any) -> Any:
    """Where the pure program runs: shardings asked for results leave those of new arrays to the compiler."""
    asked = getattr(device, "out_shardings", None)
    if asked is None or not pure.changed:
        return device
    return device._replace(out_shardings=(*(None,) * len(pure.changed), *asked))


class ProgramOnReferences:
    """An executable that takes references; see :class:`jax._runtime.execute.Executable` for what it has."""

    __slots__ = ("executable", "pure", "changed", "__weakref__")

    def __init__(self, executable: Any, pure: Pure) -> None:
        self.executable = executable
        self.pure = pure
        self.changed = pure.changed

    def call(self, args: Sequence[Any], committed: bool | None = None) -> list[Any]:
        """Runs the program and puts the new arrays into the references."""
        donated = self.executable.donated
        if self.pure.closed_over:
            args = self.pure.operands(args, self.executable.name)
        inputs = [x if type(x) is not Ref else x.own(_copy) if i in donated else x.peek() for i, x in enumerate(args)]
        outs = self.executable.call(inputs, committed)
        n = len(self.changed)
        for i, new in zip(self.changed, outs, strict=False):
            args[i].store(new)
        return outs[n:]

    __call__ = call

    @property
    def out_avals(self) -> tuple[Any, ...]:
        return self.executable.out_avals[len(self.changed):]

    @property
    def out_shardings(self) -> tuple[Any, ...]:
        return tuple(self.executable.out_shardings)[len(self.changed):]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.executable, name)


def run_discharged(prim: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Applies a primitive that holds jaxprs to concrete references, as one on their arrays.

    The jaxprs of that one have no effects, so that programs that say the same are compiled once.
    """
    return apply_discharged(prim, args, params, [type(x) is Ref for x in args], Ref.peek, Ref.store)


def _copy(x: Any) -> Any:
    return transfer.copy(x) if type(x) is xla.ArrayImpl else x


__all__ = ["ProgramOnReferences", "Pure", "arrays_in", "donations", "placement_of", "pure_program", "pure_program_for",
           "run_discharged"]
