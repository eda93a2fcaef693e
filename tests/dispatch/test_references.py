"""Running programs on references: memory is reused, nothing is traced or compiled twice."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._dispatch import program, references


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows with every compilation."""
    seen, original = [], program.compile_lowered
    monkeypatch.setattr(program, "compile_lowered", lambda lowered, *rest: (seen.append(lowered.name), original(
        lowered, *rest))[1])
    return seen


@pytest.mark.quick
def test_memory_is_reused_unless_somebody_holds_the_array():
    add = jax.jit(lambda ref: ref.addupdate(1.0, 3))
    ref = jax.new_ref(jnp.zeros(1000))
    add(ref)
    place = ref.unsafe_buffer_pointer()
    add(ref)
    ref[5] = 2.0
    assert ref.unsafe_buffer_pointer() == place
    held = ref[...]
    add(ref)
    assert ref.unsafe_buffer_pointer() != place
    assert float(held[3]) == 2.0 and float(ref[3]) == 3.0


def test_references_that_are_only_read_keep_their_array():
    ref = jax.new_ref(jnp.arange(1000.0))
    place = ref.unsafe_buffer_pointer()
    assert float(jax.jit(lambda ref: ref[3] + ref[4])(ref)) == 7.0
    assert ref.unsafe_buffer_pointer() == place


def test_results_and_new_values_of_one_type():
    """Each donated array goes to the new value of its own reference."""
    a, b = jax.new_ref(jnp.zeros(4)), jax.new_ref(jnp.ones(4))
    out = jax.jit(lambda x, a, b: (x * 2, a.swap(x + 1), b.addupdate(5.0)), donate_argnums=0)(jnp.full(4, 3.0), a, b)
    for got, expected in ((out[0], 6), (out[1], 0), (a[...], 4), (b[...], 6)):
        np.testing.assert_array_equal(got, np.full(4, expected))


@pytest.mark.quick
def test_nothing_is_compiled_twice(compilations):
    def with_references(x):
        ref = jax.new_ref(x)
        lax.scan(lambda c, i: (c, ref.set(ref[...] * c + i)), 2.0, jnp.arange(3.0))
        lax.cond(True, lambda: ref.addupdate(1.0), lambda: None)
        lax.while_loop(lambda n: n < 3, lambda n: (ref.addupdate(1.0), n + 1)[1], 0)
        return ref[...]
    ref = jax.new_ref(jnp.ones(3))
    step = jax.jit(lambda r, x: r.addupdate(x))
    results, counts = [], []
    for _ in range(3):
        results.append(np.asarray(with_references(jnp.ones(3))))
        jax.vmap(lambda r: r.addupdate(1.0))(ref)
        step(ref, 2.0)
        ref[1] = 0.0
        counts.append(len(compilations))
    assert 0 < counts[0] == counts[1] == counts[2]
    np.testing.assert_array_equal(results, [[np.float32(16)] * 3] * 3)


def test_a_pure_function_with_references_stays_in_compiled_code(compilations):
    f = jax.jit(lambda x: jax.freeze(jax.new_ref(x)) * 2)
    assert float(f(1.0)) == 2.0 and references.pure_program(jax.make_jaxpr(f)(1.0)).changed == ()
    seen = len(compilations)
    assert float(f(4.0)) == 8.0 and len(compilations) == seen


def test_programs_with_callbacks(capfd):
    ref = jax.new_ref(jnp.zeros(2))

    @jax.jit
    def f(ref):
        jax.debug.print("before {}", ref[0], ordered=True)
        ref[0] += 1.0
        jax.debug.print("after {}", ref[0], ordered=True)
    f(ref)
    jax.effects_barrier()
    assert capfd.readouterr().out == "before 0.0\nafter 1.0\n"


def test_search_for_nans_looks_into_writes():
    @jax.jit
    def f(x):
        ref = jax.new_ref(x)
        lax.scan(lambda c, i: (c, ref.set(jnp.log(ref[...]))), 0.0, None, length=3)
        return ref[...]
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"in the result of log, .*test_references.py"):
        f(1.5)


def test_search_for_nans_leaves_the_reference_alone():
    ref = jax.new_ref(jnp.zeros(2))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(lambda r: (r.addupdate(1.0), jnp.log(r[0] - 2.0))[1])(ref)
    np.testing.assert_array_equal(ref[...], [1, 1])


def test_placement(run_python):
    source = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
first, second = jax.devices()
there = jax.new_ref(jax.device_put(jnp.ones(4), second))
there[0] = 2.0
there[...] = jnp.zeros(4)
jax.jit(lambda r: r.addupdate(1.0))(there)
assert there.sharding.device_set == {second} and there[...].tolist() == [1.0] * 4
spread = NamedSharding(Mesh(np.array([first, second]), "x"), P("x"))
ref = jax.new_ref(jax.device_put(jnp.arange(4.0), spread))
out = jax.jit(lambda r: (r.addupdate(1.0), r[...] * 2)[1], out_shardings=NamedSharding(spread.mesh, P()))(ref)
ref[1] += 5.0
assert ref.sharding.is_equivalent_to(spread, 1) and ref[...].tolist() == [1.0, 7.0, 3.0, 4.0]
assert out.is_fully_replicated and out.tolist() == [2.0, 4.0, 6.0, 8.0]
print("done")
"""
    assert run_python(source).stdout.strip() == "done"
