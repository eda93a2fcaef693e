"""Programs of many small pieces: what is grouped and computed at once, and that results are the same."""

import re

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import cpu_group_pieces
from jax._lowering.passes import pieces
from jax._runtime import compile as compile_room

X = np.linspace(-1, 1, 600, dtype=np.float32)
M = np.arange(1200, dtype=np.float32).reshape(300, 4) / 100
ROWS = [np.full((2, 3), i, np.float32) for i in range(110)]


def lowered_text(fun, *args):
    return jax.jit(fun).lower(*args).as_text()


def groups(fun, *args):
    return lowered_text(fun, *args).count("call @pieces")


def check(fun, *args, rtol=1e-6):
    """The results with the pass are those without, exactly where no products and sums can be contracted (``rtol=0``)."""
    got = jax.jit(fun)(*args)
    with cpu_group_pieces(False):
        want = jax.jit(fun, compiler_options={"xla_backend_optimization_level": 0})(*args)  # compiles faster
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol)


# --- packing ---------------------------------------------------------------------------------------------------------

PACKED = {
    "elements": (lambda x: jnp.array([x[i] * 1.5 for i in range(40)]), X, 1),
    "two reads": (lambda x: jnp.stack([jnp.exp(x[i]) + x[i + 1] for i in range(40)]), X, 2),
    "numbers": (lambda x: jnp.array([x[i] * i for i in range(40)]), X, 1),
    "backwards": (lambda x: jnp.array([-x[50 - i] for i in range(40)]), X, 1),
    "every third": (lambda x: jnp.array([-x[3 * i] for i in range(40)]), X, 1),
    "one element": (lambda x: jnp.array([x[7] + i for i in range(40)]), X, 1),
    "rows": (lambda m: jnp.stack([m[i] * 2 for i in range(20)]), M, 1),
    "rows, last": (lambda m: jnp.stack([m[i] * 2 for i in range(20)], 1), M, 1),
    "columns": (lambda m: jnp.stack([m[i:i + 17, 1] for i in range(0, 17 * 16, 17)], 1), M, 1),
    "grid": (lambda m: jnp.array([m[i, j] + 1 for i in range(20) for j in range(4)]), M, 1),
    "split": (lambda m: jnp.concatenate([-a for a in jnp.split(m, 20)], 1), M, 1),
    "unstacked": (lambda m: jnp.stack([-a for a in m[:20]]), M, 2),
    "choices": (lambda x: jnp.stack([jnp.where(x[i] > 0, x[i + 1], 3.0) for i in range(20)]), X, 2),
    "converted": (lambda x: jnp.stack([x[i].astype(jnp.int32) + 1 for i in range(20)]), X * 100, 1),
    "one scale": (lambda m: jnp.stack([m[i] * m[5, 0] for i in range(20)]), M, 2),
}


@pytest.mark.parametrize("name", PACKED)
def test_values_made_alike_are_computed_at_once(name):
    fun, x, slices = PACKED[name]
    text = lowered_text(fun, x)
    assert text.count("stablehlo.slice") <= slices and "concatenate" not in text
    check(fun, x)


def test_nested_lists():
    def fun(x):
        return jnp.array([[x[i] * 2 + j for i in range(16)] for j in range(16)])

    assert lowered_text(fun, X).count("stablehlo.multiply") == 1
    np.testing.assert_allclose(jax.jit(fun)(X), X[:16] * 2 + np.arange(16)[:, None], rtol=1e-6)


@pytest.mark.quick
def test_option_switches_packing_off():
    fun, x, _ = PACKED["elements"]
    with cpu_group_pieces(False):
        assert lowered_text(fun, x).count("stablehlo.multiply") == 40
    assert lowered_text(fun, x).count("stablehlo.multiply") == 1


def test_unlike_values_are_packed_as_far_as_they_are_alike():
    def fun(*xs):
        return jnp.stack([(x if i % 2 else jnp.tanh(x)) * 2 for i, x in enumerate(xs)])

    text = lowered_text(fun, *X[:20])
    assert text.count("stablehlo.multiply") == 1 and text.count("stablehlo.tanh") == 10
    check(fun, *X[:20])


def test_values_with_other_readers_stay():
    def fun(x):
        steps = [x[0]]
        for i in range(20):
            steps.append(steps[-1] * 0.5 + x[i])
        return jnp.stack(steps[1:])

    assert lowered_text(fun, X).count("stablehlo.multiply") == 20
    check(fun, X)


def test_literals_of_either_zero_and_nan():
    def fun(x):
        return jnp.array([1 / (x[i] * v) for i, v in enumerate([0.0, -0.0] * 10)])

    check(fun, np.ones(20, np.float32))
    check(lambda x: jnp.array([x[i] * np.nan for i in range(20)]), X)


# --- joins ------------------------------------------------------------------------------------------------------------

JOINS = {
    "concatenate 0": lambda xs: jnp.concatenate(xs, 0),
    "concatenate 1": lambda xs: jnp.concatenate(xs, 1),
    "stack 0": lambda xs: jnp.stack(xs, 0),
    "stack 1": lambda xs: jnp.stack(xs, 1),
    "stack 2": lambda xs: jnp.stack(xs, 2),
    "uneven 0": lambda xs: jnp.concatenate([x[:1 + i % 2] for i, x in enumerate(xs)], 0),
    "uneven 1": lambda xs: jnp.concatenate([x[:, :1 + i % 2] for i, x in enumerate(xs)], 1),
    "numbers": lambda xs: jnp.stack([x[0, 1] for x in xs]),
    "computed": lambda xs: jnp.concatenate([x * 2 if i % 2 else x + 1 for i, x in enumerate(xs)], 0),
    "read elsewhere": lambda xs: (lambda ys: (jnp.concatenate(ys), ys[3] + 1))([x + i % 3 for i, x in enumerate(xs)]),
}


@pytest.fixture
def early(monkeypatch):
    """Groups pay for more arrays than a test needs."""
    monkeypatch.setattr(pieces, "FEWEST_JOINED", 100)


@pytest.mark.parametrize("name", JOINS)
def test_many_arrays_are_put_together_in_groups(name, early):
    fun = JOINS[name]
    assert groups(fun, ROWS) == 3
    check(fun, ROWS, rtol=0)


@pytest.mark.quick
def test_few_and_large_arrays_are_put_together_at_once(early):
    assert groups(lambda xs: jnp.concatenate(xs), ROWS[:90]) == 0
    large = [jax.ShapeDtypeStruct((40, 40), np.float32)] * len(ROWS)
    assert groups(lambda xs: jnp.concatenate(xs), large) == 0


def test_groups_of_groups(early, monkeypatch):
    monkeypatch.setattr(pieces, "JOINED_IN_GROUP", 5)
    assert groups(lambda xs: jnp.concatenate(xs), ROWS) == 22 + 5
    check(lambda xs: jnp.concatenate(xs), ROWS, rtol=0)


def test_joins_in_called_functions(early):
    inner = jax.jit(lambda xs: jnp.concatenate(xs))
    assert groups(lambda xs: inner(xs) + 1, ROWS) == 3
    check(lambda xs: inner(xs) + inner([x * 2 for x in xs]), ROWS)


# --- results ----------------------------------------------------------------------------------------------------------

RESULTS = {
    "split": (lambda m: jnp.split(m, 100), M, 4),
    "split columns": (lambda x: jnp.split(x, 20, axis=1), np.ones((3, 40), np.float32), 1),
    "unstacked": (lambda m: list(m[:64]), M, 2),
    "slices": (lambda x: [x[i:2 * i + 3] for i in range(30)], X, 1),
    "strided": (lambda x: [x[i:50 + i:3] for i in range(30)], X, 1),
    "computed": (lambda m: [a * 2 + 1 for a in jnp.split(m, 100)], M, 4),
    "one from another": (lambda x: [lax.slice_in_dim(x * 2, 0, n)[::-1] for n in range(1, 30)], X, 1),
    "of many types": (lambda x: [x[i:i + 2].astype(d) for i in range(4)
                                 for d in ("bool", "int8", "uint16", "float16", "bfloat16", "complex64")], X, 1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_small_results_are_grouped(name):
    fun, x, number = RESULTS[name]
    assert groups(fun, x) == number
    check(fun, x)


@pytest.mark.quick
def test_what_is_not_grouped():
    assert groups(lambda x: [x[i:i + 3] for i in range(10)], X) == 0  # few
    large = jax.ShapeDtypeStruct((100, 300, 300), np.float32)
    assert groups(lambda x: [x[i] for i in range(30)], large) == 0  # large
    assert groups(lambda x: [jnp.sort(x[i:i + 5]) for i in range(30)], X) == 0  # not fused
    with cpu_group_pieces(False):
        assert groups(RESULTS["split"][0], M) == 0


def test_values_shared_by_groups_are_computed_once():
    def fun(x):
        y = jnp.exp2(x[:100]) + 1
        return [y[i:i + 3] * 2 for i in range(90)]

    text = lowered_text(fun, X)
    assert text.count("call @pieces") == 3 and len(re.findall("stablehlo.add .*tensor<100xf32>", text)) == 1
    check(fun, X)


def test_results_that_later_operations_read_stay_where_they_are():
    def fun(m):
        parts = jnp.split(m, 50)
        return [*parts, parts[0] @ m[:4]]

    assert groups(fun, M) == 2
    check(fun, M)


def test_heavy_arithmetic_is_left_to_threads():
    def fun(x):
        for _ in range(40):
            x = x * x + 0.1
        return [x + i for i in range(20)]

    main, _, inner = lowered_text(fun, jax.ShapeDtypeStruct((1500,), np.float32)).partition("func.func private @pieces")
    assert main.count("stablehlo.multiply") == 40 and inner.count("stablehlo.multiply") == 0
    check(fun, np.linspace(0, 0.1, 1500, dtype=np.float32))


USELESS = {
    "times 0": lambda xs: [x * 0 for x in xs], "difference": lambda xs: [x - x for x in xs],
    "and 0": lambda xs: [x & 0 for x in xs], "some": lambda xs: [x * 0 if i % 2 else x[:1] for i, x in enumerate(xs)],
    "chosen": lambda xs: [jnp.where(xs[i - 1] * 0 == 0, x, x[::-1]) for i, x in enumerate(xs)],
    "empty": lambda xs: [x[:0] for x in xs],
    "cut off": lambda xs: [jnp.concatenate([x, xs[i - 1]])[:2] for i, x in enumerate(xs)],
    "padding": lambda xs: [jnp.pad(x, ((3, 0), (0, 0)))[:2] for x in xs], "back": lambda xs: [x[::-1][::-1] for x in xs],
    "again": lambda xs: [xs[0][1:] for x in xs], "reshaped": lambda xs: [x.reshape(3, 2) for x in xs],
    "joined": lambda xs: jnp.concatenate([x[:i % 2] * (i % 3) for i, x in enumerate(xs * 6)]),
}


@pytest.mark.parametrize("name", USELESS)
def test_operands_that_simplification_leaves_unread(name, early):
    """XLA would end the process."""
    check(USELESS[name], [x.astype(np.int32) for x in ROWS[:20]], rtol=0)


def test_donated_arguments():
    x = jnp.arange(100.0)
    parts = jax.jit(lambda x: [*jnp.split(x, 50), x + 1], donate_argnums=0)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(np.concatenate(parts[:-1]), np.arange(100.0))


def test_keys_are_left_alone():
    keys = jax.random.split(jax.random.key(3), 40)
    parts = jax.jit(lambda k: list(k))(keys)
    assert all(jax.random.key_data(a).tolist() == jax.random.key_data(b).tolist() for a, b in zip(parts, keys, strict=True))


# --- how they are compiled --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fun, x, light", [
    (RESULTS["split"][0], M, True), (PACKED["elements"][0], X, True), (RESULTS["split"][0], np.ones((30000, 4)), False),
    (lambda x: [x @ x, *jnp.split(x, 16)], np.ones((16, 16)), False), (lambda x: x + 1, X, False),
])
def test_programs_that_do_next_to_nothing_are_compiled_without_optimising(fun, x, light, monkeypatch):
    levels = []
    real = compile_room.backend_compile_and_load

    def recording(client, module, devices, options, callbacks):
        levels.append(dict(options.env_option_overrides).get("xla_backend_optimization_level"))
        return real(client, module, devices, options, callbacks)

    monkeypatch.setattr(compile_room, "backend_compile_and_load", recording)
    jax.jit(lambda x: fun(x))(x)
    assert levels == [0 if light else None]


def test_options_of_the_user_take_precedence():
    fun, x, _ = RESULTS["split"]
    compiled = jax.jit(fun, compiler_options={"xla_backend_optimization_level": 2}).lower(x).compile()
    np.testing.assert_array_equal(np.concatenate(compiled(x)), M)


# --- at random --------------------------------------------------------------------------------------------------------

def random_program(seed):
    rng = np.random.default_rng(seed)

    def fun(x, m):
        values = [x[int(i):int(i) + 5] for i in rng.integers(0, 500, 10)] + [m[int(i), :] for i in rng.integers(0, 300, 5)]
        values += [x[i] for i in range(5)]
        for _ in range(20):
            a, b = (values[int(i)] for i in rng.integers(0, len(values), 2))
            step = int(rng.integers(0, 7))
            if step == 0:
                values.append(jnp.maximum(a, 0.3) - 1)
            elif step == 1 and a.shape == b.shape:
                values.append(a * b)
            elif step == 2:
                values.append(jnp.sum(a))
            elif step == 3 and a.ndim == 1:
                values.append(a[::-1][: max(1, a.shape[0] - 1)])
            elif step == 4 and a.ndim == b.ndim == 1:
                values.append(jnp.concatenate([a, b, a]))
            elif step == 5:
                values.append(jnp.where(a > 0, a, 2.0))
            else:
                values.append(jnp.stack([x[i + step] * b[..., None].sum() + i for i in range(int(rng.integers(10, 20)))]))
        keep = [int(i) for i in rng.permutation(len(values))[:25]]
        return [values[i] for i in keep], jnp.concatenate([jnp.ravel(v) for v in values])

    return fun


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    check(lambda x, m: random_program(seed)(x, m), X, M, rtol=2e-5)


def test_derivatives_and_batches():
    def fun(x):
        return jnp.stack([jnp.sin(x[i]) * x[i + 1] for i in range(30)]).sum()

    np.testing.assert_allclose(jax.jit(jax.grad(fun))(X), jax.grad(fun)(X), rtol=1e-6)
    check(jax.vmap(jax.grad(fun)), X.reshape(10, 60))
    check(jax.hessian(fun), X[:40])


def test_source_lines_remain():
    text = jax.jit(RESULTS["split"][0]).lower(M).as_text(debug_info=True)
    assert len(re.findall(r"test_pieces\.py", text)) >= 1
