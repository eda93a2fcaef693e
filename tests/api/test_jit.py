"""``jit``: arguments, static and donated ones, nesting, stages, and what it says when misused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jax
from jax import lax, stages

pytestmark = pytest.mark.quick


def counted(fun):
    """``fun`` and a list that grows each time Python runs it."""
    runs = []

    @functools.wraps(fun)
    def inner(*args, **kwargs):
        runs.append(1)
        return fun(*args, **kwargs)
    return inner, runs


def test_traced_once_per_type():
    f, runs = counted(lambda x: x * 2)
    g = jax.jit(f)
    for x in (1.0, 2.0, np.float32(3), np.arange(3.0), np.arange(3.0)):
        np.testing.assert_allclose(g(x), np.asarray(x) * 2)
    assert len(runs) == 3  # a weak float, a strong one, a vector


def test_trees_and_keywords():
    @jax.jit
    def f(a, *rest, scale, **more):
        return {"sum": a["x"] + sum(rest), "scaled": (scale * a["x"], more["y"], None)}
    out = f({"x": 1.0}, 2.0, 3.0, scale=10.0, y=np.arange(2))
    assert float(out["sum"]) == 6.0
    assert float(out["scaled"][0]) == 10.0 and out["scaled"][2] is None
    np.testing.assert_array_equal(out["scaled"][1], [0, 1])


def test_static_arguments_by_position_and_name():
    f, runs = counted(lambda x, n, mode="a": x * n if mode == "a" else x + n)
    g = jax.jit(f, static_argnums=1, static_argnames="mode")
    assert float(g(2.0, 3)) == 6.0
    assert float(g(2.0, 3, mode="b")) == 5.0
    assert float(g(4.0, 3, mode="b")) == 7.0
    assert len(runs) == 2


def test_static_names_complete_positions():
    @functools.partial(jax.jit, static_argnames=("n",))
    def f(x, n):
        assert isinstance(n, int)
        return x * n
    assert float(f(2.0, 3)) == float(f(2.0, n=3)) == float(f(x=2.0, n=3)) == 6.0


def test_static_values_of_equal_hash_but_other_type_are_kept_apart():
    f = jax.jit(lambda x, n: (x, isinstance(n, bool)) and x + (10 if isinstance(n, bool) else n), static_argnums=1)
    assert float(f(1.0, 1)) == 2.0
    assert float(f(1.0, True)) == 11.0
    assert float(f(1.0, 1.0)) == 2.0


def test_negative_static_and_donated_positions():
    f = jax.jit(lambda x, y, n: x + y * n, static_argnums=-1, donate_argnums=-3)
    x = jax.device_put(np.ones(3, np.float32))
    np.testing.assert_allclose(f(x, np.ones(3, np.float32), 2), 3)
    assert x.is_deleted()


def test_unhashable_static_argument_is_named_with_its_type():
    f = jax.jit(lambda x, n: x, static_argnums=1)
    with pytest.raises(ValueError, match=r"position 1 .*unhashable type list"):
        f(1.0, [1, 2])
    g = jax.jit(lambda x, n: x, static_argnames="n")
    with pytest.raises(ValueError, match=r"'n' has the unhashable type dict"):
        g(1.0, n={})


@pytest.mark.parametrize("options, message", [
    ({"static_argnums": 5}, "takes 1 positional"),
    ({"static_argnames": "nope"}, "no argument of the function"),
    ({"static_argnums": 0, "donate_argnums": 0}, "cannot be donated"),
])
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda x: x, **options)


def test_bad_arguments_and_results_are_named():
    with pytest.raises(TypeError, match="the argument name has the value 'adam'"):
        jax.jit(lambda x, name: x)(1.0, "adam")
    with pytest.raises(TypeError, match=r"the argument cfg\['lr'\]"):
        jax.jit(lambda cfg: 1.0)({"lr": "high"})
    with pytest.raises(TypeError, match=r"returned 'text' of type str at \[1\]"):
        jax.jit(lambda x: (x, "text"))(1.0)
    with pytest.raises(TypeError, match="takes a function"):
        jax.jit(3)


def test_donation_frees_and_says_so():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jax.device_put(np.zeros(4, np.float32))
    y = f(x)
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises((RuntimeError, ValueError), match="deleted|donated"):
        np.asarray(x)
    with pytest.raises((RuntimeError, ValueError), match="deleted|donated"):
        f(x)


def test_donation_by_name_and_unusable_donation_warns():
    f = jax.jit(lambda x, y: x[:1] + y, donate_argnames="x")
    with pytest.warns(UserWarning, match="donated"):
        f(jax.device_put(np.zeros(4, np.float32)), 1.0)


def test_nested_and_inlined():
    inner = jax.jit(lambda x: x + 1)
    assert len(jax.make_jaxpr(lambda x: inner(inner(x)))(1.0).eqns) == 2
    flat = jax.jit(lambda x: x + 1, inline=True)
    jaxpr = jax.make_jaxpr(lambda x: flat(flat(x)))(1.0)
    assert [e.primitive.name for e in jaxpr.eqns] == ["add", "add"]
    assert float(jax.jit(lambda x: flat(inner(x)))(1.0)) == 3.0


def test_methods_and_partials():
    class Model:
        def __init__(self, w):
            self.w = w

        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, x):
            return self.w * x
    assert float(Model(3.0)(2.0)) == 6.0
    assert float(jax.jit(functools.partial(lambda a, b: a - b, 5.0))(2.0)) == 3.0


def test_closures_over_tracers_and_large_arrays():
    big = np.arange(100_000, dtype=np.float32)
    assert float(jax.jit(lambda i: lax.dynamic_index_in_dim(jax.device_put(big), i, keepdims=False))(7)) == 7.0

    def f(x):
        return jax.jit(lambda y: x * y)(2.0) + jax.jit(lambda y: x + y)(3.0)
    assert float(jax.jit(f)(5.0)) == 18.0
    assert float(jax.grad(f)(5.0)) == 3.0
    text = jax.jit(lambda i: jax.device_put(big)[i]).lower(1).as_text()
    assert len(text) < 20_000  # the array is an argument, not text


def test_disable_jit_runs_python():
    f, runs = counted(lambda x: x * 2 if x > 0 else x)
    with jax.disable_jit():
        assert float(jax.jit(f)(3.0)) == 6.0
        assert float(jax.jit(f)(3.0)) == 6.0
    assert len(runs) == 2


def test_unused_arguments():
    dropped = jax.jit(lambda x, y: x).lower(1.0, 2.0).as_text()
    kept = jax.jit(lambda x, y: x, keep_unused=True).lower(1.0, 2.0).as_text()
    assert dropped.count("%arg") < kept.count("%arg") or "%arg1" not in dropped and "%arg1" in kept
    assert float(jax.jit(lambda x, y: x, keep_unused=True)(1.0, 2.0)) == 1.0


def test_stages():
    f = jax.jit(lambda x, *, k: {"y": x * k})
    traced = f.trace(np.ones((2, 3), np.float32), k=2.0)
    assert isinstance(traced, stages.Traced)
    assert traced.out_info["y"].shape == (2, 3)
    lowered = traced.lower()
    assert "stablehlo.multiply" in lowered.as_text()
    assert "HloModule" in lowered.as_text("hlo")
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(np.ones((2, 3), np.float32), k=3.0)["y"], 3)
    assert compiled.in_tree == traced.in_tree and compiled.out_tree == traced.out_tree
    assert compiled.cost_analysis()["flops"] >= 6
    assert compiled.memory_analysis().output_size_in_bytes == 24
    assert "HloModule" in compiled.as_text()
    with pytest.raises(TypeError, match=r"x: compiled for f32\[2,3\], called with f32\[4\]"):
        compiled(np.ones(4, np.float32), k=3.0)
    with pytest.raises(TypeError, match="structure"):
        compiled(np.ones((2, 3), np.float32))


def test_lower_accepts_shapes():
    struct = jax.ShapeDtypeStruct((4,), np.float32)
    compiled = jax.jit(lambda x: x + 1).lower(struct).compile()
    np.testing.assert_allclose(compiled(np.zeros(4, np.float32)), 1)
    assert jax.jit(lambda x: x + 1).eval_shape(struct).shape == (4,)
    assert jax.eval_shape(lambda a, b: a @ b, struct, struct).shape == ()


def test_clear_cache():
    f, runs = counted(lambda x: x)
    g = jax.jit(f)
    g(1.0)
    g.clear_cache()
    g(1.0)
    assert len(runs) == 2


def test_weak_types_survive():
    f = jax.jit(lambda x: x * 2)
    assert f(1.0).weak_type and not f(np.float32(1)).weak_type


def test_metadata():
    @jax.jit
    def named(x):
        """Its text."""
        return x
    assert named.__name__ == "named" and named.__doc__ == "Its text." and named.__wrapped__(3) == 3


def test_config_is_part_of_the_key():
    f = jax.jit(lambda: lax.full((), 1.0))
    assert f().dtype == np.float32
    with jax.enable_x64(True):
        assert f().dtype == np.float64
    assert f().dtype == np.float32


def test_make_jaxpr():
    closed = jax.make_jaxpr(lambda x, n: x * n, static_argnums=1)(2.0, 3)
    assert [e.primitive.name for e in closed.eqns] == ["mul"]
    closed, shape = jax.make_jaxpr(lambda x: (x, x), return_shape=True)(np.ones(3, np.float32))
    assert shape[1].shape == (3,)
    closed = jax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert closed.eqns[0].primitive.name == "psum"


def test_eval_shape_runs_nothing():
    huge = jax.ShapeDtypeStruct((10**6, 10**6), np.float32)
    assert jax.eval_shape(lambda x: lax.transpose(x, (1, 0)), huge).shape == (10**6, 10**6)
    with pytest.raises(TypeError):
        jax.eval_shape(lambda x: x, "text")


def test_ensure_compile_time_eval():
    def f(x):
        with jax.ensure_compile_time_eval():
            n = lax.add(1, 2)
            assert int(n) == 3
        return x * n
    assert float(jax.jit(f)(2.0)) == 6.0

    def g(x):  # what depends on the argument is traced as ever
        with jax.ensure_compile_time_eval():
            return x + 1
    assert float(jax.jit(g)(1.0)) == 2.0
    assert float(jax.grad(g)(1.0)) == 1.0
    with pytest.raises(jax.errors.UnexpectedTracerError, match="evaluated at once"):
        jax.jit(lambda x: _in_eval_context(x))(1.0)


def _in_eval_context(x):
    with jax.core.eval_context():
        return x + 1


def test_named_call_and_scope_reach_the_program():
    @functools.partial(jax.named_call, name="block")
    def f(x):
        with jax.named_scope("inner"):
            return lax.sin(x)
    stack = jax.make_jaxpr(f)(1.0).eqns[0].source_info.name_stack
    assert "block" in str(stack) and "inner" in str(stack)
    assert "block/inner" in jax.jit(f).lower(1.0).as_text(debug_info=True)


def test_jitted_functions_around_each_other_take_time_in_proportion(monkeypatch):
    import inspect
    asked = 0
    original = inspect.Signature.from_callable

    def counted(*args, **kwargs):
        nonlocal asked
        asked += 1
        return original(*args, **kwargs)

    f = lambda first: first * 2  # noqa: E731
    for _ in range(12):
        f = jax.jit(f)
    monkeypatch.setattr(inspect.Signature, "from_callable", counted)
    assert float(jax.grad(f)(1.0)) == 2 and float(f(1.0)) == 2
    assert "first" in f.lower(1.0).as_text(debug_info=True)
    assert asked < 100
