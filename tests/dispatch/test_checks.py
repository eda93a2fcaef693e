"""NaN and infinity checks: which operation, where in the user's program, on which values."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import debug_infs, debug_nans
from tests.lowering.helpers import elementwise, mul_p

pytestmark = pytest.mark.quick

div_p = elementwise("test_div", "stablehlo.divide")
log_p = elementwise("test_log", "stablehlo.log")
HERE = "test_checks.py"


def fun(x):
    y = log_p.bind(x)
    return mul_p.bind(y, y)


def message(f, *args):
    """The text of the error that ``f`` raises under ``jax_debug_nans``, its notes included."""
    with debug_nans(True), pytest.raises(FloatingPointError) as caught:
        f(*args)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_eager_operations():
    with debug_nans(True):
        with pytest.raises(FloatingPointError, match=rf"NaN in the result of test_log, at .*{HERE}.*f32\[\] = -1.0"):
            log_p.bind(np.float32(-1))
        assert np.isinf(log_p.bind(np.float32(0)))
    with debug_infs(True), pytest.raises(FloatingPointError, match="an infinity in the result of test_log"):
        log_p.bind(np.float32(0))


def test_compiled_functions_name_the_operation():
    jitted = jax.jit(fun)
    assert np.isnan(jitted(np.float32(-1)))
    with debug_nans(True):
        with pytest.raises(FloatingPointError, match="NaN in the result of test_log"):
            jitted(np.float32(-1))
        assert jitted(np.float32(1)).item() == 0
    assert np.isnan(jitted(np.float32(-1)))


def test_integers_and_narrow_floats():
    with debug_nans(True):
        assert mul_p.bind(np.int32(2), np.int32(3)).item() == 6
        with pytest.raises(FloatingPointError):
            log_p.bind(np.asarray(-1, jax.dtypes.bfloat16))
    for dtype in (jnp.float16, jnp.bfloat16, jnp.complex64, jnp.float8_e4m3fn):
        text = message(jax.jit(lambda x, d=dtype: (x / x).astype(d)), np.zeros(3, np.float32))
        assert "NaN in the result of div" in text


def test_the_users_line_and_the_operands_are_shown():
    def loss(x):
        y = jnp.where(x > 0, jnp.log(x), 0.0)  # NaN is made here, and thrown away
        z = jnp.sqrt(x)
        return (y + z).sum()

    text = message(jax.jit(loss), np.array([1, -2, 3], np.float32))
    assert "NaN in the result of sqrt" in text and HERE in text
    assert "z = jnp.sqrt(x)" in text
    assert "f32[3] (-2.0 at [1])" in text


def test_derivatives_name_the_line_of_the_function():
    def f(x):
        return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()

    for g in (jax.grad(f), jax.jit(jax.grad(f)), jax.jit(jax.vmap(jax.grad(f)))):
        text = message(g, np.zeros(3, np.float32))
        assert "NaN in the result of mul" in text and HERE in text
        assert "inf at [0]" in text


@pytest.mark.parametrize("f, x, operation, where", [
    (lambda x: lax.scan(lambda c, y: (c - y, jnp.sqrt(c)), 2.0, x)[1].sum(), np.ones(5), "sqrt", "step 3 of a loop of 5"),
    (lambda x: lax.scan(lambda c, y: (c - y, jnp.sqrt(c)), 2.0, x, reverse=True)[1], np.ones(5), "sqrt", "step 1 of a loop"),
    (lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.log(c[1] - 1)), (0, x))[1], 3.5, "log",
     "step 1 of a while loop"),
    (lambda x: lax.cond(x > 0, jnp.sin, jnp.log, x), -3.5, "log", "branch 0 of 2"),
    (lambda x: jax.jit(jax.nn.relu)(jnp.log(x)) + 1, -3.5, "log", ""),
    (lambda x: jax.checkpoint(lambda y: jnp.log(y) * 2)(x), -3.5, "log", ""),
    (lambda x: jax.jit(jax.jit(lambda y: jnp.log(y) * 2))(x), -3.5, "log", ""),
    (lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.log(c), x), 2.0, "log", "step 2 of a loop of 4"),
])
def test_inside_loops_branches_and_calls(f, x, operation, where):
    for run in (jax.jit(f), f):
        text = message(run, np.asarray(x, np.float32))
        assert f"NaN in the result of {operation}, at" in text and HERE in text
        assert where in text


def test_values_that_come_from_outside():
    x = np.array([1, np.nan], np.float32)
    assert "comes from the argument weights['b'], which holds it already" in message(
        jax.jit(lambda weights: weights["b"] + 1), {"b": x})
    assert "comes from the argument x" in message(jax.jit(lambda x: x * 2), float("nan"))
    assert "an array that it closes over" in message(jax.jit(lambda y: y + x), np.ones(2, np.float32))


def test_donated_arguments_stay_so_that_the_operation_can_be_found():
    f = jax.jit(lambda x: x / x, donate_argnums=0)
    x = jnp.zeros(3)
    assert "NaN in the result of div" in message(f, x)
    assert not x.is_deleted()
    f(x)
    assert x.is_deleted()


def test_compiled_stages_are_checked_too():
    x = np.zeros(3, np.float32)
    assert "NaN in the result of div" in message(jax.jit(lambda x: x / x).lower(x).compile(), x)
    donating = jax.jit(lambda x: x / x, donate_argnums=0).lower(x).compile()
    assert "Its arguments were donated" in message(donating, jnp.zeros(3))


def test_infinities_inside_programs():
    with debug_infs(True):
        with pytest.raises(FloatingPointError, match=r"(?s)an infinity in the result of exp, .*\(1000.0 at \[1\]\)"):
            jax.jit(lambda x: 1 + jnp.exp(x))(np.array([0, 1000], np.float32))
        assert np.isnan(jax.jit(lambda x: x * 2)(np.float32("nan")))


def test_the_options_are_local_to_their_thread_and_block():
    f = jax.jit(lambda x: x / x)
    zero = np.float32(0)
    assert np.isnan(f(zero))
    for _ in range(2):
        message(f, zero)
        assert np.isnan(f(zero))
    with pytest.raises(ValueError, match="jax_debug_nans takes True or False; got 'maybe'"):
        debug_nans("maybe")


def test_guards_of_transfers_let_the_checks_read():
    x = jnp.ones(3)
    with debug_nans(True), jax.transfer_guard("disallow"):
        jax.jit(lambda x: x * 3)(x)
