"""`lax.custom_root` and `lax.custom_linear_solve`: derivatives are those of the solution, not of the solver."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._language.typecheck import check_jaxpr
from tests.lax import loops


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


# --- custom_root ------------------------------------------------------------------------------------------------


def newton(f, x):
    """Newton's method with a data-dependent number of steps: no reverse derivative of its own."""
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-13, lambda x: x - f(x) / jax.grad(f)(x), x)


def scalar_solve(g, y):
    return y / g(1.0)


def cube_root(a, scale=1.0):
    return lax.custom_root(lambda x: scale * (x**3 - a), 1.0, newton, scalar_solve)


@pytest.mark.quick
def test_scalar_root():
    assert abs(float(cube_root(8.0)) - 2.0) < 1e-12
    loops.same(loops.derivatives, lambda a, s: cube_root(a, s), lambda a, s: a ** (1 / 3) + 0 * s, 8.0, 2.0)
    loops.same(loops.vmapped, lambda a, s: cube_root(a, s), lambda a, s: a ** (1 / 3) + 0 * s, 8.0, 2.0)
    np.testing.assert_allclose(jax.grad(jax.grad(jax.grad(cube_root)))(8.0), 10 / 27 * 8.0 ** (-8 / 3))
    np.testing.assert_allclose(jax.jit(jax.jacfwd(jax.grad(cube_root)))(8.0), -2 / 9 * 8.0 ** (-5 / 3))


def test_root_of_a_tree_with_auxiliary_values():
    def solution(p):
        def f(v):
            return {"x": v["x"] ** 2 - p["a"], "y": jnp.exp(v["y"]) - p["b"] * v["x"]}

        def solve(f, v):
            def step(_, v):
                flat, build = jax.tree_util.tree_flatten(v)
                jac = jax.jacobian(lambda q: jnp.stack(jax.tree_util.tree_leaves(f(build.unflatten(q)))))(jnp.stack(flat))
                value = jnp.stack(jax.tree_util.tree_leaves(f(v)))
                det = jac[0, 0] * jac[1, 1] - jac[0, 1] * jac[1, 0]
                dx = (jac[1, 1] * value[0] - jac[0, 1] * value[1]) / det
                dy = (jac[0, 0] * value[1] - jac[1, 0] * value[0]) / det
                return {"x": v["x"] - dx, "y": v["y"] - dy}
            return lax.fori_loop(0, 40, step, v), {"steps": 40, "norm": v["x"]}

        def tangent_solve(g, v):
            # g is triangular in (x, y).
            gx, gy = g({"x": 1.0, "y": 0.0}), g({"x": 0.0, "y": 1.0})
            det = gx["x"] * gy["y"] - gy["x"] * gx["y"]
            return {"x": (gy["y"] * v["x"] - gy["x"] * v["y"]) / det, "y": (gx["x"] * v["y"] - gx["y"] * v["x"]) / det}
        return lax.custom_root(f, {"x": 1.0, "y": 0.5}, solve, tangent_solve, has_aux=True)

    def exact(p):
        x = jnp.sqrt(p["a"])
        return {"x": x, "y": jnp.log(p["b"] * x)}

    p = {"a": 4.0, "b": 3.0}
    root, aux = solution(p)
    assert int(aux["steps"]) == 40
    loops.close(root, exact(p))
    loops.same(loops.derivatives, lambda p: solution(p)[0], exact, p)
    assert float(jax.grad(lambda p: solution(p)[1]["norm"])(p)["a"]) == 0.0


def test_root_that_does_not_depend_on_what_is_differentiated():
    assert float(jax.grad(lambda x: cube_root(8.0) * x)(3.0)) == pytest.approx(2.0)
    counted = jax.make_jaxpr(jax.grad(lambda x: lax.custom_root(lambda v: v - lax.stop_gradient(x), 0.0, newton,
                                                                scalar_solve)))(3.0)
    assert not any(e.primitive is lax.linear_solve_p for e in counted.eqns)


# --- custom_linear_solve ----------------------------------------------------------------------------------------

rng = np.random.default_rng(0)
A = np.eye(3) * 4 + rng.normal(size=(3, 3))
B = rng.normal(size=3)


def iterate(f, b):
    """Richardson iteration in a `while_loop`."""
    def step(c):
        i, x = c
        return i + 1, x + 0.2 * (b - f(x))
    return lax.while_loop(lambda c: c[0] < 200, step, (0, jnp.zeros_like(b)))[1]


def solve(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, iterate, iterate)


def cramer(a, b):
    """The solution of a 3 by 3 system in closed form."""
    c0, c1, c2 = jnp.cross(a[1], a[2]), jnp.cross(a[2], a[0]), jnp.cross(a[0], a[1])
    return (c0 * b[0] + c1 * b[1] + c2 * b[2]) / jnp.sum(a[0] * c0)


@pytest.mark.quick
def test_solution_and_derivatives():
    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), rtol=1e-10)
    loops.same(loops.derivatives, solve, cramer, A, B, rtol=1e-8)


def test_vmap():
    loops.same(loops.vmapped, solve, cramer, A, B, rtol=1e-8)


def test_symmetric_and_trees():
    def solve_tree(s, b):
        return lax.custom_linear_solve(lambda v: {"p": s * v["p"], "q": s * s * v["q"]}, b,
                                       lambda _, b: {"p": b["p"] / s, "q": b["q"] / s**2}, symmetric=True)
    b = {"p": 3.0, "q": np.array([1.0, 2.0])}
    loops.same(loops.derivatives, solve_tree, lambda s, b: {"p": b["p"] / s, "q": b["q"] / s**2}, 2.0, b)


def test_transposition_swaps_the_systems():
    def half(b):
        return lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: b * 0.5, lambda _, b: b / 2.0)
    transposed = jax.linear_transpose(half, 1.0)
    assert float(transposed(3.0)[0]) == 1.5
    (eqn,) = [e for e in jax.make_jaxpr(transposed)(3.0).eqns if e.primitive is lax.linear_solve_p]
    assert [e.primitive.name for e in eqn.params["jaxprs"].solve.eqns] == ["div"]


def test_auxiliary_values():
    def f(a, b):
        return lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: (b / a, {"n": 3, "r": b}), symmetric=True,
                                       has_aux=True)
    x, aux = f(2.0, 3.0)
    assert float(x) == 1.5 and int(aux["n"]) == 3 and float(aux["r"]) == 3.0
    assert float(jax.grad(lambda a: f(a, 3.0)[0])(2.0)) == -0.75
    assert jax.vmap(f, (0, None))(np.array([1.0, 2.0]), 3.0)[0].tolist() == [3.0, 1.5]
    _, (dx, daux) = jax.jvp(lambda b: f(2.0, b), (3.0,), (1.0,))
    assert float(dx) == 0.5 and float(daux["r"]) == 0.0


def test_equation():
    closed = jax.make_jaxpr(solve)(A, B)
    (eqn,) = closed.eqns
    assert eqn.primitive.name == "custom_linear_solve" and set(eqn.params) == {"const_lengths", "jaxprs"}
    assert tuple(eqn.params["const_lengths"]) == (1, 1, 1, 1)
    assert eqn.params["jaxprs"]._fields == ("matvec", "vecmat", "solve", "transpose_solve")
    check_jaxpr(closed.jaxpr)


ERRORS = {
    "function": (TypeError, lambda: lax.custom_root(1, 1.0, newton, scalar_solve), "custom_root: f must be a function"),
    "result of f": (TypeError, lambda: lax.custom_root(lambda v: (v, v), 1.0, newton, scalar_solve),
                    "result of f.*structure"),
    "result of solve": (TypeError, lambda: lax.custom_root(lambda v: v, 1.0, lambda f, x: (x, x), scalar_solve),
                        "result of solve.*structure of initial_guess"),
    "missing aux": (TypeError, lambda: lax.custom_root(lambda v: v, 1.0, lambda f, x: x, scalar_solve, has_aux=True),
                    "has_aux=True.*pair"),
    "shape of f": (ValueError, lambda: lax.custom_root(lambda v: v[:1], B, newton, scalar_solve), r"f64\[1\] for f64\[3\]"),
    "matvec": (TypeError, lambda: lax.custom_linear_solve(lambda v: (v, v), 1.0, lambda f, b: b), "matvec.*structure of b"),
    "shape": (ValueError, lambda: lax.custom_linear_solve(lambda v: v[:2], B, lambda f, b: b), r"matvec.*f64\[2\]"),
    "solve": (TypeError, lambda: lax.custom_linear_solve(lambda v: v, 1.0, lambda f, b: (b, b)), "result of solve"),
    "no transpose": (TypeError, lambda: jax.grad(
        lambda b: lax.custom_linear_solve(lambda v: v * 2, b, lambda f, b: b / 2))(1.0), "transpose_solve.*symmetric"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, run, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        run()
