"""Control flow written out in Python, and a battery of transformations that must not see the difference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax, tree_util
from jax._language.typecheck import check_jaxpr

tree_map, tree_leaves = tree_util.tree_map, tree_util.tree_leaves


# --- the same programs without control-flow primitives ----------------------------------------------------------


def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: Any = 1) -> Any:
    """`lax.scan`, unrolled while tracing."""
    leaves = tree_leaves(xs)
    n = leaves[0].shape[0] if leaves else length
    carry, rows = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree_map(lambda x, i=i: x[i], xs))
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree_map(lambda *ys: jnp.stack([jnp.asarray(y) for y in ys]), *rows)


def fori_loop(lower: int, upper: int, body: Callable[..., Any], val: Any, **_: Any) -> Any:
    """`lax.fori_loop` between known bounds, unrolled."""
    for i in range(lower, upper):
        val = body(i, val)
    return val


def bounded_while(limit: int) -> Callable[..., Any]:
    """`lax.while_loop` for loops of at most `limit` steps, by selection."""
    def loop(cond: Callable[..., Any], body: Callable[..., Any], val: Any) -> Any:
        for _ in range(limit):
            go = cond(val)
            val = tree_map(lambda new, old, go=go: lax.select(_spread(go, new), new, old),
                           body(val), val)
        return val
    return loop


def _spread(flag: Any, like: Any) -> Any:
    return lax.broadcast(flag, np.shape(like))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`lax.switch`, all branches evaluated."""
    outs = [b(*operands) for b in branches]
    index = lax.clamp(np.int32(0), index, np.int32(len(branches) - 1))
    out = outs[0]
    for i, o in enumerate(outs[1:], 1):
        out = tree_map(lambda a, b, i=i: lax.select(_spread(index == i, a), b, a), out, o)
    return out


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`lax.cond`, both branches evaluated."""
    return switch(jnp.asarray(pred).astype(jnp.int32), [false_fun, true_fun], *operands)


# --- the battery ------------------------------------------------------------------------------------------------


def tangents_for(tree: Any, seed: int) -> Any:
    """Random tangents of floating leaves, `float0` zeros of others."""
    rng = np.random.default_rng(seed)

    def make(x: Any) -> Any:
        shape = np.shape(x)
        return rng.normal(size=shape) if is_float(x) else np.zeros(shape, jax.dtypes.float0)
    return tree_map(make, tree)


def is_float(x: Any) -> bool:
    return jax.typeof(x).dtype.kind == "f"


def float_positions(args: Sequence[Any]) -> list[int]:
    """The arguments that can be differentiated."""
    return [i for i, a in enumerate(args) if all(map(is_float, tree_leaves(a)))]


def as_scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """A differentiable scalar made of all floating results."""
    def total(*args: Any) -> Any:
        leaves = [x for x in map(jnp.asarray, tree_leaves(f(*args))) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum(jnp.sum(jnp.sin(x * (1.0 + 0.1 * i))) for i, x in enumerate(leaves))
    return total


def forward(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """Values and forward derivatives."""
    return {"value": f(*args), "jvp": jax.jvp(f, args, tangents_for(tuple(args), 0))[1]}


def reverse(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """Reverse derivatives, also of the first derivative."""
    gradient = jax.grad(as_scalar(f), argnums=float_positions(args))
    direction = tangents_for(tuple(args), 1)
    return {"grad": gradient(*args), "hvp": jax.jvp(gradient, tuple(args), direction)[1]}


def linearized(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    return {"linearize": jax.linearize(f, *args)[1](*tangents_for(tuple(args), 0))}


def patterns(n: int) -> list[tuple[bool, ...]]:
    """Which of `n` arguments are mapped: every combination but none."""
    return [p for p in itertools.product((False, True), repeat=n) if any(p)]


def mapped(f: Callable[..., Any], args: Sequence[Any], marks: Sequence[bool], size: int = 2) -> Any:
    """`vmap` over the marked arguments, the mapped axis last in every other one."""
    new, axes = [], []
    for i, (a, m) in enumerate(zip(args, marks, strict=True)):
        if not m:
            new.append(a)
            axes.append(None)
            continue
        axis = 0 if i % 2 == 0 else -1
        new.append(tree_map(lambda x, axis=axis: jnp.stack([jnp.asarray(x) * (1 + j) for j in range(size)], axis), a))
        axes.append(axis)
    return jax.vmap(f, in_axes=tuple(axes))(*new)


def derivatives(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """Everything without `vmap`."""
    return {**forward(f, args), **linearized(f, args), **reverse(f, args)}


def only_forward(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    return {**forward(f, args), **linearized(f, args)}


def vmapped(f: Callable[..., Any], args: Sequence[Any], differentiable: bool = True) -> dict[str, Any]:
    """Values with every combination of mapped arguments, and compositions with derivatives."""
    marks = patterns(len(args))
    out: dict[str, Any] = {str(m): mapped(f, args, m) for m in marks}

    def push(*a: Any) -> Any:
        return jax.jvp(f, a, tangents_for(a, 0))[1]

    for m in (marks[0], marks[-1]):
        out[f"vmap of jvp {m}"] = mapped(push, args, m)
    if differentiable:
        positions = float_positions(args)
        gradient = jax.grad(as_scalar(f), argnums=positions)
        for m in (marks[0], marks[-2], marks[-1]):
            out[f"vmap of grad {m}"] = mapped(gradient, args, m)
        for m in (marks[0], marks[-1]):
            out[f"grad of vmap {m}"] = jax.grad(as_scalar(lambda *a, m=m: mapped(f, a, m)), argnums=positions)(*args)
    return out


def vmapped_forward(f: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    return vmapped(f, args, differentiable=False)


def jit(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` that compiles fast rather than well."""
    return jax.jit(fun, compiler_options={"xla_backend_optimization_level": 0})


def same(run: Callable[..., Any], f: Callable[..., Any], g: Callable[..., Any], *args: Any, eager: bool = False,
         rtol: float = 1e-10) -> None:
    """`run(f, args)`, compiled or eager, equals `run(g, args)`; the program for `f` is well typed."""
    def fun(*a: Any) -> Any:
        return run(f, a)

    check_jaxpr(jax.make_jaxpr(fun)(*args).jaxpr)
    got = (fun if eager else jit(fun))(*args)
    close(got, jit(lambda *a: run(g, a))(*args), rtol)


def close(got: Any, want: Any, rtol: float = 1e-10) -> None:
    """Equal structure, shapes and dtypes, and values up to `rtol`."""
    got_leaves, tree = tree_util.tree_flatten_with_path(got)
    want_leaves, want_tree = tree_util.tree_flatten(want)
    assert tree == want_tree, f"{tree}\n{want_tree}"
    for (path, x), y in zip(got_leaves, want_leaves, strict=True):
        name = tree_util.keystr(path)
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype, f"{name}: {x.dtype}{x.shape}, expected {y.dtype}{y.shape}"
        if x.dtype.kind == "f":
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=name)
        else:
            np.testing.assert_array_equal(x, y, err_msg=name)
