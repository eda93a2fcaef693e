"""Checks that every operation has to pass; each takes a record of `tests.ops`.

- `check_values`: eager = jit = reference, results have the types that staging promised, the jaxpr is valid.
- `check_jvp`: the jvp is the numerical derivative; `check_vjp`: the vjp is the transpose of the jvp.
- `check_second`: the same once more, for the derivative.
- `check_vmap`: vmap = a loop, with the mapped axis at every position and operands mapped or not.

Derivatives are checked in float64 or complex128.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jax
from jax import tree_util
from jax._base.config import enable_x64
from jax._language.typecheck import check_jaxpr
from tests.ops import Op

_RTOL = {"float64": 1e-13, "complex128": 1e-13, "float32": 2e-6, "complex64": 2e-6, "float16": 2e-3, "bfloat16": 1e-2}


def tolerance(op: Op, dtype: Any) -> float:
    """Relative (and absolute) tolerance of values of ``dtype``."""
    name = str(np.dtype(dtype))
    if isinstance(op.tol, (int, float)):
        return _RTOL.get(name, 0.0) * op.tol
    return op.tol.get(name, _RTOL.get(name, 0.0))


def wide(dtype: Any) -> Any:
    """A context in which arrays of ``dtype`` can exist."""
    return enable_x64(True) if np.dtype(dtype).itemsize == 8 * (1 + (np.dtype(dtype).kind == "c")) \
        else contextlib.nullcontext()


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a result, as NumPy arrays."""
    return [np.asarray(x) for x in tree_util.tree_leaves(tree)]


def assert_close(got: Any, want: Any, rtol: float, what: str = "") -> None:
    """Equal structure and shapes, values equal up to ``rtol`` (also absolutely); NaN equals NaN."""
    got, want = leaves(got), leaves(want)
    assert len(got) == len(want), f"{what}: {len(got)} results, expected {len(want)}"
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, f"{what}: shape {g.shape}, expected {w.shape}"
        if g.dtype.kind in "biu" or rtol == 0:
            np.testing.assert_array_equal(g, w.astype(g.dtype) if g.dtype.kind in "iu" else w, err_msg=what)
        else:
            g, w = _comparable(g), _comparable(w)
            np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, err_msg=what)


def _comparable(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def widened(x: np.ndarray) -> np.ndarray:
    """Floats as float64, complex numbers as complex128, all else as it is."""
    if x.dtype.kind in "biu" or x.dtype.names:
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


# --- values -----------------------------------------------------------------------------------------------------


def check_values(op: Op, dtype: Any) -> None:
    """Eager evaluation (in the first dtype), jit and the reference agree, and so do types."""
    with wide(dtype):
        args = op.sample(dtype)
        jaxpr = jax.make_jaxpr(op.fn)(*args)
        check_jaxpr(jaxpr.jaxpr)
        staged = tree_util.tree_leaves(jax.jit(op.fn)(*args))
        # Both ways compile the same operations: once per operation is enough.
        eager = tree_util.tree_leaves(op.fn(*args)) if np.dtype(dtype) == np.dtype(op.dtypes[0]) else staged
        for e, s, aval in zip(eager, staged, jaxpr.out_avals, strict=True):
            for kind, x in (("eager", e), ("jit", s)):
                assert (x.shape, x.dtype) == (aval.shape, aval.dtype), \
                    f"{op.name} ({kind}): {x.dtype}{x.shape} where staging promised {aval}"
            tol = tolerance(op, e.dtype)
            assert_close(s, e, tol, f"{op.name}: jit and eager")
    if op.reference is not None:
        with np.errstate(all="ignore"):
            want = op.reference(*[widened(a) for a in args])
        got = [np.asarray(e) for e in eager]
        for g, w in zip(got, leaves(want), strict=True):
            assert_close(g, w, tolerance(op, g.dtype), f"{op.name}: reference")


# --- derivatives ------------------------------------------------------------------------------------------------


def differentiable(op: Op, args: Sequence[np.ndarray]) -> list[int]:
    """Positions of the arguments to differentiate with respect to."""
    if op.grad is not None:
        return list(op.grad)
    return [i for i, a in enumerate(args) if a.dtype.kind in "fc"]


def active_function(op: Op, args: Sequence[np.ndarray]) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """``op.fn`` as a function of its differentiable arguments alone, giving a list of floating results; and these."""
    positions = differentiable(op, args)

    def fun(*active: Any) -> list[Any]:
        full = list(args)
        for i, a in zip(positions, active, strict=True):
            full[i] = a
        outs = tree_util.tree_leaves(op.fn(*full))
        return [o for o in outs if np.dtype(o.dtype).kind in "fc"]

    return fun, [args[i] for i in positions]


def directions(arrays: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Random tangents or cotangents for ``arrays``."""
    rng = np.random.default_rng(seed)
    out = []
    for a in arrays:
        t = rng.normal(size=a.shape)
        if np.dtype(a.dtype).kind == "c":
            t = t + 1j * rng.normal(size=a.shape)
        out.append(np.asarray(t, a.dtype))
    return out


def numerical_jvp(fun: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any], eps: float = 1e-5) -> Any:
    """Central differences of fourth order."""
    def at(step: float) -> list[np.ndarray]:
        return leaves(fun(*[np.asarray(a + step * eps * t) for a, t in zip(args, tangents, strict=True)]))

    return [(8 * (p1 - m1) - (p2 - m2)) / (12 * eps)
            for p2, p1, m1, m2 in zip(at(2), at(1), at(-1), at(-2), strict=True)]


def pairing(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """What a cotangent makes of a tangent."""
    return float(sum(np.sum(np.real(np.asarray(x) * np.asarray(y))) for x, y in zip(xs, ys, strict=True)))


def check_jvp(op: Op, dtype: Any) -> None:
    """Forward derivatives are the numerical ones."""
    with enable_x64(True):
        args = op.sample(dtype)
        fun, active = active_function(op, args)
        _compare_jvp(op, fun, active, op.grad_tol, "jvp")


def _compare_jvp(op: Op, fun: Callable[..., Any], active: Sequence[Any], tol: float, what: str) -> None:
    tangents = directions(active, 1)
    compiled = jax.jit(fun)
    outs, out_tangents = jax.jit(lambda xs, ts: jax.jvp(fun, tuple(xs), tuple(ts)))(tuple(active), tuple(tangents))
    assert_close(outs, compiled(*active), 1e-11, f"{op.name}: value under {what}")
    want = numerical_jvp(compiled, active, tangents)
    for g, w in zip(leaves(out_tangents), want, strict=True):
        scale = max(1.0, float(np.max(np.abs(w), initial=0.0)))
        assert_close(g / scale, w / scale, tol, f"{op.name}: {what} and finite differences")


def check_vjp(op: Op, dtype: Any) -> None:
    """Reverse derivatives are the transpose of forward ones, and eager ones equal compiled ones."""
    with enable_x64(True):
        args = op.sample(dtype)
        fun, active = active_function(op, args)
        _compare_vjp(op, fun, active, "vjp")


def _compare_vjp(op: Op, fun: Callable[..., Any], active: Sequence[Any], what: str) -> None:
    tangents = directions(active, 2)
    _, out_tangents = jax.jvp(fun, tuple(active), tuple(tangents))
    outs, pullback = jax.vjp(fun, *active)
    cotangents = directions(outs, 3)
    cts = pullback(cotangents)
    for c, a in zip(cts, active, strict=True):
        assert (c.shape, c.dtype) == (a.shape, a.dtype), f"{op.name}: cotangent of type {c.dtype}{c.shape}"
    left, right = pairing(cotangents, out_tangents), pairing(cts, tangents)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9, err_msg=f"{op.name}: {what} and jvp")
    compiled = jax.jit(lambda xs, c: jax.vjp(fun, *xs)[1](c))(tuple(active), cotangents)
    assert_close(compiled, cts, 1e-9, f"{op.name}: jit and eager {what}")


def check_second(op: Op, dtype: Any) -> None:
    """The derivative's derivatives: forward over reverse against finite differences, and their transpose."""
    if op.order < 2:
        return
    with enable_x64(True):
        args = op.sample(dtype)
        fun, active = active_function(op, args)
        cotangents = directions(jax.jit(fun)(*active), 4)

        def gradient(*xs: Any) -> list[Any]:
            return list(jax.vjp(fun, *xs)[1](cotangents))

        _compare_jvp(op, gradient, active, op.grad_tol * 10, "jvp of vjp")
        _compare_vjp(op, gradient, active, "vjp of vjp")


# --- vmap -------------------------------------------------------------------------------------------------------


def check_vmap(op: Op, dtype: Any, size: int = 3) -> None:
    """A mapped call is a loop of calls, for every place of the mapped axis and every operand mapped alone."""
    with wide(dtype):
        examples = [op.sample(dtype, seed) for seed in range(size)]
        compiled = jax.jit(op.fn)
        for in_axes in _axes_to_try(examples[0]):
            args = [np.stack([e[i] for e in examples], axis) if axis is not None else examples[0][i]
                    for i, axis in enumerate(in_axes)]
            got = leaves(jax.jit(jax.vmap(op.fn, in_axes))(*args))
            loop = [leaves(compiled(*[e[i] if axis is not None else examples[0][i]
                                      for i, axis in enumerate(in_axes)])) for e in examples]
            want = [np.stack([out[k] for out in loop]) for k in range(len(loop[0]))]
            for g, w in zip(got, want, strict=True):
                assert g.dtype == w.dtype, f"{op.name}: dtype {g.dtype} under vmap, {w.dtype} without"
                assert_close(g, w, tolerance(op, g.dtype), f"{op.name}: vmap over {in_axes}")


def _axes_to_try(example: Sequence[np.ndarray]) -> list[tuple[int | None, ...]]:
    top = max(a.ndim for a in example)
    tries: list[tuple[int | None, ...]] = [tuple(min(k, a.ndim) for a in example) for k in range(top + 1)]
    if len(example) > 1:
        tries.append(tuple(k % (a.ndim + 1) for k, a in enumerate(example)))
        tries += [tuple(a.ndim if i == k else None for i, a in enumerate(example)) for k in range(len(example))]
    return list(dict.fromkeys(tries))
