"""Tridiagonal systems."""

from __future__ import annotations

from typing import Any

from jax._ground.structural import full, instantiate_zeros
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import add, mul, sub
from jax.lax._join import concatenate
from jax.lax._power import reciprocal
from jax.lax._slice import slice_in_dim
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import INT32, lapack, nan_unless, succeeded

tridiagonal_solve_p = Primitive("tridiagonal_solve")


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """The solution ``x`` of ``t x = b`` for tridiagonal ``t``: ``dl[i] x[i-1] + d[i] x[i] + du[i] x[i+1] = b[i]``.

    Args:
      dl: the lower diagonal, of shape ``(..., n)``; ``dl[0]`` is not used.
      d: the main diagonal, ``(..., n)``.
      du: the upper diagonal, ``(..., n)``; ``du[n-1]`` is not used.
      b: right-hand sides, ``(..., n, k)``.
      perturb_singular: on CPUs, replace pivots that are too small by small numbers, for a finite result.

    Returns:
      An array like ``b``; NaN for singular systems.

    Raises:
      TypeError, ValueError: for other shapes and dtypes.
      NotImplementedError: for half-precision floats.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


def _abstract(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    mat.check_matrix("tridiagonal_solve", b)
    if not dl.dtype == d.dtype == du.dtype == b.dtype:
        raise TypeError("tridiagonal_solve: operands must have one dtype, got "
                        f"{', '.join(str(v.dtype) for v in (dl, d, du, b))}")
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise ValueError("tridiagonal_solve: diagonals of shape (..., n) and right-hand sides of shape (..., n, k) are "
                         f"needed, got {dl.shape}, {d.shape}, {du.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)


def _on_cpu(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    dtype = typeof(b).dtype
    *lead, n, _ = typeof(b).shape
    if perturb_singular:
        return lapack("tridiagonal_solve_perturbed", (dl, d, du, b), [(typeof(b).shape, dtype)], lead=len(lead))[0]
    if n <= 1:
        return mul(b, mat.columns(reciprocal(d)))
    outs = [(typeof(v).shape, dtype) for v in (dl, d, du, b)]
    *_, x, info = lapack("gtsv", (dl, d, du, b), [*outs, (lead, INT32)], lead=len(lead),
                         replaces={0: 0, 1: 1, 2: 2, 3: 3})
    return nan_unless(succeeded(info), x)


def _times(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """``t x``."""
    *lead, n, k = typeof(x).shape
    axis = len(lead)
    zero = full((*lead, 1, k), 0, typeof(x).dtype)
    before = concatenate([zero, slice_in_dim(x, 0, max(n - 1, 0), axis=axis)], axis)
    after = concatenate([slice_in_dim(x, min(n, 1), n, axis=axis), zero], axis)
    return add(add(mul(mat.columns(dl), before), mul(mat.columns(d), x)), mul(mat.columns(du), after))


def _jvp(primals: Any, tangents: Any, *, perturb_singular: bool) -> Any:
    """From ``t x = b``: ``t dx = db - dt x``."""
    *t, b = primals
    *dt, db = tangents
    x = tridiagonal_solve_p.bind(*t, b, perturb_singular=perturb_singular)
    right = db
    if any(type(v) is not Zero for v in dt):
        moved = _times(*[instantiate_zeros(v) for v in dt], x)
        right = sub(instantiate_zeros(db), moved)
    if type(right) is Zero:
        return x, Zero.from_primal_value(x)
    return x, tridiagonal_solve_p.bind(*t, right, perturb_singular=perturb_singular)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    if any(type(v) is UndefinedPrimal for v in (dl, d, du)):
        raise NotImplementedError("the function is not linear: tridiagonal_solve is linear in its last operand only")
    if type(ct) is Zero:
        return [None, None, None, Zero(b.aval)]
    axis = len(typeof(d).shape) - 1
    n = typeof(d).shape[axis]
    zero = full((*typeof(d).shape[:-1], min(n, 1)), 0, typeof(d).dtype)
    below = concatenate([zero, slice_in_dim(du, 0, max(n - 1, 0), axis=axis)], axis)
    above = concatenate([slice_in_dim(dl, min(n, 1), n, axis=axis), zero], axis)
    return [None, None, None, tridiagonal_solve_p.bind(below, d, above, ct, perturb_singular=perturb_singular)]


tridiagonal_solve_p.def_abstract_eval(_abstract)
register_lowering(tridiagonal_solve_p, lower_fun(_on_cpu, multiple_results=False), platform="cpu")
rules.primitive_jvps[tridiagonal_solve_p] = _jvp
rules.primitive_transposes[tridiagonal_solve_p] = _transpose
mat.batch_leading(tridiagonal_solve_p)
