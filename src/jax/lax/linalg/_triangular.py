"""Triangular systems."""

from __future__ import annotations

from typing import Any

from jax._ground.structural import move_axis
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._arithmetic import neg, sub
from jax.lax._shape import reshape
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._lapack import lapack

triangular_solve_p = Primitive("triangular_solve")


def triangular_solve(a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
                     conjugate_a: bool = False, unit_diagonal: bool = False) -> Any:
    """The solution ``x`` of ``op(a) x = b`` or ``x op(a) = b`` for triangular matrices ``a``.

    Args:
      a: an array of shape ``(..., n, n)``; only one triangle of it is read.
      b: an array of shape ``(..., n, k)``, or ``(..., k, n)`` without ``left_side``, with the same leading dimensions;
        or one vector less: of shape ``(..., n)``.
      left_side: whether the system is ``op(a) x = b``.
      lower: whether ``a`` is lower triangular.
      transpose_a, conjugate_a: whether ``op`` transposes, and conjugates.
      unit_diagonal: take the diagonal of ``a`` for ones, without reading it.

    Returns:
      An array like ``b``.

    Raises:
      TypeError, ValueError: for shapes and dtypes that do not fit.
      NotImplementedError: for half-precision floats.
    """
    x, y = typeof(a), typeof(b)
    as_vector = len(y.shape) == len(x.shape) - 1
    if as_vector:
        b = mat.columns(b) if left_side else mat.rows(b)
    out = triangular_solve_p.bind(a, b, left_side=bool(left_side), lower=bool(lower), transpose_a=bool(transpose_a),
                                  conjugate_a=bool(conjugate_a) and mat.is_complex(a),
                                  unit_diagonal=bool(unit_diagonal))
    return reshape(out, y.shape) if as_vector else out


def solve(a: Any, b: Any, *, left: bool, lower: bool, transpose: bool = False, conjugate: bool = False,
          unit: bool = False) -> Any:
    """The primitive, in short."""
    return triangular_solve_p.bind(a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate,
                                   unit_diagonal=unit)


def _abstract(a: Any, b: Any, *, left_side: bool, **params: Any) -> Any:
    mat.check_matrix("triangular_solve", a, square=True)
    if a.dtype != b.dtype:
        raise TypeError(f"triangular_solve: operands must have one dtype, got {a.dtype} and {b.dtype}")
    if len(a.shape) != len(b.shape) or a.shape[:-2] != b.shape[:-2]:
        raise TypeError("triangular_solve: operands must have the same leading dimensions, got shapes "
                        f"{a.shape} and {b.shape}")
    n = b.shape[-2 if left_side else -1]
    if not dims.dim_eq(n, a.shape[-1]):
        side = "a x = b" if left_side else "x a = b"
        raise TypeError(f"triangular_solve: the system {side} with a of shape {a.shape} and b of shape {b.shape} does "
                        f"not fit: sizes {a.shape[-1]} and {n} must be equal")
    return ShapedArray(b.shape, b.dtype)


def _lower(ctx: Any, a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
           unit_diagonal: bool) -> list[Any]:
    if conjugate_a and not transpose_a:
        a, conjugate_a = hlo.conj(a), False
    how = "ADJOINT" if conjugate_a else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    return [hlo.triangular_solve(a, b, left_side=left_side, lower=lower, unit_diagonal=unit_diagonal, transpose_a=how)]


def _on_cpu(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
            unit_diagonal: bool) -> Any:
    if conjugate_a and not transpose_a:
        a, conjugate_a = mat.conj(a), False
    shape = typeof(b).shape
    return lapack("trsm", (a, b), [(shape, typeof(b).dtype)], lead=len(shape) - 2, replaces={0: 1},
                  side="L" if left_side else "R", uplo="L" if lower else "U", diag="U" if unit_diagonal else "N",
                  trans_x="C" if conjugate_a else "T" if transpose_a else "N")[0]


def _jvp(primals: Any, tangents: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
         unit_diagonal: bool) -> Any:
    """From ``op(a) x = b``: ``op(a) dx = db - op(da) x``, where ``da`` has the triangle that is read of ``a``."""
    (a, b), (da, db) = primals, tangents
    params = {"left_side": left_side, "lower": lower, "transpose_a": transpose_a, "conjugate_a": conjugate_a,
              "unit_diagonal": unit_diagonal}
    x = triangular_solve_p.bind(a, b, **params)
    right = db
    if type(da) is not Zero:
        skip = int(unit_diagonal)
        da = mat.tril(da, -skip) if lower else mat.triu(da, skip)
        da = mat.t(da) if transpose_a else da
        da = mat.conj(da) if conjugate_a else da
        moved = mat.mm(da, x) if left_side else mat.mm(x, da)
        right = neg(moved) if type(db) is Zero else sub(db, moved)
    if type(right) is Zero:
        return x, Zero.from_primal_value(x)
    return x, triangular_solve_p.bind(a, right, **params)


def _transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> Any:
    if type(a) is UndefinedPrimal:
        raise NotImplementedError("the function is not linear: triangular_solve is linear in its second operand only")
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


def _batch(args: Any, batch_dims: Any, *, left_side: bool, **params: Any) -> Any:
    """Right-hand sides of one matrix are put side by side."""
    (a, b), (da, db) = args, batch_dims
    if da is not None:
        a, b = mat.leading_axis(args, batch_dims)
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0
    shape = typeof(b).shape
    n = len(shape)
    b = move_axis(b, db, n - 1 if left_side else n - 2)
    *lead, p, q, r = typeof(b).shape
    flat = reshape(b, (*lead, p, q * r) if left_side else (*lead, p * q, r))
    out = triangular_solve_p.bind(a, flat, left_side=left_side, **params)
    return reshape(out, typeof(b).shape), (n - 1 if left_side else n - 2)


triangular_solve_p.def_abstract_eval(_abstract)
register_lowering(triangular_solve_p, _lower)
register_lowering(triangular_solve_p, lower_fun(_on_cpu, multiple_results=False), platform="cpu")
rules.primitive_jvps[triangular_solve_p] = _jvp
rules.primitive_transposes[triangular_solve_p] = _transpose
rules.primitive_batchers[triangular_solve_p] = _batch
