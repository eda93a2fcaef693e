"""Checks at run time: what is reported, and that reports come through every transformation and kind of call."""

import re

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify


def positive(x):
    checkify.check(x > 0, "x must be positive, got {x}", x=x)
    return x + 1


def message(fun, *args, errors=checkify.user_checks, jit=True):
    checked = checkify.checkify(fun, errors=errors)
    return (jax.jit(checked) if jit else checked)(*args)[0].get()


POSITIVE = "x must be positive, got {} (`check` failed)"


# --- check ----------------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_a_check_on_concrete_values_raises_at_once():
    checkify.check(True, "fine")
    with pytest.raises(checkify.JaxRuntimeError, match=re.escape("size 3 of [0 1] is 1.50 (`check` failed)")) as caught:
        checkify.check(np.bool_(False), "size {} of {a} is {b:.2f}", 3, a=jnp.arange(2), b=jnp.float32(1.5))
    assert isinstance(caught.value, ValueError)
    assert any("test_checkify.py" in note for note in caught.value.__notes__)


def test_eager_transformations_check_values():
    with pytest.raises(checkify.JaxRuntimeError, match="got -1.0"):
        jax.grad(positive)(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match="at mapped index 1: .*got -1.0"):
        jax.vmap(positive)(jnp.array([1.0, -1.0]))


def test_debug_checks_count_under_checkify_only():
    def f(x):
        checkify.debug_check(x > 0, "debug {}", x)
        return x
    checkify.check(False, "nothing", debug=True)
    assert f(-1.0) == -1.0
    assert jax.jit(f)(-1.0) == -1.0
    assert message(f, -1.0) == "debug -1.0 (`check` failed)"


@pytest.mark.parametrize("call, error, text", [
    (lambda: checkify.check(jnp.ones(2, bool), "m"), TypeError, r"boolean scalar, got bool\[2\].*jnp.all"),
    (lambda: checkify.check(1.0, "m"), TypeError, r"boolean scalar, got f32\[\]"),
    (lambda: checkify.check("a", "m"), TypeError, "boolean scalar"),
    (lambda: checkify.check(True, 3), TypeError, "must be a string"),
    (lambda: checkify.check(True, "{} {}", 1), IndexError, r"shows the value \{\}, which was not given"),
    (lambda: checkify.check(True, "{a}", b=1), IndexError, r"shows the value \{a\}.*given: \{b\}"),
    (lambda: checkify.check(True, "{", 1), ValueError, "not a template"),
    (lambda: checkify.check(True, "{}", {"k": "text"}), TypeError, r"fmt_args\[0\]\['k'\] is 'text'"),
    (lambda: checkify.check_error(3), TypeError, "takes an Error"),
    (lambda: checkify.checkify(3), TypeError, "takes a function"),
    (lambda: checkify.checkify(positive, errors=3), TypeError, "set of categories"),
    (lambda: checkify.checkify(positive, errors=[checkify.user_checks]), TypeError, r"join them with \|"),
])
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_compiled_without_checkify_is_refused_with_the_remedy():
    for run in (lambda: jax.jit(positive)(1.0), lambda: lax.scan(lambda c, x: (positive(c), x), 1.0, jnp.arange(2))):
        with pytest.raises(ValueError, match=r"(?s)x must be positive.*test_checkify.py.*jax.jit\(checkify.checkify"):
            run()
    assert "check" in str(jax.make_jaxpr(positive)(1.0))


def test_checks_where_they_cannot_be_reported_are_refused():
    def add(a, b):
        checkify.check(a > 0, "a")
        return a + b
    with pytest.raises(NotImplementedError, match="checks inside of reduce are not supported"):
        message(lambda x: lax.reduce(x, 0.0, add, (0,)), jnp.ones(3))


def test_an_error_has_no_message_while_traced():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="no message while"):
        jax.jit(lambda x: checkify.checkify(positive)(x)[0].get())(1.0)


# --- errors as values -----------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_error_is_a_tree_with_a_message_and_an_exception():
    error, out = jax.jit(checkify.checkify(positive))(-1.0)
    assert out == 0 and error.get() == POSITIVE.format(-1.0)
    exception = error.get_exception()
    assert isinstance(exception, checkify.FailedCheckError) and isinstance(exception, checkify.JaxException)
    with pytest.raises(checkify.JaxRuntimeError, match="got -1.0"):
        error.throw()
    with pytest.raises(checkify.JaxRuntimeError, match="got -1.0"):
        checkify.check_error(error)
    leaves, tree = jax.tree.flatten(error)
    assert all(isinstance(x, jax.Array) for x in leaves)
    assert jax.tree.unflatten(tree, leaves).get() == error.get()
    fine, _ = checkify.checkify(positive)(1.0)
    assert fine.get() is None and fine.get_exception() is None and fine.throw() is None
    checkify.check_error(fine)
    assert jax.tree.structure(fine) == tree, "programs traced anew return equal structures"
    assert checkify.init_error.get() is None and not jax.tree.leaves(checkify.init_error)


def test_the_first_failure_counts():
    def f(x):
        checkify.check(x < 10, "first {}", x)
        y = lax.fori_loop(0, 3, lambda i, v: positive(v - 1), x)
        checkify.check(x < 5, "last {}", x)
        return y
    assert message(f, 1.0) == POSITIVE.format(0.0)
    assert message(f, 20.0) == "first 20.0 (`check` failed)"
    assert message(f, 7.0) == "last 7.0 (`check` failed)"
    assert message(f, 3.0) is None


def test_values_of_several_types_are_reported():
    def f(x, n):
        checkify.check(n > 0, "n {} {}", n, x)
        checkify.check(x.sum() > 0, "x {tree}", tree={"a": x, "b": (n, n)})
        checkify.check(x[0] > 0, "x0 {}", x[0])
        return x
    assert message(f, jnp.ones(2), 0) == "n 0 [1. 1.] (`check` failed)"
    assert message(f, jnp.array([-1.0, 2.0]), 3) == "x0 -1.0 (`check` failed)"
    assert message(f, jnp.array([-1.0, 0.0]), 3).startswith("x {'a': array([-1.,  0.]")


def test_typed_keys_are_reported():
    def f(key):
        checkify.check(False, "key {}", key)
    assert message(f, jax.random.key(7)) == "key [0 7] (`check` failed)"


def test_check_error_inside_an_outer_checkify():
    def f(x):
        error, y = checkify.checkify(positive)(x)
        checkify.check_error(error)
        return y
    assert message(f, -3.0) == POSITIVE.format(-3.0)
    assert message(lambda xs: checkify.check_error(jax.vmap(checkify.checkify(positive))(xs)[0]),
                   jnp.array([1.0, -2.0, -3.0])) == POSITIVE.format(-2.0)


# --- transformations and calls --------------------------------------------------------------------------------------

def _while_in_body(x):
    return lax.while_loop(lambda v: v > -3, lambda v: positive(v) - 2, x)


def _while_in_cond(x):
    def cond(v):
        checkify.check(v > 0, "x must be positive, got {x}", x=v)
        return v > -3
    return lax.while_loop(cond, lambda v: v - 1, x)


@jax.custom_jvp
def with_jvp(x):
    return positive(x)


@with_jvp.defjvp
def _(primals, tangents):
    return with_jvp(*primals), 3 * tangents[0]


@jax.custom_vjp
def with_vjp(x):
    return positive(x)


with_vjp.defvjp(lambda x: (with_vjp(x), None), lambda _, g: (3 * g,))


@jax.custom_batching.custom_vmap
def with_vmap(x):
    return positive(x)


@with_vmap.def_vmap
def _(axis_size, in_batched, x):
    return positive(x.sum()) * jnp.ones(axis_size), True


def _linear_call(x):
    return jax.custom_derivatives.linear_call(lambda r, v: positive(r) * v, lambda r, v: positive(r) * v, x, x)


@pytest.mark.parametrize("fun", [
    positive, jax.jit(positive), jax.checkpoint(positive), jax.jit(jax.jit(positive)), _while_in_body, _while_in_cond,
    with_jvp, with_vjp, with_vmap, _linear_call,
    lambda x: lax.scan(lambda c, y: (positive(c) - 2, c), x, jnp.arange(5))[0],
    lambda x: lax.scan(lambda c, y: (c, positive(y + x)), 0, jnp.zeros(2))[1],
    lambda x: lax.cond(x > 100, lambda v: v, positive, x),
    lambda x: lax.switch(1, [lambda v: v, positive, lambda v: positive(v - 1)], x),
    lambda x: lax.map(positive, jnp.full(2, x)),
    lambda x: jax.value_and_grad(positive)(x)[0], lambda x: jax.jvp(positive, (x,), (x,))[1],
    jax.grad(jax.jit(positive)), jax.grad(with_jvp), jax.grad(with_vjp), jax.grad(jax.checkpoint(positive)),
    jax.grad(lambda x: lax.scan(lambda c, y: (positive(c * x * x), y), x, jnp.arange(2.0))[0]),
    jax.grad(lambda x: lax.cond(x > 100, lambda v: v, positive, x)),
    jax.jacfwd(_while_in_body), jax.hessian(jax.jit(positive)),
    lambda x: jax.vmap(positive)(x[None]), lambda x: jax.jit(jax.vmap(jax.jit(positive)))(x[None]),
    lambda x: jax.vmap(jax.grad(positive))(x[None]), lambda x: jax.vmap(_while_in_cond)(x[None]),
    lambda x: jax.vmap(lambda y: lax.scan(lambda c, z: (positive(c), z), y, None, length=1))(x[None]),
    lambda x: jax.pmap(positive)(x[None]), lambda x: jax.grad(lambda y: jax.pmap(positive)(y[None])[0])(x),
    lambda x: jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), x.dtype), positive(x)),
], ids=lambda fun: getattr(fun, "__name__", "?"))
def test_checks_come_through(fun):
    assert message(fun, jnp.float32(-1.0)) == POSITIVE.format(-1.0)


def test_operations_that_run_at_once_are_checked_in_the_same_way():
    for fun in (positive, _while_in_cond, with_jvp, jax.grad(with_vjp), lambda x: jax.vmap(positive)(x[None])):
        assert message(fun, jnp.float32(-1.0), jit=False) == POSITIVE.format(-1.0)
    assert message(lambda x, i: x[i], jnp.arange(3), 5, errors=checkify.index_checks, jit=False) == _out(5)


def _loop(x):
    return lax.while_loop(lambda v: v < 9, lambda v: positive(v) * 2, x)


def _scan(x):
    return lax.scan(lambda c, y: (positive(c) * 2, y), x, None, length=3)[0]


def _choice(x):
    return lax.cond(x > 1, jnp.sin, positive, x)


# Values and derivatives at 0.5, worked out by hand.
@pytest.mark.parametrize("fun, value, slope", [
    (positive, 1.5, 1.0), (with_jvp, 1.5, 3.0), (jax.checkpoint(positive), 1.5, 1.0), (jax.jit(positive), 1.5, 1.0),
    (_linear_call, 0.75, 2.0), (_scan, 18.0, 8.0), (_loop, 18.0, 8.0), (_choice, 1.5, 1.0),
])
def test_values_and_derivatives_are_those_of_the_function(fun, value, slope):
    checked = checkify.checkify(fun)
    (error, out), (_, tangent) = jax.jvp(jax.jit(checked), (0.5,), (1.0,))
    assert error.get() is None
    np.testing.assert_allclose((out, tangent), (value, slope))


@pytest.mark.parametrize("fun, slope", [(with_vjp, 3.0), (with_jvp, 3.0), (_scan, 8.0), (_choice, 1.0),
                                        (jax.checkpoint(positive), 1.0)])
def test_gradients_of_checked_functions(fun, slope):
    def out_and_error(x):
        error, out = checkify.checkify(fun)(x)
        return out, error
    for run in (out_and_error, jax.jit(out_and_error)):
        gradient, error = jax.grad(run, has_aux=True)(0.5)
        assert gradient == slope and error.get() is None
        assert jax.grad(run, has_aux=True)(-1.0)[1].get() == POSITIVE.format(-1.0)


def test_batches_have_one_error_per_example():
    error, _ = jax.jit(jax.vmap(checkify.checkify(positive)))(jnp.array([1.0, -1.0, -2.0]))
    assert error.get() == "\n".join(f"at mapped index {i}: {POSITIVE.format(x)}" for i, x in [(1, -1.0), (2, -2.0)])
    exception = error.get_exception()
    assert isinstance(exception, checkify.BatchedError) and set(exception.error_mapping) == {(1,), (2,)}
    with pytest.raises(checkify.JaxRuntimeError, match="at mapped index 2"):
        error.throw()
    nested, _ = jax.vmap(jax.vmap(checkify.checkify(positive)))(jnp.array([[1.0, 2.0], [3.0, -1.0]]))
    assert nested.get() == f"at mapped index 1, 1: {POSITIVE.format(-1.0)}"
    assert jax.vmap(checkify.checkify(positive))(jnp.ones(2))[0].get() is None
    assert message(jax.vmap(positive), jnp.zeros(0)) is None


def test_examples_that_take_no_part_cannot_fail():
    def branches(x):
        return lax.cond(x > 0, positive, lambda v: v, x)

    def loop(x):
        def body(v):
            checkify.check(v < 5, "too large: {}", v)
            return v + 1

        def cond(v):
            checkify.check(v < 6, "cond: {}", v)
            return v < 5
        return lax.while_loop(cond, body, x)
    xs = jnp.array([1.0, -1.0, 4.0])
    for fun in (branches, loop, lambda x: lax.switch((x > 0).astype(int), [lambda v: v, positive, positive], x)):
        assert message(jax.vmap(fun), xs) is None
    assert jax.jit(jax.vmap(checkify.checkify(loop)))(xs)[0].get() is None
    assert message(jax.vmap(lambda x: lax.cond(x > 0, lambda v: v, positive, x)), xs) == POSITIVE.format(-1.0)
    assert message(jax.vmap(loop), jnp.array([1.0, 6.5])) == "cond: 6.5 (`check` failed)"


# --- automatic checks -----------------------------------------------------------------------------------------------

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("fun, args, expected", [
    (jnp.log, (-1.0,), "nan generated by primitive: log."),
    (jnp.sin, (INF,), "nan generated by primitive: sin."),
    (lambda x: x - x, (INF,), "nan generated by primitive: sub."),
    (jnp.sum, ([INF, -INF],), "nan generated by primitive: reduce_sum."),
    (jnp.dot, ([INF, 1.0], [0.0, 1.0]), "nan generated by primitive: dot_general."),
    (jax.jit(jnp.sqrt), (-1.0,), "nan generated by primitive: sqrt."),
    (lambda x: lax.cond(x > 0, jnp.cos, jnp.log, x), (-1.0,), "nan generated by primitive: log."),
    (lambda x: -jnp.sort(jnp.abs(x))[::-1], ([1.0, NAN],), None),
    (lambda x: jnp.where(x > 0, x, 0.0).reshape(1, 2).T, ([1.0, NAN],), None),
    (lambda x, y: x / y, (1.0, 0.0), "division by zero"),
    (lambda x, y: x / y, ([1.0, 1.0], [1.0, 0.0]), "division by zero"),
    (lax.div, (1, 0), "division by zero"),
    (lambda x, y: x / y, (1.0 + 0j, 0j), "division by zero"),
    (lambda x, y: x / y, (1.0, 2.0), None),
    (jax.grad(jnp.sqrt), (0.0,), "division by zero"),
])
def test_float_checks(fun, args, expected):
    args = [jnp.asarray(a) for a in args]
    assert message(fun, *args, errors=checkify.float_checks) == expected


def _out(index, axis=0, shape=(3,)):
    return (f"out-of-bounds indexing for array of shape {shape}: index {index} is out of bounds for axis {axis} with "
            f"size {shape[axis]}.")


@pytest.mark.parametrize("fun, args, expected", [
    (lambda x, i: x[i], (np.arange(3), 5), _out(5)), (lambda x, i: x[i], (np.arange(3), -5), _out(-2)),
    (lambda x, i: x[i], (np.arange(3), [0, 7, 9]), _out(7)), (lambda x, i: x[i], (np.arange(3), -1), None),
    (lambda x, i, j: x[i, j], (np.ones((3, 4)), [0, 2], [1, 9]), _out(9, 1, (3, 4))),
    (lambda x, i: x.at[i].set(0), (np.arange(3), 5), _out(5)), (lambda x, i: x.at[i].add(1), (np.arange(3), 3), _out(3)),
    (lambda x, i: x.at[i].max(1), (np.arange(3), 2), None),
    (lambda x, i: x.at[i].get(mode="fill"), (np.arange(3), 3), _out(3)),
    (lambda x, i: jnp.take_along_axis(x, i, 0), (np.arange(3), [4]), _out(4)), (jnp.take, (np.arange(3), 3), _out(3)),
    (lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (np.arange(3), 2), _out(2)),
    (lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (np.arange(3), 1), None),
    (lambda x, i: lax.dynamic_update_slice(x, x[:2], (i,)), (np.arange(3), 2), _out(2)),
    (lambda x, i: jax.vmap(lambda y, j: y[j])(x, i), (np.ones((2, 3)), [1, 4]), _out(4, 1, (2, 3))),
    (lambda x, i: x[i], (np.arange(200, dtype=np.uint8), np.uint8(199)), None),
    (lambda x, i: x[i], (np.arange(3), np.zeros(0, int)), None),
    (lambda x: x[5], (np.arange(3),), _out(5)), (lambda x: x[1], (np.arange(3),), None),
])
def test_index_checks(fun, args, expected):
    assert message(fun, *map(jnp.asarray, args), errors=checkify.index_checks) == expected


@pytest.mark.parametrize("fun, args", [
    (lambda x: jnp.nonzero(x, size=3), ([1, 0],)), (lambda x: jnp.unique(x, size=4, return_counts=True), ([1, 0, 1],)),
    (lambda x: jnp.searchsorted(x, x + 1, method="sort"), ([1.0, 2.0, 3.0],)),
    (lambda x: jnp.repeat(x, jnp.array([0, 2, 3]), total_repeat_length=4), ([1, 2, 3],)),
    (lambda x: jnp.histogram(x, 2, (0.0, 1.0))[0], ([0.2, 3.0],)), (jnp.median, ([1.0, 2.0],)),
    (lambda x: jax.random.permutation(jax.random.key(0), x), ([1, 2, 3],)),
    (lambda x: lax.scan(lambda c, y: (c + y, c), x[0], x), ([1.0, 2.0],)),
])
def test_algorithms_of_the_library_leave_bounds_on_purpose(fun, args):
    assert message(fun, *map(jnp.asarray, args), errors=checkify.all_checks) is None


def test_categories_are_chosen():
    def f(x):
        checkify.check(x > 0, "user")
        return jnp.log(x) + 1 / (x - x)
    assert message(f, -1.0) == "user (`check` failed)"
    assert message(f, -1.0, errors=checkify.nan_checks) == "nan generated by primitive: log."
    assert message(f, -1.0, errors=checkify.div_checks) == "division by zero"
    assert message(f, -1.0, errors=checkify.index_checks) is None
    assert message(f, -1.0, errors=checkify.all_checks) == "user (`check` failed)"
    assert message(f, -1.0, errors=frozenset()) is None
    assert checkify.all_checks == (checkify.user_checks | checkify.nan_checks | checkify.div_checks
                                   | checkify.index_checks)
    error, _ = checkify.checkify(f, errors=checkify.nan_checks)(-1.0)
    assert isinstance(error.get_exception(), checkify.NaNError)


def test_a_program_without_checks_is_left_as_it_is():
    def f(x):
        return lax.scan(lambda c, y: (jnp.sin(c), y), jax.jit(jnp.cos)(x), None, length=3)[0]
    assert str(jax.make_jaxpr(lambda x: checkify.checkify(f)(x)[1])(1.0)) == str(jax.make_jaxpr(f)(1.0))
