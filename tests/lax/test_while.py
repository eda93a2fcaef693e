"""`lax.while_loop` and `lax.fori_loop`: transformations, types, programs, effects in order, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._language.effects import Effect, control_flow_allowed_effects, lowerable_effects, ordered_effects
from jax._language.primitive import Primitive
from jax._language.typecheck import check_jaxpr
from jax._lowering.callback import emit_python_callback
from jax._lowering.context import TokenSet
from jax._lowering.rules import register_lowering
from tests.lax import loops
from tests.lax.loop_programs import LAX, PYTHON, WHILES

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def only_while(closed):
    (found,) = [e for e in closed.jaxpr.eqns if e.primitive is lax.while_p]
    return found


# --- transformations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", WHILES, ids=lambda p: p.name)
def test_forward_derivatives(program, x64):
    loops.same(loops.only_forward, program.make(LAX), program.make(PYTHON), *program.args)


@pytest.mark.parametrize("program", WHILES, ids=lambda p: p.name)
def test_vmap(program, x64):
    loops.same(loops.vmapped_forward, program.make(LAX), program.make(PYTHON), *program.args)


def test_eager(x64):
    loops.same(loops.only_forward, WHILES[0].make(LAX), WHILES[0].make(PYTHON), *WHILES[0].args, eager=True)


@pytest.mark.quick
def test_values_against_python():
    def collatz(n):
        return lax.while_loop(lambda c: c[0] > 1, lambda c: (lax.select(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
                              (n, 0))[1]

    def steps(n):
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    numbers = np.array([1, 7, 27, 9])
    want = [steps(int(n)) for n in numbers]
    assert [int(collatz(n)) for n in numbers] == want
    assert jax.vmap(collatz)(numbers).tolist() == want
    assert jax.jit(jax.vmap(collatz))(numbers).tolist() == want


@pytest.mark.parametrize("bounds", [(0, 5), (2, 4), (3, 0), (-2, 1)])
def test_fori_loop_against_range(bounds):
    def loop(lower, upper):
        return lax.fori_loop(lower, upper, lambda i, v: v * 2 + i, 1)
    want = 1
    for i in range(*bounds):
        want = want * 2 + i
    assert int(loop(*bounds)) == int(jax.jit(loop)(*bounds)) == want
    assert jax.vmap(loop, (None, 0))(bounds[0], np.array([bounds[1]] * 2)).tolist() == [want] * 2
    assert int(loop(np.int8(bounds[0]), jnp.int8(bounds[1]))) == want
    assert int(lax.fori_loop(*bounds, lambda i, v: v * 2 + i, 1, unroll=3)) == want


def test_gradient_of_fori_loop_between_known_bounds():
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, v: v * x, 1.0)
    assert float(jax.grad(f)(2.0, 3)) == 12.0
    assert float(jax.grad(f)(2.0, jnp.int32(3))) == 12.0
    assert float(jax.jit(jax.grad(f), static_argnums=1)(2.0, 3)) == 12.0
    assert float(jax.jvp(jax.jit(f), (2.0, 3), (1.0, np.zeros((), jax.dtypes.float0)))[1]) == 12.0


def test_partly_known_under_linearize():
    """Components that do not depend on what is differentiated are computed once, by a loop of their own."""
    def f(x):
        i, s, _ = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2, c[2] * x), (0, 1.0, x))
        return x * s
    value, push = jax.linearize(f, 5.0)
    assert float(value) == 40.0 and float(push(1.0)) == 8.0
    assert float(jax.grad(f)(5.0)) == 8.0  # the loop's derivative is not needed


def test_partial_evaluation_under_checkpoint():
    def f(x):
        n, y = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, 1.0))
        return jnp.sin(x) * y * n
    assert float(jax.grad(jax.checkpoint(f))(0.0)) == 24.0


def test_keys_in_the_carry():
    from jax import random
    key = random.key(0)

    def draw(k):
        return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, k))[1]
    want = random.split(random.split(key)[0])[0]
    assert (random.key_data(draw(key)) == random.key_data(want)).all()

    def draw_until(n, k):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, k))[1]
    mapped = jax.vmap(draw_until, (0, None))(np.array([0, 2]), key)
    assert (random.key_data(mapped[1]) == random.key_data(want)).all()


def test_disable_jit():
    seen = []

    def body(x):
        seen.append(float(x))
        return x * 2
    with jax.disable_jit():
        assert float(lax.while_loop(lambda x: x < 5, body, 1.0)) == 8.0
        assert float(lax.fori_loop(0, 3, lambda i, x: x + float(i), 1.0)) == 4.0
        assert jax.vmap(lambda x: lax.while_loop(lambda x: x < 5, lambda x: x * 2, x))(X + 1).tolist() == [8.0, 8.0, 6.0]
    assert seen == [1.0, 2.0, 4.0]


# --- types and programs -----------------------------------------------------------------------------------------


def test_weak_types():
    def dtype_of(x):
        return str(x.dtype), x.weak_type
    assert dtype_of(lax.while_loop(lambda c: c < 3, lambda c: c + jnp.float32(1), 0)) == ("float32", False)
    assert dtype_of(lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)) == ("int32", True)
    assert dtype_of(lax.fori_loop(0, 3, lambda i, c: c + i, 0)) == ("int32", True)
    assert dtype_of(lax.fori_loop(0, 3, lambda i, c: c + i, jnp.int8(0))) == ("int8", False)
    assert dtype_of(lax.fori_loop(np.int64(0), np.int64(3), lambda i, c: c + i, 0)) == ("int32", True)
    assert dtype_of(lax.fori_loop(jnp.int8(0), 3, lambda i, c: i, jnp.int8(0))) == ("int8", False)
    assert dtype_of(jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: i, jnp.int16(0)))(jnp.int16(3))) == ("int16", False)


@pytest.mark.quick
def test_equation():
    w = jnp.ones(3)
    closed = jax.make_jaxpr(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * w), (0, w)))(3)
    eqn = only_while(closed)
    assert eqn.primitive.name == "while"
    assert set(eqn.params) == {"cond_jaxpr", "cond_nconsts", "body_jaxpr", "body_nconsts"}
    assert (eqn.params["cond_nconsts"], eqn.params["body_nconsts"]) == (1, 1)
    assert [v.aval.str_short() for v in eqn.outvars] == ["i32[]", "f32[3]"]
    check_jaxpr(closed.jaxpr)


def test_fori_loop_chooses_by_its_bounds():
    known = jax.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, x: x + i, x))(1.0)
    traced = jax.make_jaxpr(lambda n, x: lax.fori_loop(0, n, lambda i, x: x + i, x))(3, 1.0)
    assert [e.primitive.name for e in known.jaxpr.eqns] == ["scan"]
    assert [e.primitive.name for e in traced.jaxpr.eqns] == ["while"]
    assert only_while(traced).params["cond_nconsts"] == 1 and len(traced.jaxpr.eqns[0].outvars) == 2


def test_unused_parts_are_dropped():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[2], c[2] * 2, c[3] * x), (0, x, x, x))[1]
    jaxpr, _ = jax._transforms.dce.dce_jaxpr(jax.make_jaxpr(f)(1.0).jaxpr, [True])
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is lax.while_p]
    assert len(eqn.outvars) == 3 and eqn.params["body_nconsts"] == 0
    check_jaxpr(jaxpr)


def test_functions_are_traced_once_for_equal_types():
    counts = {"cond": 0, "body": 0}

    def cond(x):
        counts["cond"] += 1
        return x < 10

    def body(x):
        counts["body"] += 1
        return x * 2
    for start in (1.0, 2.0, 3.0):
        lax.while_loop(cond, body, np.float32(start))
    for _ in range(3):
        lax.fori_loop(0, 3, lambda_body, 1.0)
    assert counts == {"cond": 1, "body": 1} and len(traced) == 1


traced = []


def lambda_body(i, x):
    traced.append(i.aval)
    return x + 1


# --- effects ----------------------------------------------------------------------------------------------------


class Told(Effect):
    """An ordered effect."""


TOLD = Told()
for allowed in (ordered_effects, lowerable_effects, control_flow_allowed_effects):
    allowed.add_type(Told)
told: list[int] = []
tell_p = Primitive("test_tell_in_loops", multiple_results=True)
tell_p.def_effectful_abstract_eval(lambda x: ([], {TOLD}))


def _tell(ctx, x):
    _, token, keep = emit_python_callback(ctx, lambda v: told.append(int(v)) or (), ctx.tokens_in.get(TOLD), [x],
                                          ctx.avals_in, [], has_side_effect=True)
    ctx.set_tokens_out(TokenSet({TOLD: token}))
    ctx.module_context.add_keepalive(keep)
    return []


register_lowering(tell_p, _tell, cacheable=False)


def in_order(f, *args):
    told.clear()
    jax.block_until_ready(jax.jit(f)(*args))
    jax.effects_barrier()
    return list(told)


def say(x):
    tell_p.bind(x)
    return x


def test_effects_in_loops_keep_their_order():
    def loop(n):
        say(jnp.int32(-1))
        out = lax.while_loop(lambda c: c < n, lambda c: say(c) + 1, 0)
        say(out * 100)
        return out
    assert in_order(loop, 3) == [-1, 0, 1, 2, 300]
    assert in_order(lambda n: lax.scan(lambda c, x: (say(c) + x, c), n, np.arange(4), reverse=True, unroll=3)[0], 0) == \
        [0, 3, 5, 6]
    assert in_order(lambda n: lax.scan(lambda c, x: (say(say(say(say(say(say(say(say(say(c))))))))) + x, c), n,
                                       np.arange(2), unroll=2)[0], 0) == [0] * 18


def test_effects_in_conditions():
    def loop(n):
        return lax.while_loop(lambda c: say(c) < n, lambda c: c + 1, 0)
    assert in_order(loop, 2) == [0, 1, 2]


def test_effects_in_branches():
    def f(i):
        say(i)
        out = lax.switch(i, [lambda: say(jnp.int32(10)), lambda: jnp.int32(0), lambda: say(say(jnp.int32(20)))])
        say(out + 1)
        return out
    assert in_order(f, 0) == [0, 10, 11] and in_order(f, 1) == [1, 1] and in_order(f, 2) == [2, 20, 20, 21]


def test_ordered_effects_refuse_different_numbers_of_steps():
    with pytest.raises(NotImplementedError, match="ordered effects"):
        jax.make_jaxpr(jax.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: say(c) + 1, 0)))(np.arange(3))
    with pytest.raises(NotImplementedError, match="ordered effects"):
        jax.make_jaxpr(jax.vmap(lambda p: lax.cond(p, lambda: say(jnp.int32(1)), lambda: jnp.int32(0))))(X > 0)


# --- errors -----------------------------------------------------------------------------------------------------


def test_reverse_mode_error():
    def f(x):
        return lax.while_loop(lambda c: c < 3, lambda c: c * x, 1.0)  # the line that is named
    line = f.__code__.co_firstlineno + 1
    for run in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
        with pytest.raises(ValueError, match=rf"while_loop.*test_while.py:{line} .*lax.scan.*checkpoint.*jax.jvp"):
            run(2.0)


ERRORS = {
    "structure": (TypeError, lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: c[0], (0,)),
                  r"lax.while_loop: the carry.*structure.*test_while.py(.|\n)*argument c"),
    "types": (TypeError, lambda: lax.while_loop(lambda c: c["a"] < 3, lambda c: {"a": c["a"], "b": X}, {"a": 0, "b": 1.0}),
              r"c\['b'\] goes in as f32\[\] and comes out as f32\[3\]: the shapes differ"),
    "predicate type": (TypeError, lambda: lax.while_loop(lambda c: c, lambda c: c, 0.0), r"boolean.*f32\[\].*x != 0"),
    "predicate shape": (TypeError, lambda: lax.while_loop(lambda c: c < 1, lambda c: c, X), r"bool\[3\].*jnp.any"),
    "predicate tree": (TypeError, lambda: lax.while_loop(lambda c: (c < 1, c), lambda c: c, 0), "a tree"),
    "init": (TypeError, lambda: lax.while_loop(lambda c: True, lambda c: c, {"k": "text"}), r"init_val\['k'\]"),
    "no function": (TypeError, lambda: lax.while_loop(True, lambda c: c, 0), "cond_fun must be a function"),
    "bounds": (TypeError, lambda: lax.fori_loop(0.0, 3, lambda i, c: c, 1.0), r"lower must be an integer.*f32\[\] \(0.0\)"),
    "array bound": (TypeError, lambda: lax.fori_loop(0, X, lambda i, c: c, 1.0), r"upper.*f32\[3\]"),
    "bound types": (TypeError, lambda: lax.fori_loop(jnp.int8(0), jnp.int16(3), lambda i, c: c, 1.0),
                    r"one dtype, got i8\[\] and i16\[\].*astype"),
    "fori carry": (TypeError, lambda: lax.fori_loop(0, 3, lambda i, total: (total, total), 1.0),
                   r"lax.fori_loop.*(.|\n)*argument total"),
    "fori types": (TypeError, lambda: lax.fori_loop(0, 3, lambda i, c: {"k": c["k"] + X}, {"k": 1.0}),
                   r"lax.fori_loop.*(.|\n)*c\['k'\] goes in as f32\[\]"),
    "traced fori types": (TypeError, lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + X, 1.0))(3),
                          r"lax.fori_loop.*(.|\n)*c goes in as f32\[\] and comes out as f32\[3\]"),
    "unroll": (ValueError, lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 1.0, unroll=2))(3),
               "unroll.*known"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, run, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        run()
