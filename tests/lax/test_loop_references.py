"""References in loops and branches: the model is a loop in Python that assigns to NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])


def ref_of(*values):
    return jax.new_ref(jnp.array(values, jnp.float32))


@BOTH
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2])
def test_scan(wrap, reverse, unroll):
    @wrap
    def run(ref, total, xs):
        def body(carry, x):
            ref[carry] = x + ref[carry - 1]
            total[...] = total[...] * 2 + x
            return carry + 1, ref[0]
        return lax.scan(body, 0, xs, reverse=reverse, unroll=unroll)
    xs = np.array([3.0, 5.0, 7.0], np.float32)
    ref, total = ref_of(1, 1, 1, 2), ref_of(0)
    carry, ys = run(ref, total, xs)
    array, t, rows = np.array([1.0, 1, 1, 2]), 0.0, []
    for i, x in enumerate(xs[::-1] if reverse else xs):
        array[i] = x + array[i - 1]
        t = t * 2 + x
        rows.append(array[0])
    assert int(carry) == 3
    np.testing.assert_array_equal(ys, rows[::-1] if reverse else rows)
    np.testing.assert_array_equal(ref[...], array)
    np.testing.assert_array_equal(total[...], [t])


@BOTH
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_along_the_rows_of_a_reference(wrap, reverse):
    @wrap
    def run(ref, xs):
        def body(carry, x):
            row, y = x["ref"], x["y"]
            row[0] += carry
            row.at[1:].set(y)
            return carry + row[0], row[...].sum()
        return lax.scan(body, 1.0, {"ref": ref, "y": xs}, reverse=reverse)
    array, ref = np.arange(6.0, dtype=np.float32).reshape(3, 2), jax.new_ref(np.arange(6.0).reshape(3, 2))
    carry, sums = run(ref, jnp.array([10.0, 20.0, 30.0]))
    c, rows = 1.0, np.zeros(3)
    for i in reversed(range(3)) if reverse else range(3):
        array[i] = [array[i, 0] + c, 10.0 * (i + 1)]
        c, rows[i] = c + array[i, 0], array[i].sum()
    np.testing.assert_array_equal(ref[...], array)
    np.testing.assert_array_equal(sums, rows)
    assert float(carry) == c
    np.testing.assert_array_equal(lax.map(lambda row: row[1] * 2, ref), array[:, 1] * 2)


@BOTH
def test_while_loop_whose_condition_reads_what_the_body_writes(wrap):
    limit, ref, other = ref_of(5), ref_of(0, 7), ref_of(1)

    @wrap
    def run(ref, limit):
        def body(n):
            ref[0] += 2.0
            other[...] *= 2.0
            return n + 1
        return lax.while_loop(lambda n: ref[0] < limit[0], body, 0)
    assert int(run(ref, limit)) == 3
    np.testing.assert_array_equal(ref[...], [6, 7])
    np.testing.assert_array_equal(other[...], [8])


def test_conditions_only_read():
    ref = ref_of(0)
    with pytest.raises(ValueError, match="the condition <lambda> at .* changes a reference.*body of the loop"):
        lax.while_loop(lambda n: ref.swap(n * 1.0, 0) < 3, lambda n: n + 1, 0)


@BOTH
def test_fori_loop_between_traced_bounds(wrap):
    ref = ref_of(0, 0, 0, 0)
    wrap(lambda n: lax.fori_loop(1, n, lambda i, c: (ref.set(ref[i - 1] + i, i), c)[1], 0))(jnp.asarray(4))
    np.testing.assert_array_equal(ref[...], [0, 1, 3, 6])


@BOTH
@pytest.mark.parametrize("which", [0, 1, 2])
def test_branches(wrap, which):
    ref, other = ref_of(1, 2), ref_of(5)

    @wrap
    def run(i, ref):
        def first(r):
            r[0] = other[0]
            return 1.0

        def second(r):
            other[0] += 1.0
            return r[1]
        return lax.switch(i, [first, second, lambda r: 3.0], ref)
    out = float(run(which, ref))
    assert out == [1.0, 2.0, 3.0][which]
    np.testing.assert_array_equal(ref[...], [[5, 2], [1, 2], [1, 2]][which])
    np.testing.assert_array_equal(other[...], [[5], [6], [5]][which])


def test_associative_scan_and_map_make_their_own():
    def summed(x):
        ref = jax.new_ref(0.0)
        lax.fori_loop(0, 3, lambda i, c: (ref.addupdate(x * i), c)[1], 0)
        return ref[...]
    np.testing.assert_array_equal(lax.map(summed, jnp.arange(3.0)), [0, 3, 6])
    np.testing.assert_array_equal(lax.map(summed, jnp.arange(3.0), batch_size=2), [0, 3, 6])
