"""Kernels as people write them, and what they are written with."""

import functools

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify
from jax.experimental import pallas as pl

B, S = pl.BlockSpec, jax.ShapeDtypeStruct
F32, I32 = jnp.float32, jnp.int32
rng = np.random.default_rng(0)


def run(kernel, out, *operands, **settings):
    return pl.pallas_call(kernel, out, interpret=True, **settings)(*operands)


def by_one(kernel, n, *operands, dtype=I32, **settings):
    """One element of the result for each of ``n`` programs."""
    return run(kernel, S((n,), dtype), *operands, grid=n, out_specs=B((1,), lambda i: i), **settings).tolist()


# --- whole kernels ----------------------------------------------------------------------------------------------------

def _matmul(x, y, out, acc):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc[...] = jnp.zeros_like(acc)

    acc[...] += jnp.dot(x[...], y[...], preferred_element_type=F32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out[...] = acc[...].astype(out.dtype)


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_matrix_product(dtype):
    x, y = jnp.asarray(rng.normal(size=(32, 24)), dtype), jnp.asarray(rng.normal(size=(24, 16)), dtype)
    spec = pl.GridSpec((2, 2, 3), [B((16, 8), lambda i, j, k: (i, k)), B((8, 8), lambda i, j, k: (k, j))],
                       B((16, 8), lambda i, j, k: (i, j)), [pl.ANY((16, 8), F32)])
    got = run(_matmul, S((32, 16), dtype), x, y, grid_spec=spec)
    want = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=0.02 if dtype == "bfloat16" else 1e-5, atol=1e-4)


def _attention(q, k, v, out, *, block):
    def body(i, carry):
        acc, top, total = carry
        scores = q[...] @ k[pl.ds(i * block, block), :].T
        new = jnp.maximum(top, scores.max(-1))
        weights, old = jnp.exp(scores - new[:, None]), jnp.exp(top - new)
        return acc * old[:, None] + weights @ v[pl.ds(i * block, block), :], new, total * old + weights.sum(-1)

    n = q.shape[0]
    start = jnp.zeros(q.shape), jnp.full(n, -jnp.inf), jnp.zeros(n)
    acc, _, total = lax.fori_loop(0, k.shape[0] // block, body, start)
    out[...] = acc / total[:, None]


def attention(q, k, v):
    rows, whole = B((None, 8, 4), lambda b, i: (b, i, 0)), B((None, 16, 4), lambda b, i: (b, 0, 0))
    return run(functools.partial(_attention, block=4), S(q.shape, q.dtype), q, k, v, grid=(2, 2),
               in_specs=[rows, whole, whole], out_specs=rows)


def plain_attention(q, k, v):
    return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), -1) @ v


def test_attention_with_derivatives_of_both_modes():
    q, k, v = (rng.normal(size=(2, 16, 4)).astype("f") for _ in range(3))
    want, slope = jax.jvp(plain_attention, (q, k, v), (k, v, q))
    got = jax.jvp(attention, (q, k, v), (k, v, q))
    np.testing.assert_allclose(got[0], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got[1], slope, rtol=1e-4, atol=1e-4)

    @jax.custom_vjp
    def differentiable(q, k, v):
        return attention(q, k, v)

    differentiable.defvjp(lambda *x: (attention(*x), x), lambda x, ct: jax.vjp(plain_attention, *x)[1](ct))
    for a, b in zip(*[jax.jit(jax.grad(lambda *x, f=f: (f(*x) ** 2).sum(), (0, 1, 2)))(q, k, v)
                      for f in (differentiable, plain_attention)], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_trees_and_several_results():
    def kernel(x, none, sums, rest, tmp):
        assert none is None and rest[1] is None and set(tmp) == {"a"}
        tmp["a"][...] = x["b"][...] * 2
        sums["s"][...] = x["a"][...] + tmp["a"][...]
        rest[0][...] = x["b"][...]

    x = {"a": jnp.arange(4.), "b": jnp.ones(4)}
    out = run(kernel, ({"s": S((4,), F32)}, [S((4,), F32), None]), x, None, scratch_shapes=({"a": pl.ANY((4,), F32)},))
    assert out[0]["s"].tolist() == [2., 3., 4., 5.] and out[1][0].tolist() == [1.] * 4 and out[1][1] is None

    def named(x, out, *, tmp):
        tmp[...] = x[...]
        out[...] = tmp[...]

    (one,) = results = run(named, [S((2,), F32)], np.ones(2), scratch_shapes={"tmp": pl.ANY((2,), F32)})
    assert one.tolist() == [1., 1.] and type(results) is tuple
    assert run(lambda x, out: out.set(x[...]), pl.ANY((), F32), 3.).item() == 3.


# --- the grid ---------------------------------------------------------------------------------------------------------

def test_indices_in_the_grid_within_transformations_and_calls():
    @jax.jit
    def shifted(x):
        return x + pl.program_id(0)

    def times(i, x):
        return x * (pl.program_id(0) + 1)

    def kernel(out, *, scale):
        i = pl.program_id(-1)
        out[0] = scale * shifted(0)
        out[0] += lax.fori_loop(0, 2, times, 1)
        out[0] += jax.vmap(lambda a: a * pl.program_id(0))(jnp.ones(3, I32)).sum()
        out[0] += lax.while_loop(lambda s: s < pl.num_programs(0), lambda s: s + i + 1, 0)
        out[0] += lax.cond(i > 1, lambda: i, lambda: -pl.program_id(0))

    def want(scale, n):
        def steps(i):
            s = 0
            while s < n:
                s += i + 1
            return s
        return [scale * i + (i + 1) ** 2 + 3 * i + steps(i) + (i if i > 1 else -i) for i in range(n)]

    assert by_one(functools.partial(kernel, scale=100), 4) == want(100, 4)
    assert by_one(functools.partial(kernel, scale=7), 3) == want(7, 3)  # nothing is remembered of the other grid


def test_index_maps_see_the_grid():
    def index_map(i):
        return pl.num_programs(0) - 1 - pl.program_id(0)

    def kernel(x, out):
        out[...] = x[...]

    assert by_one(kernel, 3, jnp.arange(3), in_specs=[B((1,), index_map)]) == [2, 1, 0]


def test_when():
    seen = []

    def kernel(out):
        out[0] = 0
        pl.when(True)(lambda: seen.append("now"))
        pl.when(np.bool_(False))(lambda: seen.append("never"))

        @pl.when(pl.program_id(0) % 2)
        def odd():
            out[0] = pl.program_id(0)
        assert odd is None

    assert by_one(kernel, 4) == [0, 1, 0, 3] and seen == ["now"]


@pytest.mark.parametrize("bounds", [(0, 6, 1), (1, 6, 2), (5, -1, -2), (4, 4, 1), (6, 2, 1), (0, 7, 3)])
def test_loop(bounds):
    lower, upper, step = bounds

    def kernel(at, known, traced, total, *, unroll):
        known[...] = traced[...] = jnp.zeros(8, I32)

        @pl.loop(lower, upper, step=step, unroll=unroll)
        def _(i):
            known[i] = i + 1

        @pl.loop(at[0], at[1], step=at[2], init_carry=0)
        def found(i, carry):
            traced[i] = i + 1
            return carry + i
        total[...] = found

    want = np.zeros(8, int)
    for i in range(lower, upper, step):
        want[i] = i + 1
    for unroll in (None, True):
        known, traced, total = run(functools.partial(kernel, unroll=unroll), [S((8,), I32), S((8,), I32), S((), I32)],
                                   jnp.array(bounds))
        assert known.tolist() == traced.tolist() == want.tolist() and total == sum(range(lower, upper, step))


# --- memory -----------------------------------------------------------------------------------------------------------

def test_scoped_memory():
    def kernel(x, out):
        @pl.with_scoped(pl.ANY((2,), F32), named=pl.ANY((), I32))
        def fill(y, ref, *, z, named):
            ref[...] = jnp.stack([y, z])
            named[...] = 2
            return ref[...].sum() * named[...]
        out[0] = fill(1., z=x[0])
        out[1:] = pl.run_scoped(lambda a: a["r"][...], {"r": pl.ANY((2,), F32)})
        tmp = pl.empty_ref_like(x)
        tmp[...] = x[...]
        out[2] = lax.fori_loop(0, 3, lambda i, s: pl.run_scoped(functools.partial(_twice, s), pl.ANY((), F32)), tmp[0])

    def _twice(s, ref):
        ref[...] = s
        ref[...] += s
        return ref[...]

    assert repr(run(kernel, S((3,), F32), jnp.array([3.])).tolist()) == "[8.0, nan, 24.0]"
    assert pl.run_scoped(lambda ref: ref.shape, pl.ANY((2, 3), F32)) == (2, 3)


def test_memory_that_programs_share():
    def kernel(out):
        count, other = pl.get_global(pl.ANY((), I32)), pl.get_global(pl.ANY((), I32))
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            count[...], other[...] = jnp.int32(5), jnp.int32(100)
        count[...] += i
        other[...] += 1
        out[0] = count[...] + other[...]

    want = [5 + sum(range(i + 1)) + 101 + i for i in range(4)]
    assert by_one(kernel, 4) == want
    found = jax.vmap(lambda _: run(kernel, S((4,), I32), grid=4, out_specs=B((1,), lambda i: i)))(jnp.arange(2))
    assert found.tolist() == [want, want]


def test_choosing_a_reference():
    def kernel(x, y, even, odd):
        i = pl.program_id(0)
        source, target = pl.select_ref(i, x, y), pl.select_ref(i % 2, even, odd)
        assert isinstance(source, jax.Ref) and source.shape == (3,) and len(source) == 3
        target.at[1:][0] = source[2]
        target[0] += 1
        target.addupdate(10, 2)
        assert pl.select_ref(5, x, y) is y

    x, y = jnp.arange(3), jnp.arange(3) * 10
    zeros = jnp.zeros(3, I32)
    outs = run(lambda a, b, c, d, e, f: kernel(a, b, e, f), [S((3,), I32)] * 2, x, y, zeros, zeros, grid=3,
               input_output_aliases={2: 0, 3: 1})
    assert [o.tolist() for o in outs] == [[2, 20, 20], [1, 20, 10]]
    tangent = jax.jvp(lambda x: run(lambda a, b, out: out.set(pl.select_ref(pl.program_id(0), a, b)[0], 0), S((1,), F32),
                                    x, 2 * x, grid=2), (jnp.ones(3),), (jnp.arange(1., 4.),))[1]
    assert tangent.tolist() == [2.]


# --- semaphores -------------------------------------------------------------------------------------------------------

def test_semaphores_count():
    def kernel(out, sems):
        i = pl.program_id(0)
        pl.semaphore_signal(sems.at[0], 2)
        pl.semaphore_signal(sems.at[i % 2 + 1], i)
        pl.semaphore_wait(sems.at[0])
        pl.semaphore_wait(sems.at[0], jnp.minimum(i, 1), decrement=False)
        out[0] = pl.semaphore_read(sems.at[0]) * 100 + pl.semaphore_read(sems.at[1]) * 10 + pl.semaphore_read(sems.at[2])

    assert by_one(kernel, 4, scratch_shapes=[pl.ANY((3,), pl.semaphore)]) == [100, 201, 321, 424]


def _waits(x, out):
    sem = pl.get_global(pl.ANY((), pl.semaphore))
    pl.semaphore_signal(sem)
    out[...] = x[...]
    pl.semaphore_wait(sem, x[0])


@pytest.mark.quick
def test_waiting_for_ever_is_an_error():
    call = pl.pallas_call(_waits, S((1,), I32), interpret=True, grid=2)
    assert call(jnp.array([1])).tolist() == [1]
    for f, x in ((call, [2]), (jax.jit(call), [2]), (jax.vmap(call), [[1], [2]])):
        with pytest.raises(ValueError, match="has the value 1, and a program waits until it is 2.*wait for ever"):
            jax.block_until_ready(f(jnp.array(x)))
    error, _ = checkify.checkify(call)(jnp.array([2]))
    assert "wait for ever" in error.get()
    assert checkify.checkify(call)(jnp.array([1]))[0].get() is None


# --- looking inside ---------------------------------------------------------------------------------------------------

def test_debug_print(capsys):
    def kernel(x, out):
        out[...] = x[...]
        pl.debug_print("program {}: {}", pl.program_id(0), x[1])
        pl.debug_print("no fields", x[0])

    run(kernel, S((2,), I32), jnp.array([7, 8]), grid=2)
    jax.effects_barrier()
    assert sorted(capsys.readouterr().out.splitlines()) == ["no fields 7", "no fields 7", "program 0: 8", "program 1: 8"]


def test_debug_check():
    def kernel(x, out):
        out[...] = x[...]
        pl.debug_check(x[0] > 0, "not {positive}")

    call = functools.partial(run, kernel, S((1,), I32))
    assert call(jnp.array([-1])).tolist() == [-1]
    with pl.enable_debug_checks(True):
        assert call(jnp.array([1])).tolist() == [1]
        with pytest.raises(ValueError, match="not {positive}"):
            jax.block_until_ready(call(jnp.array([-1])))
        assert "not {positive}" in checkify.checkify(call)(jnp.array([-1]))[0].get()


def test_delay_sleeps(monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)

    def kernel(out):
        pl.delay(1000 * (pl.program_id(0) + 1))
        out[0] = 1

    assert by_one(kernel, 2) == [1, 1]
    jax.effects_barrier()
    assert sorted(slept) == pytest.approx([1e-6, 2e-6])


def test_debug_shows_the_program(capsys):
    run(lambda x, out: out.set(x[...]), S((2,), F32), jnp.ones(2), debug=True)
    assert "Ref{f32[2]}" in capsys.readouterr().out


# --- cores ------------------------------------------------------------------------------------------------------------

def test_kernels_on_the_cores_of_a_mesh():
    mesh = jax.sharding.AbstractMesh((2, 3), ("a", "b"))

    @pl.kernel(out_type=S((2, 3), I32), mesh=mesh, scratch_types=[pl.ANY((), I32)], interpret=True)
    def kernel(x, out, tmp):
        i, j = lax.axis_index("a"), lax.axis_index("b")
        tmp[...] = x[i, j]

        @pl.loop(0, i + 1)
        def _(k):
            tmp[...] += lax.axis_index("b") * 10

        @pl.when(lax.axis_index(("a", "b")) == 5)
        def _():
            tmp[...] += lax.fori_loop(0, 2, lambda k, s: s + 1000 * lax.axis_index("a"), 0)
        out[i, j] = tmp[...] + 100 * jax.jit(lambda: lax.axis_index("a"))() + lax.axis_size("b")

    x = np.arange(6).reshape(2, 3)
    i, j = np.mgrid[:2, :3]
    want = x + 10 * j * (i + 1) + 2000 * (i * 3 + j == 5) + 100 * i + 3
    assert kernel(jnp.asarray(x)).tolist() == want.tolist()
    assert jax.vmap(kernel)(jnp.asarray(np.stack([x, x + 1]))).tolist() == [want.tolist(), (want + 1).tolist()]
    with pytest.raises(NotImplementedError, match="communicates along the axis 'a'"):
        pl.kernel(lambda x, out: out.set(lax.psum(x[...], "a")), S((2,), I32), mesh=mesh, interpret=True)(jnp.arange(2))
    with pytest.raises(NotImplementedError, match="communicates along the axis 'b'"):
        pl.kernel(lambda out: out.set(lax.while_loop(lambda s: s < lax.axis_index("b"), lambda s: s + 1, 0)), S((), I32),
                  mesh=mesh, interpret=True)()
