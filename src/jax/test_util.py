"""Checks of derivatives against differences of function values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.forward import jvp
from jax._api.reverse import vjp
from jax._language.avals import typeof
from jax.tree_util import tree_flatten, tree_map, tree_unflatten

# How far derivatives may be off for values of a dtype, and how large the step is that differences are taken with: about
# the cube root of the precision, where rounding and the neglected third derivative err alike.
_TOLERANCES = {2: 1e-1, 4: 2e-3, 8: 1e-5}
_STEPS = {2: 1e-1, 4: 5e-3, 8: 6e-6}


def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int, modes: str | Sequence[str] = ("fwd", "rev"),
                atol: float | None = None, rtol: float | None = None, eps: float | None = None) -> None:
    """Raises unless the derivatives of ``f`` at ``args`` agree with differences of its values, up to ``order``.

    Args:
      f: a function of trees of arrays.
      args: where to check; random directions are taken from there, always the same ones.
      order: 1 for first derivatives, 2 for derivatives of these ...
      modes: ``"fwd"``, ``"rev"`` or both.
      atol, rtol: tolerances; by default according to the dtypes.
      eps: the step of the differences; the same default.

    Raises:
      AssertionError: they differ.
      ValueError: an unknown mode.

    >>> import jax.numpy as jnp
    >>> from jax.test_util import check_grads
    >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if unknown := set(modes) - {"fwd", "rev"}:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {', '.join(map(repr, unknown))}")
    _check(f, tuple(args), order, modes, atol, rtol, eps, ())


def _check(f: Callable[..., Any], args: tuple[Any, ...], order: int, modes: Sequence[str], atol: Any, rtol: Any, eps: Any,
           path: tuple[str, ...]) -> None:
    where = f" of the derivative {'/'.join(path)}" if path else ""
    if "fwd" in modes:
        check_jvp(f, lambda primals, tangents: jvp(f, primals, tangents), args, atol, rtol, eps, f"forward mode{where}")
        if order > 1:
            tangents = _direction(args, len(path))
            _check(lambda *xs: jvp(f, xs, tangents)[1], args, order - 1, modes, atol, rtol, eps, (*path, "fwd"))
    if "rev" in modes:
        check_vjp(f, lambda *primals: vjp(f, *primals), args, atol, rtol, eps, f"reverse mode{where}")
        if order > 1:
            def pull(*xs: Any) -> Any:
                out, back = vjp(f, *xs)
                grads = back(_direction(out, len(path) + 100))
                return [g for g in tree_flatten(grads)[0] if g.dtype != dtypes.float0]
            _check(pull, args, order - 1, modes, atol, rtol, eps, (*path, "rev"))


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float | None = None, err_msg: str = "") -> None:
    """Raises unless ``f_jvp(args, tangents)``, like :func:`jax.jvp`, gives the value and the derivative of ``f``."""
    args = tuple(args)
    tangents = _direction(args, 1)
    out, out_tangent = f_jvp(args, tangents)
    _compare(f(*args), out, atol, rtol, f"{err_msg}: the value")
    _compare(_difference(f, args, tangents, eps), out_tangent, atol, rtol, f"{err_msg}: the tangent of the output")


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float | None = None, err_msg: str = "") -> None:
    """Raises unless ``f_vjp(*args)``, like :func:`jax.vjp`, gives the value of ``f`` and what transposes its derivative."""
    args = tuple(args)
    out, back = f_vjp(*args)
    _compare(f(*args), out, atol, rtol, f"{err_msg}: the value")
    tangents, cotangents = _direction(args, 2), _direction(out, 3)
    _compare(_inner(cotangents, _difference(f, args, tangents, eps)), _inner(back(cotangents), tangents), atol, rtol,
             f"{err_msg}: the cotangents of the arguments, along a direction", _precision(args, out))


def _direction(tree: Any, seed: int) -> Any:
    """Random tangents of a tree of arrays."""
    rng = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        aval = typeof(x).to_tangent_aval()
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        value = rng.standard_normal(aval.shape)
        if dtypes.issubdtype(aval.dtype, np.complexfloating):
            value = value + 1j * rng.standard_normal(aval.shape)
        return np.asarray(value, aval.dtype)
    return tree_map(one, tree)


def _precision(*trees: Any) -> int:
    """The bytes of the least precise real number among the leaves."""
    sizes = [8]
    for x in tree_flatten(trees)[0]:
        dtype = typeof(x).dtype
        if isinstance(dtype, np.dtype) and dtypes.issubdtype(dtype, np.inexact) and dtype != dtypes.float0:
            sizes.append(dtypes.finfo(dtype).bits // 8)
    return min(sizes)


def _wide(x: Any) -> np.ndarray:
    value = np.asarray(x)
    if value.dtype == dtypes.float0:
        return np.zeros(value.shape)
    return value.astype(np.complex128 if dtypes.issubdtype(value.dtype, np.complexfloating) else np.float64)


def _difference(f: Callable[..., Any], args: tuple[Any, ...], tangents: Any, eps: float | None) -> Any:
    """The derivative of ``f`` along ``tangents``, by a central difference."""
    step = _STEPS[max(2, _precision(args))] if eps is None else eps

    def moved(sign: float) -> tuple[Any, ...]:
        def one(x: Any, t: Any) -> Any:
            if t.dtype == dtypes.float0:
                return x
            return np.asarray(_wide(x) + sign * step * _wide(t), typeof(x).dtype)
        return tree_map(one, args, tangents)

    ahead, tree = tree_flatten(f(*moved(1.0)))
    behind, _ = tree_flatten(f(*moved(-1.0)))
    return tree_unflatten(tree, [(_wide(a) - _wide(b)) / (2 * step) for a, b in zip(ahead, behind, strict=True)])


def _inner(a: Any, b: Any) -> np.ndarray:
    """The product of a cotangent and a tangent, which is real for real functions and not conjugated for complex ones."""
    total: Any = 0.0
    for x, y in zip(tree_flatten(a)[0], tree_flatten(b)[0], strict=True):
        total = total + np.sum(_wide(x) * _wide(y))
    return np.real(np.asarray(total))


def _compare(expected: Any, found: Any, atol: float | None, rtol: float | None, what: str, precision: int = 8) -> None:
    wanted, tree = tree_flatten(expected)
    got, got_tree = tree_flatten(found)
    if tree != got_tree:
        raise AssertionError(f"{what} has the structure {got_tree}; expected {tree}")
    default = _TOLERANCES[max(2, min(precision, _precision(got)))] if atol is None or rtol is None else 0.0
    for x, y in zip(wanted, got, strict=True):
        np.testing.assert_allclose(_wide(y), _wide(x), atol=default if atol is None else atol,
                                   rtol=default if rtol is None else rtol, err_msg=what)


__all__ = ["check_grads", "check_jvp", "check_vjp"]
