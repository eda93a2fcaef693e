"""``jax_numpy_rank_promotion``: every implicit promotion is seen, and library code makes none."""

from __future__ import annotations

import warnings

import pytest

import jax
import jax.numpy as jnp
from jax import lax

pytestmark = pytest.mark.quick

MATRIX = jnp.ones((2, 3))
VECTOR = jnp.ones(3)

PROMOTING = {
    "operator": lambda: MATRIX + VECTOR,
    "reflected": lambda: VECTOR * MATRIX,
    "comparison": lambda: MATRIX > VECTOR,
    "ufunc": lambda: jnp.add(MATRIX, VECTOR),
    "composite": lambda: jnp.hypot(MATRIX, VECTOR),
    "floor_divide": lambda: MATRIX // VECTOR,
    "power": lambda: MATRIX ** VECTOR,
    "logical": lambda: jnp.logical_and(MATRIX, VECTOR),
    "clip": lambda: jnp.clip(MATRIX, VECTOR, None),
    "isclose": lambda: jnp.isclose(MATRIX, VECTOR),
    "ldexp": lambda: jnp.ldexp(MATRIX, jnp.arange(3)),
    "where= of sum": lambda: jnp.sum(MATRIX, where=VECTOR > 0),
    "where= of mean": lambda: jnp.mean(MATRIX, where=VECTOR > 0),
    "where= of nanvar": lambda: jnp.nanvar(MATRIX, where=VECTOR > 0),
    "where": lambda: jnp.where(MATRIX > 0, VECTOR, MATRIX),
    "where with a scalar": lambda: jnp.where(MATRIX > 0, VECTOR, 0.0),
    "at set": lambda: MATRIX.at[...].set(VECTOR),
    "at add": lambda: MATRIX.at[...].add(VECTOR),
    "under jit": lambda: jax.jit(lambda x, y: x - y)(MATRIX, VECTOR),
    "under grad": lambda: jax.grad(lambda x: jnp.sum(x * VECTOR))(MATRIX),
    "different dtypes": lambda: MATRIX + jnp.arange(3),
}

QUIET = {
    "scalars": lambda: MATRIX + 1 + jnp.float32(2) + jnp.ones(()),
    "equal ranks": lambda: MATRIX + jnp.ones((1, 3)),
    "var": lambda: (jnp.var(MATRIX, 0), jnp.std(MATRIX), jnp.nanvar(MATRIX, 1), jnp.nanstd(MATRIX)),
    "mean": lambda: (jnp.mean(MATRIX, 0), jnp.nanmean(MATRIX, 1), jnp.mean(MATRIX, where=MATRIX > 0)),
    "average": lambda: jnp.average(MATRIX, axis=1, weights=VECTOR),
    "quantile": lambda: (jnp.quantile(MATRIX, jnp.array([0.1, 0.2]), axis=0), jnp.nanmedian(MATRIX, 0),
                         jnp.quantile(MATRIX, jnp.array([0.1]), axis=1, weights=MATRIX, method="inverted_cdf")),
    "ufunc methods": lambda: (jnp.add.outer(MATRIX, VECTOR), jnp.subtract.accumulate(MATRIX), jnp.add.reduce(MATRIX),
                              jnp.logaddexp.reduceat(MATRIX, jnp.array([0, 1])),
                              jnp.subtract.at(MATRIX, 0, 1.0, inplace=False)),
    "frompyfunc": lambda: jnp.frompyfunc(lambda x, y: x + y, 2, 1)(MATRIX, 1),
    "comparing arrays": lambda: (jnp.array_equal(MATRIX, VECTOR), jnp.array_equiv(MATRIX, VECTOR),
                                 jnp.allclose(MATRIX, 1.0)),
    "functions of several primitives": lambda: (jnp.sinc(MATRIX), jnp.divmod(MATRIX, 2), jnp.frexp(MATRIX),
                                                jnp.nan_to_num(MATRIX), jnp.round(MATRIX, 2), jnp.i0(MATRIX),
                                                jnp.angle(MATRIX), jnp.modf(MATRIX), jnp.gcd(jnp.ones((2, 3), int), 2)),
    "derivatives": lambda: (jax.grad(lambda x: jnp.sum(jnp.var(x, 0)))(MATRIX),
                            jax.hessian(lambda x: jnp.std(x))(VECTOR),
                            jax.grad(lambda x: jnp.median(x))(MATRIX), jax.grad(lambda x: jnp.prod(x))(MATRIX)),
    "vmap": lambda: jax.vmap(lambda x, y: x + y, (0, None))(MATRIX, VECTOR),
}


@pytest.mark.parametrize("compute", PROMOTING.values(), ids=PROMOTING)
def test_raise(compute):
    with jax.numpy_rank_promotion("raise"):
        for _ in range(2):
            with pytest.raises(ValueError, match="(?s)raise") as error:
                compute()
            assert "(2, 3)" in str(error.value) and "(3,)" in str(error.value), error.value


@pytest.mark.parametrize("compute", PROMOTING.values(), ids=PROMOTING)
def test_warn_at_every_call(compute):
    with jax.numpy_rank_promotion("allow"):
        compute()
    with jax.numpy_rank_promotion("warn"):
        for _ in range(1 if "under jit" in str(compute) else 2):
            with pytest.warns(UserWarning, match=r"\(3,\)"):
                compute()


@pytest.mark.parametrize("compute", QUIET.values(), ids=QUIET)
def test_no_false_alarms(compute):
    with jax.numpy_rank_promotion("raise"):
        compute()
        jax.jit(compute)()
    with jax.numpy_rank_promotion("warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        compute()


def test_message_names_the_operation_the_shapes_and_the_remedy():
    with jax.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError) as error:
            VECTOR - MATRIX
    text = str(error.value)
    for part in ("subtract", "(3,)", "(2, 3)", "x.reshape", "(1, 3)", "jax_numpy_rank_promotion"):
        assert part in text
    with jax.numpy_rank_promotion("warn"), pytest.warns(UserWarning) as caught:
        MATRIX * VECTOR
    assert "multiply" in str(caught[0].message) and caught[0].filename == __file__


def test_option_is_part_of_the_key():
    f = jax.jit(lambda x, y: x + y)
    f(MATRIX, VECTOR)
    with jax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="add"):
        f(MATRIX, VECTOR)
    f(MATRIX, VECTOR)


def test_global_option():
    jax.config.update("jax_numpy_rank_promotion", "raise")
    try:
        with pytest.raises(ValueError, match="add"):
            MATRIX + VECTOR
    finally:
        jax.config.update("jax_numpy_rank_promotion", "allow")
    MATRIX + VECTOR


def test_environment_variable(run_python):
    source = """
import jax.numpy as jnp
try:
    jnp.ones((2, 3)) + jnp.ones(3)
except ValueError as error:
    print("add" in str(error))
"""
    assert run_python(source, env={"JAX_NUMPY_RANK_PROMOTION": "raise"}).stdout.strip() == "True"


def test_lax_functions_do_not_promote():
    with jax.numpy_rank_promotion("raise"):
        lax.broadcast_in_dim(VECTOR, (2, 3), (1,))
        jnp.broadcast_to(VECTOR, (2, 3))
