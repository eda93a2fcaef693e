"""`lax.scan` and `lax.map`: transformations, types, programs they leave, errors."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._language.typecheck import check_jaxpr
from tests.lax import loops
from tests.lax.loop_programs import LAX, MIXED, PYTHON, SCANS

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def only_scan(closed):
    (found,) = [e for e in closed.jaxpr.eqns if e.primitive is lax.scan_p]
    return found


def scans(closed):
    return [e for e in closed.jaxpr.eqns if e.primitive is lax.scan_p]


# --- transformations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", SCANS + MIXED, ids=lambda p: p.name)
def test_derivatives(program, x64):
    loops.same(loops.derivatives, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.parametrize("program", SCANS + MIXED, ids=lambda p: p.name)
def test_vmap(program, x64):
    loops.same(loops.vmapped, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.parametrize("name", ["counter_in_carry", "checkpointed_body"])
def test_eager(name, x64):
    (program,) = [p for p in SCANS if p.name == name]
    loops.same(loops.derivatives, program.make(LAX), program.make(PYTHON), *program.args, eager=True)


@pytest.mark.parametrize("name", ["recurrent", "nested"])
def test_hessian(name, x64):
    (program,) = [p for p in SCANS if p.name == name]

    def run(f, args):
        total = loops.as_scalar(f)
        return jax.hessian(total)(*args), jax.jacrev(jax.jacrev(total))(*args)

    loops.same(run, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.quick
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, True, False])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_values_against_numpy(length, unroll, reverse, x64):
    rng = np.random.default_rng(0)
    xs = {"a": rng.normal(size=(length, 2)), "b": np.arange(length)}

    def body(c, x):
        c = {"s": c["s"] * 0.5 + x["a"], "n": c["n"] + x["b"]}
        return c, (c["s"] * 2, c["n"])

    carry, rows = {"s": np.ones(2), "n": 0}, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = body(carry, {"a": xs["a"][i], "b": xs["b"][i]})
        rows.append(y)
    if reverse:
        rows.reverse()
    got_carry, (s, n) = lax.scan(body, {"s": np.ones(2), "n": 0}, xs, reverse=reverse, unroll=unroll)
    np.testing.assert_allclose(got_carry["s"], carry["s"])
    assert int(got_carry["n"]) == carry["n"] and n.dtype == np.int64
    np.testing.assert_allclose(s, np.array([r[0] for r in rows]).reshape(length, 2))
    np.testing.assert_array_equal(n, np.array([r[1] for r in rows]))


def test_complex_carry(x64):
    def make(L):
        def f(re, im):
            def body(z, _):
                z = z * z * 0.5 + 1j * re
                return z, jnp.abs(z)
            z, ys = L.scan(body, re + 1j * im, None, length=3)
            return jnp.real(z), ys
        return f
    loops.same(loops.derivatives, make(lax), make(PYTHON), np.array([0.3, -0.2]), np.array([0.1, 0.7]))


def test_gradient_through_no_steps():
    def f(w):
        return jnp.sum(lax.scan(lambda c, x: (c * w + x, c), w, jnp.ones((0, 3)))[0])
    np.testing.assert_array_equal(jax.grad(f)(X), np.ones(3))


def test_named_axis_inside():
    def f(x):
        return lax.scan(lambda c, _: (c + lax.psum(x, "i"), lax.axis_index("i")), jnp.zeros(()), None, length=2)
    total, index = jax.vmap(f, axis_name="i")(X)
    np.testing.assert_array_equal(total, [6.0, 6.0, 6.0])
    np.testing.assert_array_equal(index, np.repeat(np.arange(3)[:, None], 2, 1))


def test_keys_as_rows_and_carry():
    from jax import random
    keys = random.split(random.key(0), 3)

    def body(k, row):
        k, sub = random.split(k)
        return k, random.bits(sub) ^ random.bits(row)

    last, ys = lax.scan(body, random.key(1), keys, reverse=True)
    k, want = random.key(1), []
    for i in (2, 1, 0):
        k, y = body(k, keys[i])
        want.append(int(y))
    assert ys.tolist() == want[::-1]
    assert (random.key_data(last) == random.key_data(k)).all()
    both = jax.vmap(lambda k: lax.scan(body, k, keys)[1])(keys)
    assert both.shape == (3, 3) and (both[1] == lax.scan(body, keys[1], keys)[1]).all()


def test_disable_jit():
    seen = []

    def body(c, x):
        seen.append(float(c))
        return c + x, {"y": c}

    with jax.disable_jit():
        carry, ys = lax.scan(body, 1.0, X, reverse=True)
        assert lax.map(lambda x: x + float(x), X).tolist() == [0.0, 2.0, 4.0]
    assert seen == [1.0, 3.0, 4.0] and float(carry) == 4.0 and ys["y"].tolist() == [4.0, 3.0, 1.0]


# --- types ------------------------------------------------------------------------------------------------------

WEAK = {
    "int to float": (lambda: lax.scan(lambda c, x: (c + x, c), 0, X), "float32", False),
    "weak float stays": (lambda: lax.scan(lambda c, x: (c + x, c), 0.0, np.arange(3)), "float32", True),
    "weak int stays": (lambda: lax.scan(lambda c, x: (c + 1, c), 0, X), "int32", True),
    "int times float": (lambda: lax.scan(lambda c, x: (c * 1.5, c), 0, X), "float32", False),
    "to bfloat16": (lambda: lax.scan(lambda c, x: (c + jnp.bfloat16(1), c), 0.0, X), "bfloat16", False),
    "bool": (lambda: lax.scan(lambda c, x: (c | True, c), True, X), "bool", False),
    "array stays": (lambda: lax.scan(lambda c, x: (c + 1, c), jnp.float16(0), X), "float16", False),
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_types_of_the_carry(name):
    run, dtype, weak = WEAK[name]
    carry, _ = run()
    assert (str(carry.dtype), carry.weak_type) == (dtype, weak)


def test_promotion_reaches_a_fixed_point():
    (a, b), _ = lax.scan(lambda c, x: ((c[0] + x, c[1] + c[0]), None), (0, 0), X)
    assert a.dtype == b.dtype == np.float32 and float(b) == 1.0


# --- programs ---------------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_equation():
    w = jnp.ones(3)
    closed = jax.make_jaxpr(lambda xs: lax.scan(lambda c, x: (c + x * jnp.sum(w), c), 0.0, xs, unroll=2))(X)
    eqn = only_scan(closed)
    assert eqn.primitive.name == "scan"
    assert {k: v for k, v in eqn.params.items() if k != "jaxpr"} == {
        "length": 3, "reverse": False, "unroll": 2, "num_consts": 1, "num_carry": 1}
    assert [v.aval.str_short() for v in eqn.params["jaxpr"].jaxpr.invars] == ["f32[3]", "f32[]", "f32[]"]
    assert not eqn.params["jaxpr"].consts
    check_jaxpr(closed.jaxpr)


def test_unchanged_parts_of_the_carry_become_constants():
    def f(w, h):
        return lax.scan(lambda c, x: ((c[0], c[1] * c[0] + x), c[0]), (w, h), X)
    eqn = only_scan(jax.make_jaxpr(f)(X, X))
    assert (eqn.params["num_consts"], eqn.params["num_carry"]) == (1, 1)
    (w, _), ys = f(X, jnp.ones(3))
    np.testing.assert_array_equal(w, X)
    assert ys.shape == (3, 3)
    assert isinstance(lax.scan(lambda c, x: (c, x), 1.0, X)[0], jax.Array)


@pytest.mark.parametrize("jitted", [False, True])
def test_residuals_that_never_change_are_not_stacked(jitted):
    def step(w, h, x):
        return jnp.sin(h * jnp.exp(w) + x)
    step = jax.jit(step) if jitted else step

    def f(w, h):
        return jnp.sum(lax.scan(lambda h, x: (step(w, h, x), None), h, X)[0])

    forward, backward = scans(jax.make_jaxpr(jax.grad(f))(jnp.ones(2), jnp.ones(2)))
    # Stacked: the carry of each step, and the cosine; not exp(w).
    assert [v.aval.shape for v in forward.outvars] == [(2,), (3, 2), (3, 2)]
    assert backward.params["num_consts"] == 1 and backward.params["reverse"]


def test_rows_are_residuals_for_free():
    def f(h, xs):
        return lax.scan(lambda h, x: (h * x, None), h, xs)[0]
    forward, backward = scans(jax.make_jaxpr(jax.grad(f))(1.0, X))
    assert len(forward.outvars) == 1
    assert backward.invars[-1] is forward.invars[-1]


def test_checkpointed_loop_keeps_nothing():
    def loop(h, xs):
        return lax.scan(lambda h, x: (jnp.sin(jnp.sin(h * x)), None), h, xs)[0]
    closed = jax.make_jaxpr(jax.grad(jax.checkpoint(loop)))(1.0, X)
    (forward,) = scans(closed)
    assert [v.aval.shape for v in forward.outvars] == [()]


def test_unused_parts_are_dropped():
    def f(w):
        (a, _, _), (_, y) = lax.scan(lambda c, x: ((c[0] * x, c[1] + c[2], c[2] * x), (c[1], x * w)), (w, w, w), X)
        return a, y
    jaxpr, used = jax._transforms.dce.dce_jaxpr(jax.make_jaxpr(f)(1.0).jaxpr, [True, True])
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is lax.scan_p]
    assert used == [True] and eqn.params["num_carry"] == 1 and len(eqn.outvars) == 2
    check_jaxpr(jaxpr)
    jaxpr, _ = jax._transforms.dce.dce_jaxpr(jax.make_jaxpr(f)(1.0).jaxpr, [False, False])
    assert not jaxpr.eqns


def lowered(length, **options):
    xs = jax.ShapeDtypeStruct((length, 2), np.float32)
    return jax.jit(lambda xs: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(2), xs, **options)).lower(xs).as_text()


def test_lowering():
    text = lowered(6)
    assert text.count("stablehlo.while") == 1 and "dynamic_slice" in text and "dynamic_update_slice" in text
    assert text.count("stablehlo.multiply") == 1
    text = lowered(7, unroll=3)
    assert text.count("stablehlo.while") == 1 and text.count("stablehlo.multiply") == 3 + 1 + 1  # and the start
    text = lowered(3, unroll=True)
    assert "stablehlo.while" not in text and text.count("stablehlo.multiply") == 3
    assert "stablehlo.while" not in lowered(1) and "stablehlo.while" not in lowered(0)


def test_long_unrolled_bodies_are_written_once():
    def body(c, x):
        for _ in range(10):
            c = jnp.sin(c + x)
        return c, c
    text = jax.jit(lambda xs: lax.scan(body, 0.0, xs, unroll=4)).lower(jax.ShapeDtypeStruct((8,), np.float32)).as_text()
    assert text.count("stablehlo.sine") == 10 and text.count("call @scan_body") == 4


# --- caching ----------------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_a_body_is_traced_once_for_equal_types():
    count = 0

    def body(c, x):
        nonlocal count
        count += 1
        return c + x, c

    for i in range(3):
        lax.scan(body, np.float32(i), X)
    jax.make_jaxpr(lambda: [lax.scan(body, np.float32(i), X) for i in range(3)])()
    assert count == 1
    lax.scan(body, np.float32(0), X[:2])  # the length is not the body's concern
    assert count == 1
    lax.scan(body, np.float32(0), np.ones((3, 2), np.float32)[:, 0].astype(np.float16))
    assert count == 2


def test_rebinding_what_a_body_reads_is_noticed():
    def body(c, x):
        return c * factor(w) + x, None

    def factor(w):
        return w

    def run(values):
        nonlocal w
        found = []
        for v in values:
            w = v
            found.append(lax.scan(body, 1.0, X)[0])
        return found

    w = None
    assert [float(r) for r in run((1.0, 2.0, jnp.float32(3)))] == [4.0, 12.0, 32.0]
    assert [float(r) for r in jax.jit(lambda v: run((v, 2 * v)))(1.0)] == [4.0, 12.0]


def test_functions_written_in_place_share_compiled_programs(monkeypatch):
    from jax.lax import _eager_calls
    made = []
    operation = _eager_calls.operation
    monkeypatch.setattr(_eager_calls, "operation", lambda prim, params: made.append(prim) or operation(prim, params))
    jax.clear_caches()

    def run(scale, offset):
        w = jnp.ones(3) * scale
        return float(lax.scan(lambda c, x: (c + x * w[0] + offset, c), 0.0, X)[0])

    assert [run(s, 0.0) for s in (1.0, 2.0, 3.0)] == [3.0, 6.0, 9.0]
    assert made == [lax.scan_p]
    assert [run(1.0, 1.0), run(1.0, -0.0)] == [6.0, 3.0]
    assert made == [lax.scan_p] * 3
    for _ in range(2):
        jax.grad(lambda w: jnp.sum(lax.scan(lambda c, x: (jnp.sin(c * w), c), 1.0, X)[1]))(0.5)
    assert made == [lax.scan_p] * 5


def test_caches_let_go_of_functions():
    def make():
        big = np.ones(10)

        def body(c, x):
            return c + x * big[0], c
        lax.scan(body, 0.0, X)
        jax.grad(lambda c: lax.scan(body, c, X)[0])(0.0)
        return weakref.ref(body)
    ref = make()
    gc.collect()
    assert ref() is None


def test_no_leaks():
    with jax.checking_leaks():
        jax.jit(lambda w, xs: jax.grad(lambda w: lax.scan(lambda c, x: (c * w + x, c), w, xs)[0])(w))(1.0, X)


# --- errors -----------------------------------------------------------------------------------------------------


def body(c, x):
    return c, x


ERRORS = {
    "sizes": (ValueError, lambda: lax.scan(body, 0.0, {"a": X, "b": X[:2]}),
              r"lax.scan.*\n.*xs\['a'\]: f32\[3\]\n.*xs\['b'\]: f32\[2\]"),
    "length differs": (ValueError, lambda: lax.scan(body, 0.0, {"a": X}, length=5), r"length=5.*size 3.*\n.*xs\['a'\]"),
    "no length": (ValueError, lambda: lax.scan(body, 0.0), "pass length="),
    "negative length": (ValueError, lambda: lax.scan(body, 0.0, length=-1), "negative, got -1"),
    "traced length": (jax.errors.ConcretizationTypeError,
                      lambda: jax.jit(lambda n: lax.scan(body, 0.0, length=n))(3), "while_loop"),
    "scalar row": (ValueError, lambda: lax.scan(body, 0.0, (X, 1.0)), r"xs\[1\] is a scalar"),
    "unroll": (ValueError, lambda: lax.scan(body, 0.0, X, unroll=-1), "unroll.*-1"),
    "unroll type": (TypeError, lambda: lax.scan(body, 0.0, X, unroll=1.5), "unroll.*1.5"),
    "no function": (TypeError, lambda: lax.scan(1, 0.0, X), "lax.scan: f must be a function, got 1"),
    "no pair": (TypeError, lambda: lax.scan(lambda c, x: c, 0.0, X), r"test_scan.py:\d+ must return a pair.*f32\[\]"),
    "three results": (TypeError, lambda: lax.scan(lambda c, x: (c, 1, 2), 0.0, X), "a tuple of 3"),
    "init": (TypeError, lambda: lax.scan(body, {"a": "text"}, X), r"init\['a'\]: 'text' of type str"),
    "result": (TypeError, lambda: lax.scan(lambda c, x: (c, {"k": "s"}), 0.0, X), r"result\[1\]\['k'\]"),
    "carry structure": (TypeError, lambda: lax.scan(lambda c, x: ({"a": c["a"]}, x), {"a": 0.0, "b": 1.0}, X),
                        r"tree structure.*(.|\n)*missing: 'b'(.|\n)*argument c"),
    "carry shape": (TypeError, lambda: lax.scan(lambda c, x: ({"a": X, "b": 2.0}, x), {"a": 0.0, "b": 1.0}, X),
                    r"c\['a'\] goes in as f32\[\] and comes out as f32\[3\]: the shapes differ\n.*broadcast_to"),
    "carry dtype": (TypeError, lambda: lax.scan(lambda c, x: (c.astype("int32"), x), X[0], X),
                    r"lax.scan.*(.|\n)*c goes in as f32\[\] and comes out as i32\[\]: the dtypes differ\n.*"
                    r"astype\('float32'\)"),
    "map": (ValueError, lambda: lax.map(lambda x: x, (X, X[:1])), r"lax.map.*(.|\n)*xs\[1\]: f32\[1\]"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, run, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        run()


def test_forbidden_effects_are_named():
    from jax._language.effects import Effect
    from jax._language.primitive import Primitive

    class Launching(Effect):
        def __repr__(self):
            return "Launching"
    prim = Primitive("test_launch")
    prim.def_effectful_abstract_eval(lambda x: (x, {Launching()}))
    with pytest.raises(NotImplementedError, match="lax.scan: .*effects.*Launching"):
        jax.make_jaxpr(lambda xs: lax.scan(lambda c, x: (c, prim.bind(x)), 0.0, xs))(X)
    with pytest.raises(NotImplementedError, match="lax.cond: .*Launching"):
        jax.make_jaxpr(lambda x: lax.cond(True, prim.bind, lambda x: x, x))(0.0)


# --- map --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 5, 7])
def test_map(batch_size):
    xs = {"a": np.arange(5.0, dtype=np.float32), "b": np.arange(10.0, dtype=np.float32).reshape(5, 2)}
    out = lax.map(lambda x: (x["a"] * 2, x["b"].sum()), xs, batch_size=batch_size)
    np.testing.assert_array_equal(out[0], xs["a"] * 2)
    np.testing.assert_array_equal(out[1], xs["b"].sum(1))
    assert lax.map(lambda x: x, np.ones((0, 3), np.float32), batch_size=batch_size).shape == (0, 3)


def test_map_derivative():
    grads = [jax.grad(lambda w, b=b: jnp.sum(lax.map(lambda x: jnp.sin(x * w), X, batch_size=b)))(0.5)
             for b in (None, 1, 2)]
    np.testing.assert_allclose(grads, [np.sum(np.cos(X * 0.5) * X)] * 3, rtol=1e-6)
