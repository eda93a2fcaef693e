"""`lax.cond`, `lax.switch`, `lax.platform_dependent`: transformations, types, programs they leave, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._language.typecheck import check_jaxpr
from tests.lax import loops
from tests.lax.loop_programs import BRANCHES, LAX, PYTHON

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def only_cond(closed):
    (found,) = [e for e in closed.jaxpr.eqns if e.primitive is lax.cond_p]
    return found


# --- transformations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", BRANCHES, ids=lambda p: p.name)
def test_derivatives(program, x64):
    loops.same(loops.derivatives, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.parametrize("program", BRANCHES, ids=lambda p: p.name)
def test_vmap(program, x64):
    loops.same(loops.vmapped, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.parametrize("name", ["cond_on_value", "derivative_in_one_branch"])
def test_eager(name, x64):
    (program,) = [p for p in BRANCHES if p.name == name]
    loops.same(loops.derivatives, program.make(LAX), program.make(PYTHON), *program.args, eager=True)


@pytest.mark.quick
@pytest.mark.parametrize("pred", [True, False, 1, 0, 2.5, 0.0, np.bool_(True), np.float32(0), jnp.array(True),
                                  jnp.array(0)])
def test_predicates(pred):
    def choose(p):
        return lax.cond(p, lambda x: x + 1, lambda x: x - 1, 10.0)
    want = 11.0 if bool(pred) else 9.0
    assert float(choose(pred)) == want
    assert float(jax.jit(choose)(pred)) == want


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32", "int64", "uint64"])
def test_switch_clamps(dtype):
    branches = [lambda x, i=i: x + i for i in range(3)]
    with jax.enable_x64(dtype.endswith("64")):
        info = np.iinfo(dtype)
        for index in {0, 1, 2, 3, info.min, info.max, max(info.min, -1)}:
            want = 10.0 + min(max(index, 0), 2)
            assert float(lax.switch(np.asarray(index, dtype), branches, 10.0)) == want
            assert float(jax.jit(lambda i: lax.switch(i, branches, 10.0))(np.asarray(index, dtype))) == want


def test_switch_with_many_branches_and_narrow_index():
    branches = [lambda i=i: i for i in range(200)]
    assert int(jax.jit(lambda i: lax.switch(i, branches))(np.int8(127))) == 127
    assert int(jax.vmap(lambda i: lax.switch(i, branches))(np.array([3, 199, 500]))[2]) == 199


def test_one_branch():
    assert float(lax.switch(7, [lambda x: x + 1], 1.0)) == 2.0


def test_only_the_chosen_branch_runs():
    seen = []

    def branch(name):
        def run(x):
            jax.debug.callback(lambda: seen.append(name))
            return x
        return run

    lax.cond(True, branch("true"), branch("false"), 1.0)
    jax.jit(lambda i: lax.switch(i, [branch(str(k)) for k in range(3)], 1.0))(1)
    jax.effects_barrier()
    assert seen == ["true", "1"]


def test_old_forms():
    assert float(lax.cond(True, 1.0, lambda x: x + 1, 2.0, lambda x: x * 3)) == 2.0
    assert float(lax.cond(False, 1.0, lambda x: x + 1, 2.0, lambda x: x * 3)) == 6.0
    assert float(lax.cond(False, lambda x: x + 1, lambda x: x * 3, operand=5.0)) == 15.0
    assert int(lax.cond(True, lambda x: 1, lambda x: 2, operand=None)) == 1
    assert float(lax.switch(0, [lambda x: x, lambda x: -x], operand=1.0)) == 1.0
    with pytest.raises(NotImplementedError, match="leave it out"):
        lax.cond(True, lambda x, y: x, lambda x, y: y, 1.0, 2.0, linear=(False, False))


def test_trees_in_and_out():
    out = lax.cond(X[1] > 0, lambda d: {"s": d["a"] + d["b"][0], "n": None}, lambda d: {"s": d["b"][0], "n": None},
                   {"a": 1.0, "b": (X,)})
    np.testing.assert_array_equal(out["s"], X + 1)


def test_disable_jit():
    def known(x):
        assert float(x) == 3.0
        return x + 1
    with jax.disable_jit():
        out = lax.cond(True, known, lambda x: 1 / 0, 3.0)
        assert float(out) == 4.0 and float(lax.switch(5, [lambda x: 1 / 0, known], 3.0)) == 4.0
        np.testing.assert_array_equal(jax.vmap(lambda p: lax.cond(p > 1, lambda: 1, lambda: 2))(X), [2, 2, 1])


def test_keys():
    from jax import random
    key = random.key(0)
    assert (random.key_data(lax.cond(True, lambda k: k, lambda k: random.split(k)[0], key)) == random.key_data(key)).all()
    both = jax.vmap(lambda p, k: lax.cond(p, lambda k: k, lambda k: random.split(k)[0], k), (0, None))(
        np.array([True, False]), key)
    assert (random.key_data(both[0]) == random.key_data(key)).all()
    assert (random.key_data(both[1]) == random.key_data(random.split(key)[0])).all()


# --- types and programs -----------------------------------------------------------------------------------------


def test_weak_types():
    both = lax.cond(True, lambda: 1.0, lambda: 2.0)
    mixed = lax.cond(True, lambda: 1.0, lambda: jnp.float32(2))
    assert both.weak_type and not mixed.weak_type and both.dtype == mixed.dtype == np.float32


@pytest.mark.quick
def test_equation():
    w = jnp.ones(3)
    closed = jax.make_jaxpr(lambda x: lax.cond(x[0] > 0, lambda x: x * w, lambda x: x, x))(X)
    eqn = only_cond(closed)
    assert eqn.primitive.name == "cond" and set(eqn.params) == {"branches"}
    assert [v.aval.str_short() for v in eqn.invars] == ["i32[]", "f32[3]", "f32[3]"]
    false_branch, true_branch = eqn.params["branches"]
    assert not false_branch.eqns and [e.primitive.name for e in true_branch.eqns] == ["mul"]
    assert not true_branch.consts
    check_jaxpr(closed.jaxpr)


def test_branches_share_what_they_close_over():
    w = jnp.ones(3)
    closed = jax.make_jaxpr(lambda x, v: lax.cond(x[0] > 0, lambda: w * v, lambda: w + x))(X, X)
    assert len(only_cond(closed).invars) == 1 + 3


def test_residuals_share_slots():
    branches = [lambda x: jnp.sin(jnp.sin(x)), lambda x: jnp.exp(x), lambda x: x]
    closed = jax.make_jaxpr(jax.grad(lambda x, i: jnp.sum(lax.switch(i, branches, x))))(X, 1)
    forward, backward = [e for e in closed.jaxpr.eqns if e.primitive is lax.cond_p]
    assert len(forward.outvars) == 1 + 2
    assert backward.invars[0] is forward.invars[0]


def test_operands_are_residuals_for_free():
    closed = jax.make_jaxpr(jax.grad(lambda x, y: lax.cond(y[0] > 0, lambda: x * y[1], lambda: x * y[2])))(1.0, X)
    forward, backward = [e for e in closed.jaxpr.eqns if e.primitive is lax.cond_p]
    assert len(forward.outvars) == 1 + 1  # both branches keep one scalar


def test_unused_results_are_dropped():
    def f(x, y):
        return lax.cond(x[0] > 0, lambda: (x, jnp.sin(y)), lambda: (x + 1, y))[0]
    jaxpr, used = jax._transforms.dce.dce_jaxpr(jax.make_jaxpr(f)(X, X).jaxpr, [True])
    assert used == [True, False]
    assert all(not any(e.primitive.name == "sin" for e in b.eqns) for b in jaxpr.eqns[-1].params["branches"])


def test_lowering():
    text = jax.jit(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x)).lower(1, X).as_text()
    assert text.count("stablehlo.case") == 1 and "stablehlo.sine" in text and "stablehlo.cosine" in text


def test_no_leaks():
    with jax.checking_leaks():
        jax.jit(jax.grad(lambda x: lax.cond(x > 0, lambda x: x * x, jnp.sin, x)))(1.0)


# --- platform_dependent -----------------------------------------------------------------------------------------


@pytest.mark.quick
def test_platform_dependent():
    def f(x):
        return lax.platform_dependent(x, cpu=lambda x: x * x, cuda=lambda x: x * 5, default=lambda x: x * 7)
    assert float(f(3.0)) == float(jax.jit(f)(3.0)) == 9.0
    assert float(jax.grad(f)(3.0)) == 6.0
    assert jax.vmap(f)(X).tolist() == [0.0, 1.0, 4.0]
    assert float(lax.platform_dependent(3.0, gpu=lambda x: x, default=lambda x: x * 7)) == 21.0
    with jax.disable_jit():
        assert float(f(3.0)) == 9.0


def test_other_platforms_need_no_lowering_rules():
    from jax._language.primitive import Primitive
    only_there = Primitive("test_only_on_gpus")
    only_there.def_abstract_eval(lambda x: x)
    f = lambda x: lax.platform_dependent(x, cuda=only_there.bind, default=lambda x: x + 1)  # noqa: E731
    assert float(jax.jit(f)(1.0)) == 2.0
    text = jax.jit(f).trace(1.0).lower(lowering_platforms=("cpu",)).as_text()
    assert "stablehlo.case" not in text


def test_no_function_for_the_platform():
    with pytest.raises(NotImplementedError, match="no function for the platform 'cpu'.*cuda.*default"):
        lax.platform_dependent(1.0, cuda=lambda x: x)
    with pytest.raises(ValueError, match="at least one"):
        lax.platform_dependent(1.0)


# --- errors -----------------------------------------------------------------------------------------------------

ERRORS = {
    "array predicate": (TypeError, lambda: lax.cond(X > 0, lambda: 1, lambda: 2), r"scalar.*bool\[3\].*jnp.where"),
    "text": (TypeError, lambda: lax.cond("yes", lambda: 1, lambda: 2), "boolean scalar, got 'yes'"),
    "none": (TypeError, lambda: lax.cond(None, lambda: 1, lambda: 2), "got None"),
    "function": (TypeError, lambda: lax.cond(lambda: True, lambda: 1, lambda: 2), "boolean scalar, got <function"),
    "list": (TypeError, lambda: lax.cond([True], lambda: 1, lambda: 2), "lax.cond: pred.*list"),
    "complex": (TypeError, lambda: lax.cond(1j, lambda: 1, lambda: 2), "complex|c64"),
    "no function": (TypeError, lambda: lax.cond(True, 1, 2), "true_fun must be a function, got 1"),
    "structure": (TypeError, lambda: lax.cond(True, lambda: {"a": 1, "b": 2}, lambda: {"a": 1}),
                  r"one structure.*true_fun is.*test_cond.py:\d+(.|\n)*missing: 'b'"),
    "types": (TypeError, lambda: lax.cond(True, lambda: {"a": 1, "b": X}, lambda: {"a": 1, "b": X[:2]}),
              r"result\['b'\]: f32\[3\] from true_fun, f32\[2\] from false_fun: the shapes differ"),
    "dtypes": (TypeError, lambda: lax.cond(True, lambda: 1, lambda: 1.0), r"i32\[\] from true_fun.*dtypes differ\n.*astype"),
    "both forms": (TypeError, lambda: lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0), "not both"),
    "no branches": (ValueError, lambda: lax.switch(0, []), "at least one branch"),
    "branch": (TypeError, lambda: lax.switch(0, [lambda: 1, 2]), r"branches\[1\] must be a function, got 2"),
    "float index": (TypeError, lambda: lax.switch(0.0, [lambda: 1, lambda: 2]), r"integer, got f32\[\]"),
    "array index": (TypeError, lambda: lax.switch(X, [lambda: 1, lambda: 2]), r"scalar, got f32\[3\].*vmap"),
    "branches differ": (TypeError, lambda: lax.switch(0, [lambda: 1, lambda: 2, lambda: (1, 2)]),
                        r"branches\[0\].*branches\[2\]"),
    "operand": (TypeError, lambda: lax.cond(True, lambda x: 1, lambda x: 2, {"k": "text"}), r"operands\[0\]\['k'\]"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, run, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        run()
