"""Tokens, which put operations of one program in order, and what is exchanged with the outside beside arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._language import rules
from jax._language.avals import AbstractToken, abstract_token, register_aval, typeof
from jax._language.primitive import Primitive
from jax._lowering.context import current_state
from jax._lowering.rules import register_lowering


class Token:
    """A token outside of programs: it stands for what has happened already."""

    __slots__ = ()
    aval = abstract_token

    def __repr__(self) -> str:
        return "Token()"

    def block_until_ready(self) -> Token:
        """Nothing to wait for."""
        return self


register_aval(Token, lambda x: abstract_token)


def _token_type() -> Any:
    return _jaxlib.stablehlo.TokenType.get(current_state().context)


create_token_p = Primitive("create_token")
create_token_p.def_abstract_eval(lambda *_: abstract_token)
create_token_p.def_impl(lambda *_: Token())
register_lowering(create_token_p, lambda ctx, *_: [_jaxlib.ir.Operation.create(
    "stablehlo.create_token", (_token_type(),), ()).result])


@api_boundary
def create_token(_: Any = None) -> Any:
    """A token that nothing comes before. Inside of one program, :func:`after_all` joins tokens.

    >>> import jax
    >>> jax.lax.after_all(jax.lax.create_token(), jax.lax.create_token())
    Token()
    """
    return create_token_p.bind()


after_all_p = Primitive("after_all")
after_all_p.def_abstract_eval(lambda *_: abstract_token)
after_all_p.def_impl(lambda *_: Token())
register_lowering(after_all_p, lambda ctx, *tokens: [_jaxlib.ir.Operation.create(
    "stablehlo.after_all", (_token_type(),), tokens).result])
rules.primitive_batchers[after_all_p] = lambda args, dims: (after_all_p.bind(*args), None)


@api_boundary
def after_all(*operands: Any) -> Any:
    """A token that comes after all tokens given.

    Raises:
      TypeError: an operand is no token.
    """
    for i, x in enumerate(operands):
        try:
            fine = isinstance(typeof(x), AbstractToken)
        except TypeError:
            fine = False
        if not fine:
            raise TypeError(f"after_all takes tokens, as made by jax.lax.create_token, and operand {i} is {x!r} of type "
                            f"{type(x).__name__}; jax.lax.optimization_barrier orders computations of arrays")
    return after_all_p.bind(*operands)


# --- what the runtime does not offer ---------------------------------------------------------------------------------

infeed_p = Primitive("infeed", multiple_results=True)
outfeed_p = Primitive("outfeed")


def infeed(token: Any, shape: Any = None, partitions: Any = None) -> Any:
    """Values from the infeed queue of a device, which the runtime has no way to fill: a program would wait forever.

    Raises:
      NotImplementedError: always. ``jax.experimental.io_callback`` and ``jax.pure_callback`` bring values into a program.
    """
    raise NotImplementedError("infeed: the runtime has no way to put values into the queue that it reads, and the program "
                              "would wait forever. Bring values into a running program with jax.experimental.io_callback")


def outfeed(token: Any, xs: Any, partitions: Any = None) -> Any:
    """Values to the outfeed queue of a device, which the runtime has no way to read: a program would wait once it is full.

    Raises:
      NotImplementedError: always. ``jax.debug.callback`` and ``jax.experimental.io_callback`` take values out of a program.
    """
    raise NotImplementedError("outfeed: the runtime has no way to read the queue that it fills, and the program would wait "
                              "forever. Take values out of a running program with jax.debug.callback or "
                              "jax.experimental.io_callback")


def psend(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """The first half of a :func:`ppermute`, as GPU libraries split it.

    Raises:
      NotImplementedError: always. :func:`jax.lax.ppermute` sends and receives, and the compiler overlaps it.
    """
    raise NotImplementedError("psend: a send that is apart from its receipt is not supported; jax.lax.ppermute(x, "
                              "axis_name, perm) does both, and the compiler overlaps it with computation")


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """The second half of a :func:`ppermute`, as GPU libraries split it.

    Raises:
      NotImplementedError: always. :func:`jax.lax.ppermute` sends and receives, and the compiler overlaps it.
    """
    raise NotImplementedError("precv: a receipt that is apart from its send is not supported; jax.lax.ppermute(x, "
                              "axis_name, perm) does both, and the compiler overlaps it with computation")


def _unavailable(name: str) -> Any:
    def refuse(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"{name}_p is a name only; see jax.lax.{name} for what to use instead")
    return refuse


for _prim in (infeed_p, outfeed_p):
    _prim.def_effectful_abstract_eval(_unavailable(_prim.name))
    register_lowering(_prim, _unavailable(_prim.name))

__all__ = ["after_all", "after_all_p", "create_token", "create_token_p", "infeed", "infeed_p", "outfeed", "outfeed_p",
           "precv", "psend"]
