"""``vectorize``: functions of small arrays, broadcast over leading dimensions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from jax import lax
from jax._api.vmap import vmap
from jax._language import dims
from jax._language.avals import typeof
from jax.numpy._creation import asarray
from jax.numpy._promotion import check_arraylike, check_rank_promotion, unwrap

Core = tuple[str, ...]
_ARGUMENT = r"\(\s*(?:[^\s,()]+\s*(?:,\s*[^\s,()]+\s*)*)?\)"
_SIGNATURE = re.compile(rf"^\s*(?:{_ARGUMENT}(?:\s*,\s*{_ARGUMENT})*)?\s*->\s*{_ARGUMENT}(?:\s*,\s*{_ARGUMENT})*\s*$")


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(),
              signature: str | None = None) -> Callable[..., Any]:
    """``pyfunc`` mapped over all dimensions of its arguments but the last ones that ``signature`` names.

    The mapped dimensions of all arguments are broadcast together. It is :func:`jax.vmap` with NumPy's way of saying
    what to map.

    Args:
      pyfunc: a function of arrays.
      excluded: positions and names of arguments that are passed on as they are. Keyword arguments always are.
      signature: the dimensions that ``pyfunc`` works on, as in ``"(m,n),(n)->(m)"``; a number in place of a name is a
        size. None: none of them, and results of any shape.

    Raises:
      TypeError, ValueError: for another form of signature; when the function is called, for arguments that do not fit.

    >>> import jax.numpy as jnp
    >>> mul = jnp.vectorize(lambda a, x: a @ x, signature="(m,n),(n)->(m)")
    >>> mul(jnp.ones((5, 2, 3)), jnp.ones(3)).shape
    (5, 2)
    """
    for e in excluded:
        if not isinstance(e, int | str):
            raise TypeError(f"vectorize: excluded arguments are positions or names, got {e!r}")
        if isinstance(e, int) and e < 0:
            raise ValueError(f"vectorize: positions of excluded arguments count from 0, got {e}")
    parsed = None if signature is None else _parse(signature)
    skipped = frozenset(excluded)

    @functools.wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _call(pyfunc, skipped, signature, parsed, args, kwargs)

    return wrapped


def _parse(signature: str) -> tuple[list[Core], list[Core]]:
    if not _SIGNATURE.match(signature):
        raise ValueError(f"vectorize: {signature!r} is no signature; it should look like '(m,n),(n)->(m)'")
    sides = signature.split("->")
    inputs, outputs = ([tuple(re.findall(r"[^\s,()]+", a)) for a in re.findall(_ARGUMENT, side)] for side in sides)
    return inputs, outputs


def _call(fun: Callable[..., Any], excluded: frozenset[Any], signature: str | None, parsed: Any, args: Sequence[Any],
          kwargs: dict[str, Any]) -> Any:
    name = f"vectorize({getattr(fun, '__name__', 'fun')}" + (f", signature={signature!r})" if signature else ")")
    fixed = {k: v for k, v in kwargs.items()}
    skip = {i for i, x in enumerate(args) if i in excluded or x is None}
    positions = [i for i in range(len(args)) if i not in skip]
    arrays = [args[i] for i in positions]
    check_arraylike(name, *arrays)
    arrays = [asarray(unwrap(x)) for x in arrays]
    inputs = [()] * len(arrays) if parsed is None else parsed[0]
    if len(inputs) != len(arrays):
        raise TypeError(f"{name}: the signature has {len(inputs)} arguments, got {len(arrays)}")

    def on_core(*core: Any) -> Any:
        full = list(args)
        for i, x in zip(positions, core, strict=True):
            full[i] = x
        out = fun(*full, **fixed)
        if parsed is not None:
            _check_results(name, out, parsed[1], sizes)
        return out

    sizes: dict[str, Any] = {}
    leads = [_split_shape(name, typeof(x).shape, core, sizes) for x, core in zip(arrays, inputs, strict=True)]
    check_rank_promotion(name, leads)
    lead = dims.broadcast_shapes(leads) if leads else ()
    if lead is None:
        raise ValueError(f"{name}: leading dimensions {', '.join(map(str, leads))} do not broadcast")
    return _mapped(on_core, arrays, leads, lead)


def _split_shape(name: str, shape: Any, core: Core, sizes: dict[str, Any]) -> tuple[Any, ...]:
    """The leading dimensions of an argument; the sizes of the others are entered."""
    n = len(core)
    if len(shape) < n:
        raise ValueError(f"{name}: an argument of shape {shape} has fewer dimensions than its ({','.join(core)}) in the "
                         "signature")
    for key, size in zip(core, shape[len(shape) - n:], strict=True):
        known = int(key) if key.isdigit() else sizes.setdefault(key, size)
        if not dims.dim_eq(known, size):
            raise ValueError(f"{name}: dimension {key!r} has sizes {known} and {size}")
    return shape[:len(shape) - n]


def _check_results(name: str, out: Any, wanted: list[Core], sizes: dict[str, Any]) -> None:
    results = out if isinstance(out, tuple) else (out,)
    if len(results) != len(wanted):
        raise TypeError(f"{name}: the function returned {len(results)} results, and the signature has {len(wanted)}")
    for x, core in zip(results, wanted, strict=True):
        shape = typeof(x).shape
        fits = len(shape) == len(core)
        for key, size in zip(core, shape, strict=False):
            known = int(key) if key.isdigit() else sizes.setdefault(key, size)
            fits = fits and dims.dim_eq(known, size)
        if not fits:
            raise ValueError(f"{name}: a result has shape {shape}, which is not ({','.join(core)}) with "
                             f"{', '.join(f'{k}={v}' for k, v in sizes.items()) or 'no sizes'}")


def _mapped(fun: Callable[..., Any], arrays: list[Any], leads: list[Any], lead: tuple[Any, ...]) -> Any:
    """``fun`` mapped over the dimensions of ``lead``; those of size 1 that are stretched are dropped instead."""
    axes: list[list[int | None]] = []  # for each dimension of lead, the axis of each argument
    squeezed = []
    for x, own in zip(arrays, leads, strict=True):
        missing = len(lead) - len(own)
        drop = tuple([i for i, n in enumerate(own) if dims.is_one(n) and not dims.is_one(lead[missing + i])])
        squeezed.append(lax.squeeze(x, drop) if drop else x)
        axes.append([None if k < missing or k - missing in drop else 0 for k in range(len(lead))])
    for k in range(len(lead) - 1, -1, -1):
        fun = vmap(fun, in_axes=tuple([a[k] for a in axes]))
    return fun(*squeezed)
