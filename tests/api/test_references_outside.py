"""References that functions are given or close over, under transformations."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

SHARED = jax.new_ref(jnp.zeros(3))


def ref_of(*values):
    return jax.new_ref(jnp.array(values, jnp.float32))


def value(ref):
    return np.asarray(ref[...])


# --- aliasing, escaping ------------------------------------------------------------------------------------------------

TWICE = "one reference of type Ref.* is passed twice, as the arguments a and b"
BOTH = "is passed as the argument a, and the function closes over it too"


@pytest.mark.quick
@pytest.mark.parametrize(("call", "message"), [
    (lambda r: jax.jit(lambda a, b: a[0] + b[0])(r, r), "jit of <lambda>.*" + TWICE),
    (lambda r: jax.jit(lambda a: a[0] + r[0])(r), "jit of <lambda>.*" + BOTH),
    (lambda r: jax.jit(lambda r: jax.jit(lambda a, b: a[0] + b[0])(r, r))(r), TWICE),
    (lambda r: jax.jit(lambda r: jax.jit(lambda a: a[0] + r[0])(r))(r), BOTH),
    (lambda r: jax.grad(lambda x, r: jax.jit(lambda a, b: a[0] + b[0])(r, r) * x, 0)(1.0, r), TWICE),
    (lambda r: jax.vmap(lambda r: jax.jit(lambda a, b: a[...] + b[...])(r, r))(r), TWICE),
    (lambda r: jax.checkpoint(lambda a, b: a[0] + b[0])(r, r), "checkpoint of .*" + TWICE),
    (lambda r: lax.cond(True, lambda a, b: a[0], lambda a, b: b[0], r, r), r"twice, as the arguments operands\[0\]"),
    (lambda r: lax.cond(True, lambda a: a[0] + r[0], lambda a: a[0], r), r"argument operands\[0\], and the function closes"),
])
def test_one_array_has_one_reference(call, message):
    ref = ref_of(1, 2, 3)
    with pytest.raises(ValueError, match=message):
        call(ref)
    ref[0] = 5.0
    np.testing.assert_array_equal(value(ref), [5, 2, 3])


def test_aliasing_is_found_also_when_the_trace_is_known():
    ref, other = ref_of(1, 2), ref_of(3, 4)
    f = jax.jit(lambda a: a[0] + ref[0])
    assert float(f(other)) == 4.0
    with pytest.raises(ValueError, match=BOTH):
        f(ref)
    jax.config.update("jax_mutable_array_checks", False)
    try:
        assert float(f(ref)) == 2.0
    finally:
        jax.config.update("jax_mutable_array_checks", True)


@pytest.mark.quick
@pytest.mark.parametrize(("call", "message"), [
    (lambda r: jax.jit(lambda a: a)(r), "traced for jit, returned a reference of type .* passed in as the argument a"),
    (lambda r: jax.jit(lambda a: {"x": (1, a)})(r), r"returned a reference of type .* at result\['x'\]\[1\]"),
    (lambda r: jax.jit(lambda: r)(), "returned a reference"),
    (lambda r: jax.jit(lambda: jax.new_ref(0.0))(), "returned a reference .* was made at .*test_references_outside.py"),
    (lambda r: lax.scan(lambda c, x: (c, r), 0.0, jnp.ones(2)), "traced for scan, returned a reference"),
    (lambda r: lax.cond(True, lambda: r, lambda: r), "traced for cond, returned a reference"),
    (lambda r: jax.checkpoint(lambda a: a)(r), "traced for checkpoint, returned a reference"),
    (lambda r: lax.fori_loop(0, 2, lambda i, c: c, r), "lax.fori_loop: init holds a reference .* Close over"),
    (lambda r: lax.scan(lambda c, x: (c, x), r, jnp.ones(2)), "lax.scan: init holds a reference"),
    (lambda r: lax.while_loop(lambda c: True, lambda c: c, r), "lax.while_loop: init_val holds a reference"),
])
def test_references_cannot_leave(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(ref_of(1, 2))


def test_a_reference_that_outlives_its_trace():
    kept = []
    jax.jit(lambda: kept.append(jax.new_ref(1.0)))()
    with pytest.raises(jax.errors.UnexpectedTracerError, match="Ref{f32"):
        kept[0][...]


@pytest.mark.parametrize("give_up", [jax.freeze, jax.free_ref])
def test_only_the_maker_gives_up(give_up):
    ref = ref_of(1, 2)
    for f, args in ((lambda r: give_up(r), (ref,)), (lambda: give_up(ref), ())):
        with pytest.raises(ValueError, match="was not made in <lambda>"):
            jax.jit(f)(*args)

    def late(use):
        own = jax.new_ref(1.0)
        give_up(own)
        use(own)
    for use in (lambda r: r[...], lambda r: r.set(1.0), lambda r: jax.jit(lambda a: a[...])(r), jax.freeze):
        with pytest.raises(ValueError, match="cannot be used any more|used after it was"):
            jax.jit(late, static_argnums=0)(use)


# --- jit ----------------------------------------------------------------------------------------------------------------

def test_compiled_functions_change_what_they_are_given_and_close_over():
    closed, given, tree = ref_of(1, 2), ref_of(3, 4), {"a": (ref_of(0), 2.0)}
    traces = []

    @jax.jit
    def f(ref, x, tree):
        traces.append(1)
        ref[...] *= x
        closed[0] += x
        tree["a"][0].addupdate(tree["a"][1])
        return ref[0]
    assert [float(f(given, 2.0, tree)) for _ in range(3)] == [6, 12, 24]
    assert len(traces) == 1
    for ref, expected in ((closed, [7, 2]), (given, [24, 32]), (tree["a"][0], [6])):
        np.testing.assert_array_equal(value(ref), expected)


def test_compiled_ahead_of_time():
    ref = ref_of(1, 2)
    lowered = jax.jit(lambda r, x: r.swap(r[...] * x)).lower(jax.ShapeDtypeStruct((2,), jnp.float32, is_ref=True), 3.0)
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(ref, 3.0), [1, 2])
    np.testing.assert_array_equal(value(ref), [3, 6])
    assert jax.eval_shape(lambda r: r[0], ref).shape == ()
    assert "tf.aliasing_output = 0" in lowered.as_text()


def test_without_jit():
    with jax.disable_jit():
        ref = ref_of(0, 0, 0)
        lax.scan(lambda c, x: (c, ref.addupdate(x, 0)), 0.0, jnp.arange(3.0))
        lax.fori_loop(0, 3, lambda i, c: (ref.set(7.0, i), c)[1], 0)
        lax.cond(True, lambda: ref.addupdate(1.0, 1), lambda: None)
        jax.jit(lambda r: r.set(0.0, 2))(ref)
    np.testing.assert_array_equal(value(ref), [7, 8, 0])


# --- vmap ---------------------------------------------------------------------------------------------------------------

def test_mapped_references():
    ref = jax.new_ref(jnp.zeros((2, 3)))
    jax.vmap(lambda r, x, i: (r.addupdate(x), r.set(9.0, i)), in_axes=(1, 0, 0))(ref, jnp.arange(3.0), jnp.array([0, 1, 0]))
    np.testing.assert_array_equal(value(ref), [[9, 1, 9], [0, 9, 2]])
    jax.jit(jax.vmap(jax.vmap(lambda r: r.swap(r[...] + 1))))(ref)
    np.testing.assert_array_equal(value(ref), [[10, 2, 10], [1, 10, 3]])
    table = ref_of(5, 6, 7)
    np.testing.assert_array_equal(jax.vmap(lambda i: table[i])(jnp.array([2, 0])), [7, 5])


@pytest.mark.quick
@pytest.mark.parametrize("write", [
    lambda x: SHARED.set(x), lambda x: SHARED.addupdate(x, 0), lambda x: SHARED.set(1.0), lambda i: SHARED.set(0.0, i),
    jax.jit(lambda x: SHARED.set(x)), lambda x: jax.jit(lambda: SHARED.set(1.0))(),
    lambda x: lax.fori_loop(0, 2, lambda i, c: (SHARED.addupdate(c), c)[1], x),
    lambda x: lax.cond(x > 0, lambda: SHARED.set(1.0), lambda: None),
])
def test_examples_cannot_write_to_one_place(write):
    with pytest.raises(ValueError, match="vmap: .* changes a reference .* the same for all examples"):
        jax.vmap(write)(jnp.arange(3))
    with pytest.raises(ValueError, match="the same for all examples"):
        jax.vmap(lambda s, x: s.set(x), in_axes=(None, 0))(SHARED, jnp.arange(3.0))


def test_examples_that_go_their_own_ways():
    ref = ref_of(0, 0, 0)
    which = jnp.array([True, False, True])
    jax.vmap(lambda r, p: lax.cond(p, lambda: r.set(r[...] + 2), lambda: r.addupdate(1.0)))(ref, which)
    np.testing.assert_array_equal(value(ref), [2, 1, 2])
    jax.vmap(lambda r, n: lax.while_loop(lambda c: (c < n) & (r[...] < 9), lambda c: (r.addupdate(3.0), c + 1)[1], 0))(
        ref, jnp.array([0, 1, 9]))
    np.testing.assert_array_equal(value(ref), [2, 4, 11])


# --- derivatives: references as plumbing -----------------------------------------------------------------------------

def _loss(w, ref):
    y = jnp.sin(w) * ref[...]
    ref[...] += lax.stop_gradient(w)
    return y.sum()


CALLS = {
    "eager": lambda f: f, "jit": jax.jit, "checkpoint": jax.checkpoint,
    "cond": lambda f: lambda w, r: lax.cond(True, f, lambda w, r: 0.0, w, r),
    "scan": lambda f: lambda w, r: lax.scan(lambda c, _: (c, f(w, r)), 0.0, None, length=1)[1][0],
}


@pytest.mark.parametrize("how", CALLS)
def test_what_is_read_is_constant(how):
    w, ref = jnp.arange(3.0), ref_of(1, 1, 1)
    for grad in (jax.grad, lambda f: jax.jit(jax.grad(f)), lambda f: lambda w, r: jax.jvp(lambda w: f(w, r), (w,), (w,))[1]):
        before = value(ref)
        found = grad(CALLS[how](_loss))(w, ref)
        expected = np.cos(w) * before
        np.testing.assert_allclose(found, expected if np.ndim(found) else (expected * w).sum(), rtol=1e-5)
        np.testing.assert_allclose(value(ref), before + w)


def _counting(x, count):
    def body(c, _):
        k = count[...]
        count[...] = k + 1.0
        return jax.jit(lambda a: jnp.sin(a) * k)(c) + c, None
    return lax.scan(body, x, None, length=3)[0]


def _counting_pure(x, k):
    for i in range(3):
        x = jnp.sin(x) * (k + i) + x
    return x


def _counting_while(x, count):
    def body(state):
        count[...] += 1.0
        return state[0] + 1, state[1] * count[...]
    return lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1]


def _linearized(f):
    return lambda x, c: jax.linearize(lambda x: f(x, c), x)[1](1.0)


DERIVATIVES = {
    "grad": jax.grad, "grad of jit": lambda f: jax.grad(jax.jit(f)), "jit of grad": lambda f: jax.jit(jax.grad(f)),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(f)), "linearize": _linearized,
    "linearize of checkpoint": lambda f: _linearized(jax.checkpoint(f)),
    "linearize of jit of checkpoint": lambda f: _linearized(jax.jit(jax.checkpoint(f))),
    "jvp": lambda f: lambda x, c: jax.jvp(lambda x: f(x, c), (x,), (1.0,))[1],
}


@pytest.mark.parametrize("how", DERIVATIVES)
def test_what_changes_from_step_to_step_changes_once(how):
    count = jax.new_ref(2.0)
    np.testing.assert_allclose(DERIVATIVES[how](_counting)(0.7, count), jax.grad(_counting_pure)(0.7, 2.0), rtol=1e-5)
    assert float(count[...]) == 5.0
    if "grad" not in how:
        assert float(DERIVATIVES[how](_counting_while)(0.7, count)) == 6 * 7 * 8 and float(count[...]) == 8.0


@pytest.mark.quick
@pytest.mark.parametrize("how", CALLS)
def test_what_is_differentiated_cannot_be_written(how):
    ref = ref_of(1, 1, 1)
    for write in (lambda w, r: r.set(w), lambda w, r: r.addupdate(w[0], 0), lambda w, r: r.swap(w * 2)):
        f = CALLS[how](lambda w, r, write=write: (write(w, r), (w ** 2).sum())[1])
        with pytest.raises(ValueError, match="differentiated is (written|added) to a reference that is not"):
            jax.grad(f)(jnp.arange(3.0), ref)


@jax.custom_vjp
def stash(ref, place, x):
    """The identity; its cotangent goes to ``ref[place]``."""
    return x


def _stash_bwd(kept, ct):
    ref, place = kept
    ref[place] = ct
    return None, None, ct


stash.defvjp(lambda ref, place, x: (x, (ref, place)), _stash_bwd)


@pytest.mark.parametrize("how", ["eager", "jit", "checkpoint"])
def test_cotangents_leave_through_references(how):
    ref = ref_of(0, 0, 0)

    def f(x, ref):
        def body(c, i):
            return stash(ref, i, jnp.sin(c)), None
        return lax.scan(body, x, jnp.arange(3))[0] ** 2
    grad = jax.grad(CALLS[how](f))
    grad(0.8, ref)
    first = value(ref)
    ref[...] = jnp.zeros(3)
    jax.jit(grad)(0.8, ref)
    a = [0.8]
    for _ in range(3):
        a.append(np.sin(a[-1]))
    expected = [2 * a[3] * np.cos(a[1]) * np.cos(a[2]), 2 * a[3] * np.cos(a[2]), 2 * a[3]]
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    np.testing.assert_allclose(value(ref), expected, rtol=1e-5)


def test_cotangents_of_a_batch_leave_through_a_mapped_reference():
    ref = jax.new_ref(jnp.zeros((2, 1)))
    jax.vmap(jax.grad(lambda x, r: stash(r, 0, jnp.sin(x)) ** 2))(jnp.array([0.3, 0.9]), ref)
    np.testing.assert_allclose(value(ref)[:, 0], 2 * np.sin([0.3, 0.9]), rtol=1e-6)
    outside = ref_of(0)
    assert float(jax.jit(lambda x: jax.grad(lambda x: stash(outside, 0, x * x))(x))(3.0)) == 6.0
    np.testing.assert_array_equal(value(outside), [1])


def test_functions_with_rules_of_their_own_close_over_references():
    ref = ref_of(2.0)
    scaled = jax.custom_jvp(lambda x: x * ref[0])
    scaled.defjvp(lambda p, t: (p[0] * ref[0], t[0] * ref[0] * 10))
    assert float(jax.jit(scaled)(3.0)) == 6.0 and float(jax.jit(jax.grad(scaled))(3.0)) == 20.0
    ref[0] = 3.0
    assert float(jax.jit(scaled)(3.0)) == 9.0 and float(jax.grad(scaled)(3.0)) == 30.0
    for f in (jax.grad(jax.jit(scaled)), jax.jit(jax.grad(jax.jit(scaled)))):
        assert float(f(3.0)) == 30.0
    given = jax.custom_jvp(lambda r, x: x * r[0])
    given.defjvp(lambda p, t: (p[1] * p[0][0], t[1] * p[0][0] * 10))
    assert float(jax.grad(jax.jit(given), 1)(ref, 3.0)) == 30.0


LAST_COTANGENT = jax.new_ref(0.0)


@jax.custom_vjp
def watched(x):
    """The identity; its cotangent goes to ``LAST_COTANGENT``, which its rule closes over."""
    return x


watched.defvjp(lambda x: (x, None), lambda _, ct: (LAST_COTANGENT.set(ct), (ct,))[1])


@pytest.mark.parametrize("how", ["eager", "jit", "checkpoint", "cond", "scan"])
def test_rules_close_over_references_in_compiled_functions(how):
    grad = jax.grad(CALLS[how](lambda x, _: watched(jnp.sin(x)) ** 2))
    jitted = jax.jit(grad)
    for f in (grad, grad, jitted, jitted, jitted):
        LAST_COTANGENT.set(0.0)
        assert float(f(jnp.float32(0.5), jnp.float32(0.0))) == pytest.approx(2 * np.sin(0.5) * np.cos(0.5), rel=1e-6)
        assert float(LAST_COTANGENT[...]) == pytest.approx(2 * np.sin(0.5), rel=1e-6)


def test_a_rule_closes_over_the_argument():
    ref = ref_of(3.0)
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ref.set(ct, 0), (ct,))[1])
    assert float(jax.jit(lambda r: jax.grad(jax.jit(lambda x: f(x) * r[0] * 2))(2.0))(ref)) == 6.0
    np.testing.assert_array_equal(value(ref), [6])

    def twice(r, x):
        return jax.jit(lambda x: (r.addupdate(1.0), f(x))[1])(x)
    with pytest.raises(ValueError, match="in two ways: as an argument, and in a derivative rule"):
        jax.jit(lambda r: jax.jit(jax.grad(twice, 1))(r, 2.0))(ref)


# --- derivatives: references as differentiated arguments ---------------------------------------------------------------

def _program(ref, x):
    ref[0] = x * ref[1] * ref[1]
    ref[2] *= ref[0]
    return (ref[...] * x).sum()


def _pure(r, x):
    r = r.at[0].set(x * r[1] * r[1])
    r = r.at[2].multiply(r[0])
    return (r * x).sum(), r


@pytest.mark.parametrize("how", ["eager", "jit", "checkpoint", "cond"])
def test_pullbacks_accumulate_in_references(how):
    start, ct_last = np.array([1.0, 2.0, 3.0], np.float32), np.array([0.5, -1.0, 2.0], np.float32)
    f = {"cond": lambda f: lambda r, x: lax.cond(True, f, lambda r, x: 0.0, r, x)}.get(how, CALLS.get(how))(_program)
    ref, of_ref, of_x = ref_of(*start), ref_of(*ct_last), jax.new_ref(10.0)
    out, pullback = jax.vjp(f, ref, 1.5)
    with pytest.raises(ValueError, match="f_vjp.with_refs"):
        pullback(1.0)
    assert pullback.with_refs(of_ref, of_x)(2.0) == (jax.ad.GradRef(), jax.ad.GradRef())
    expected, pure_pullback = jax.vjp(_pure, start, 1.5)
    ct_start, ct_x = pure_pullback((jnp.float32(2.0), ct_last))
    np.testing.assert_allclose([out, *value(ref)], [expected[0], *expected[1]], rtol=1e-6)
    np.testing.assert_allclose(value(of_ref), ct_start, rtol=1e-6)
    np.testing.assert_allclose(value(of_x), 10 + ct_x, rtol=1e-6)
    assert pullback.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(2.0)[0] == jax.ad.DidntWant()


@pytest.mark.parametrize("how", ["eager", "jit", "checkpoint", "scan", "cond"])
def test_tangents_flow_through_references(how):
    start, tangent = np.array([1.0, 2.0, 3.0], np.float32), np.array([0.5, -1.0, 2.0], np.float32)
    f = {"scan": lambda f: lambda r, x: lax.scan(lambda c, _: (c, f(r, x)), 0.0, None, length=1)[1][0],
         "cond": lambda f: lambda r, x: lax.cond(True, f, lambda r, x: 0.0, r, x)}.get(how, CALLS.get(how))(_program)
    (_, last), (expected, t_last) = jax.jvp(_pure, (start, 1.5), (tangent, 0.25))
    ref, t_ref = ref_of(*start), ref_of(*tangent)
    found = jax.jvp(f, (ref, 1.5), (t_ref, 0.25))[1]
    np.testing.assert_allclose([found, *value(ref), *value(t_ref)], [expected, *last, *t_last], rtol=1e-6)
    ref, t_ref = ref_of(*start), ref_of(*tangent)
    found = jax.linearize(f, ref, 1.5)[1](t_ref, jnp.float32(0.25))
    np.testing.assert_allclose([found, *value(t_ref)], [expected, *t_last], rtol=1e-6)


def test_gradients_of_microbatches_are_accumulated_in_a_loop():
    total, w = ref_of(0, 0, 0), jnp.array([0.1, 0.2, 0.3])
    data = jnp.arange(12.0).reshape(4, 3) / 12

    @jax.jit
    def run(total):
        def body(c, x):
            jax.vjp(lambda w: jnp.sin(w @ x), w)[1].with_refs(total)(1.0)
            return c, None
        lax.scan(body, 0.0, data)
    run(total)
    expected = jax.grad(lambda w: jnp.sin(data @ w).sum())(w)
    np.testing.assert_allclose(value(total), expected, rtol=1e-5)
    assert str(jax.jit(lambda a: jax.vjp(jnp.sin, a)[1].with_refs(jax.ad.DontWant())(a))(1.0)) == "(DidntWant(),)"


@pytest.mark.quick
def test_mistakes_with_differentiated_references():
    ref = ref_of(1, 2)
    with pytest.raises(TypeError, match="grad cannot differentiate with respect to a reference.*with_refs"):
        jax.grad(lambda r: r[0])(ref)
    with pytest.raises(TypeError, match="tangent of a reference is a reference"):
        jax.jvp(lambda r: r[0], (ref,), (jnp.ones(2),))
    _, pullback = jax.vjp(lambda r, x: r[0] * x, ref, 2.0)
    for entries, message in (((ref_of(0, 0),), "one entry per array argument"), ((ref_of(0, 0), None), "one entry per"),
                             ((ref_of(0), jax.ad.DontWant()), r"is of type f32\[2\], and cannot be accumulated"),
                             ((jax.ad.GradValue(), jax.ad.DontWant()), "is a reference, whose gradient")):
        with pytest.raises(ValueError, match=message):
            pullback.with_refs(*entries)
    with pytest.raises(ValueError, match="is not differentiated"):
        jax.vjp(lambda i, x: x, 1, 2.0)[1].with_refs(ref_of(0), jax.ad.GradValue())
