"""Products that are also summed over named axes: ``pdot`` and ``xeinsum``, from the time of mapped named axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base.source import api_boundary
from jax._ground.structural import permute, sum_axes
from jax._language.avals import typeof
from jax._language.axes import axis_size
from jax.lax._collectives import psum
from jax.lax._dot import dot_general

Pair = tuple[Sequence[int], Sequence[int]]


@api_boundary
def pdot(x: Any, y: Any, axis_name: Any, pos_contract: Pair = ((), ()), pos_batch: Pair = ((), ()),
         precision: Any = None) -> Any:
    """:func:`dot_general`, summed over a named axis (or several) as well.

    Args:
      x, y: arrays.
      axis_name: a name or a tuple of names.
      pos_contract: the array axes of each to sum over.
      pos_batch: the array axes of each to keep.
      precision: as for :func:`dot_general`.

    Raises:
      NameError: the axis is not bound here.

    >>> import jax, jax.numpy as jnp
    >>> jax.vmap(lambda a, b: jax.lax.pdot(a, b, "i"), axis_name="i")(jnp.arange(3), jnp.arange(3)).tolist()
    [5, 5, 5]
    """
    axis_size(axis_name)
    numbers = (tuple(map(tuple, pos_contract)), tuple(map(tuple, pos_batch)))
    return psum(dot_general(x, y, numbers, precision=precision), axis_name)


@api_boundary
def xeinsum(spec: str, *operands: Any) -> Any:
    """Einstein summation with named axes in braces: ``xeinsum('i{n},ij{n}->j', x, y)``.

    Each term of ``spec`` has one letter per array axis and, in braces, the named axes of the operand, separated by commas.
    Letters and names that are not in the result are summed over.

    Raises:
      ValueError: a spec without ``->``, with another number of terms, or with a name in the result that no operand has.

    >>> import jax, jax.numpy as jnp
    >>> dot = lambda a, b: jax.lax.xeinsum("i{n},i{n}->", a, b)
    >>> jax.vmap(dot, axis_name="n")(jnp.ones((3, 2)), jnp.ones((3, 2))).tolist()
    [6.0, 6.0, 6.0]
    """
    inputs, arrow, result = spec.replace(" ", "").partition("->")
    if not arrow:
        raise ValueError(f"xeinsum: the spec {spec!r} has no '->'; the result must be given")
    terms = _split(inputs)
    if len(terms) != len(operands):
        raise ValueError(f"xeinsum: the spec {spec!r} has {len(terms)} terms, and there are {len(operands)} operands")
    parsed, out = [_parse(t) for t in terms], _parse(result)
    names = list(dict.fromkeys(n for _, ns in parsed for n in ns))
    unknown = [n for n in out[1] if n not in names]
    if unknown:
        raise ValueError(f"xeinsum: the result of {spec!r} has the named axes {unknown}, which no operand has")
    for (letters, _), x in zip(parsed, operands, strict=True):
        if typeof(x).ndim != len(letters):
            raise ValueError(f"xeinsum: the term {letters!r} of {spec!r} has {len(letters)} array axes, and the operand has "
                             f"shape {typeof(x).shape}")
    total = _contracted([letters for letters, _ in parsed], operands, out[0])
    summed = tuple(n for n in names if n not in out[1])
    return psum(total, summed) if summed else total


def _contracted(terms: list[str], operands: Sequence[Any], result: str) -> Any:
    """Multiplies the operands one after another, summing over a letter as soon as nothing needs it any more."""
    for t in (*terms, result):
        if len(set(t)) != len(t):
            raise ValueError(f"xeinsum: the term {t!r} has a letter twice; take the diagonal first")
    missing = [c for c in result if not any(c in t for t in terms)]
    if missing:
        raise ValueError(f"xeinsum: the result has the array axes {missing}, which no operand has")
    have, value = "", np.ones((), typeof(operands[0]).dtype)
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        needed = set(result).union(*terms[i + 1:])
        shared = [c for c in have if c in term]
        kept = [c for c in shared if c in needed]
        done = [c for c in shared if c not in needed]
        numbers = tuple((tuple(map(have.index, cs)), tuple(map(term.index, cs))) for cs in (done, kept))
        value = dot_general(value, x, numbers)
        have = "".join([*kept, *(c for c in have if c not in shared), *(c for c in term if c not in shared)])
        alone = [c for c in have if c not in needed]
        value = sum_axes(value, tuple(map(have.index, alone))) if alone else value
        have = "".join(c for c in have if c in needed)
    return permute(value, tuple(map(have.index, result)))


def _split(inputs: str) -> list[str]:
    """Splits at commas outside of braces."""
    terms, depth, start = [], 0, 0
    for i, ch in enumerate(inputs):
        depth += (ch == "{") - (ch == "}")
        if ch == "," and not depth:
            terms.append(inputs[start:i])
            start = i + 1
    return [*terms, inputs[start:]]


def _parse(term: str) -> tuple[str, tuple[str, ...]]:
    letters, brace, rest = term.partition("{")
    if not brace:
        return letters, ()
    inside, closed, after = rest.partition("}")
    if not closed or "{" in after:
        raise ValueError(f"xeinsum: the braces of the term {term!r} do not match")
    return letters + after, tuple(n for n in inside.split(",") if n)


__all__ = ["pdot", "xeinsum"]
