"""References in the jaxpr language: effects, text, the checker, discharge."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._ground.references import freeze_p, get_p
from jax._language.discharge import discharged, makes_references, without_own_references
from jax._language.effects import AccumEffect, ReadEffect, WriteEffect
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import Var, new_jaxpr_eqn
from jax._language.refs import AbstractRef
from jax._language.typecheck import JaxprTypeError, check_jaxpr
from jax.extend.core import primitives

pytestmark = pytest.mark.quick


def jaxpr_of(f, *args):
    return jax.make_jaxpr(f)(*args)


def step(ref, x):
    ref[0] += x
    ref.addupdate(1.0, 1)
    return ref.swap(jnp.zeros(2), slice(1, 3))


def test_text():
    ref = jax.new_ref(jnp.ones(4))
    assert str(jaxpr_of(step, ref, 1.0)) == """\
{ lambda ; a:Ref{f32[4]} b:f32[]. let
    c:f32[] <- a[0]
    d:f32[] = add c b
    a[0] <- d
    e:f32[] = broadcast_in_dim[broadcast_dimensions=() shape=()] 1.0:f32[]
    a[1] += e
    f:f32[2] = broadcast_in_dim[broadcast_dimensions=() shape=(2,)] 0.0:f32[]
    g:f32[2], a[1:3] <- a[1:3], f
  in (g,) }""".replace("broadcast_in_dim[broadcast_dimensions=() shape=()] 1.0:f32[]", _constant())


def _constant():
    """How a scalar constant is written depends on how constants are made; only references matter here."""
    text = str(jaxpr_of(lambda r: r.addupdate(1.0, 1), jax.new_ref(jnp.ones(4))))
    return text.split(" = ")[1].split("\n")[0]


def test_text_of_indices_and_of_mapped_references():
    ref = jax.new_ref(jnp.ones((3, 4)))
    text = str(jaxpr_of(lambda r, i: (r[i, ::-1], r[i, None], r.at[1:].at[:, 2][...], r.at[0].reshape(2, 2)[...]), ref, 1))
    for part in ("a[b, 3::-1]", "a[b, None, :]", "a[1:3, :][:, 2]", "a[0, :].reshape((2, 2))"):
        assert part in text
    text = str(jaxpr_of(jax.vmap(lambda r: r[0], in_axes=1), ref))
    assert "<- a.mapped(axis 1)[0]" in text
    assert "new_ref" in str(jaxpr_of(lambda: jax.freeze(jax.new_ref(1.0))))


def test_primitives_are_exported():
    names = [e.primitive.name for e in jaxpr_of(step, jax.new_ref(jnp.ones(4)), 1.0).eqns]
    assert primitives.get_p.name in names and primitives.swap_p.name in names


def test_effects_name_the_argument():
    ref = jax.new_ref(jnp.ones(4))
    assert jaxpr_of(step, ref, 1.0).effects == {ReadEffect(0), WriteEffect(0), AccumEffect(0)}
    assert jaxpr_of(lambda x, r: r[0] * x, 1.0, ref).effects == {ReadEffect(1)}
    assert jaxpr_of(lambda x: ref[0] * x, 1.0).effects == {ReadEffect(-1)}
    assert jaxpr_of(lambda x: step(jax.new_ref(jnp.ones(4)), x), 1.0).effects == frozenset()


@pytest.mark.parametrize("call", [
    lambda f, r, x: jax.jit(f)(r, x),
    lambda f, r, x: jax.checkpoint(f)(r, x),
    lambda f, r, x: lax.scan(lambda c, y: (c, f(r, y)), x, jnp.ones(2)),
    lambda f, r, x: lax.fori_loop(0, x.astype(int), lambda i, c: (f(r, c), c)[1], x),
    lambda f, r, x: lax.while_loop(lambda c: (c < 3) & (r[0] < 4), lambda c: (f(r, c), c + 1)[1], x),
    lambda f, r, x: lax.cond(x > 0, f, lambda r, x: None, r, x),
    lambda f, r, x: lax.switch(1, [lambda r, x: None, f, lambda r, x: r.set(1.0, 2)], r, x),
], ids=["jit", "checkpoint", "scan", "fori_loop", "while_loop", "cond", "switch"])
def test_effects_pass_through_calls(call):
    def f(ref, x):
        ref[0] = ref[1] * x
    closed = jaxpr_of(lambda x, r: call(f, r, x), 1.0, jax.new_ref(jnp.ones(4)))
    assert closed.effects == {ReadEffect(1), WriteEffect(1)}
    check_jaxpr(closed)


def test_effects_follow_their_argument():
    jaxpr = jaxpr_of(lambda x, r: r[0] * x, 1.0, jax.new_ref(jnp.ones(4))).jaxpr
    turned = jaxpr.replace(invars=jaxpr.invars[::-1], effects=jaxpr.effects)
    assert turned.effects == {ReadEffect(0)}


# --- the checker -----------------------------------------------------------------------------------------------------

def test_checker_accepts_what_is_staged():
    for f, args in ((step, (jax.new_ref(jnp.ones(4)), 1.0)),
                    (lambda x: step(jax.new_ref(jnp.ones(4)), x), (1.0,)),
                    (jax.grad(lambda x: step(jax.new_ref(jnp.ones(4)), x).sum()), (1.0,))):
        check_jaxpr(jaxpr_of(f, *args))


def _broken(change):
    closed = jaxpr_of(lambda x: jax.freeze(jax.new_ref(x)) + x, jnp.ones(2))
    return change(closed.jaxpr)


def _returning_the_reference(jaxpr):
    return jaxpr.replace(outvars=[jaxpr.eqns[0].outvars[0]])


def _used_after_freeze(jaxpr):
    ref = jaxpr.eqns[0].outvars[0]
    late = new_jaxpr_eqn([ref], [Var(ref.aval.inner_aval)], get_p, {"views": ()}, {ReadEffect(0)})
    return jaxpr.replace(eqns=[*jaxpr.eqns, late])


def _undeclared(jaxpr):
    ref = Var(AbstractRef(jaxpr.invars[0].aval))
    read = new_jaxpr_eqn([ref], [Var(jaxpr.invars[0].aval)], get_p, {"views": ()}, {ReadEffect(0)})
    return jaxpr.replace(invars=[ref, *jaxpr.invars], eqns=[read, *jaxpr.eqns], effects=frozenset())


def _frozen_argument(jaxpr):
    ref = Var(AbstractRef(jaxpr.invars[0].aval))
    frozen = new_jaxpr_eqn([ref], [Var(jaxpr.invars[0].aval)], freeze_p, {}, {WriteEffect(0)})
    return jaxpr.replace(invars=[ref, *jaxpr.invars], eqns=[frozen, *jaxpr.eqns])


def _operand_of_an_addition(jaxpr):
    ref, add = jaxpr.eqns[0].outvars[0], jaxpr.eqns[-1]
    return jaxpr.replace(eqns=[jaxpr.eqns[0], add.replace(invars=[ref, ref])])


@pytest.mark.parametrize(("change", "message"), [
    (_returning_the_reference, "returns the reference"),
    (_used_after_freeze, "after it was given up"),
    (_undeclared, "does not declare the effects.*Read<0>"),
    (_frozen_argument, "not made in the jaxpr"),
    (_operand_of_an_addition, "add rejects its operands|add takes no references|add gives"),
])
def test_checker_refuses(change, message):
    with pytest.raises(JaxprTypeError, match=message):
        check_jaxpr(_broken(change))


def test_checker_refuses_a_reference_named_twice():
    closed = jaxpr_of(lambda a, b: jax.jit(lambda a, b: a[0] + b[0])(a, b), *[jax.new_ref(jnp.ones(2)) for _ in range(2)])
    eqn = closed.jaxpr.eqns[0]
    twice = closed.jaxpr.replace(eqns=[eqn.replace(invars=[eqn.invars[0]] * 2)])
    with pytest.raises(JaxprTypeError, match="is given the reference .* twice"):
        check_jaxpr(twice)


# --- discharge -------------------------------------------------------------------------------------------------------

def test_discharge_takes_and_returns_values():
    closed = jaxpr_of(lambda a, x, b: (step(a, x), b[0]), jax.new_ref(jnp.ones(4)), 3.0, jax.new_ref(jnp.ones(4)))
    pure = discharged(closed)
    assert pure.changed == (0,) and pure.closed.effects == frozenset()
    check_jaxpr(pure.closed)
    old, read, new = eval_jaxpr(pure.closed.jaxpr, pure.closed.consts, jnp.arange(4.0), 3.0, jnp.full(4, 8.0))
    np.testing.assert_array_equal(old, [2, 2])
    assert float(read) == 8
    np.testing.assert_array_equal(new, [3, 0, 0, 3])


def test_discharge_of_some_references():
    closed = jaxpr_of(lambda a, b: (step(a, 1.0), b.set(a[...])), *[jax.new_ref(jnp.ones(4)) for _ in range(2)])
    pure = discharged(closed, (True, False))
    assert pure.changed == (0,) and pure.closed.effects == {WriteEffect(1)}
    assert [type(a) for a in pure.closed.in_avals] == [jax.core.ShapedArray, AbstractRef]


def test_own_references_go_and_others_stay():
    def f(ref, x):
        own = jax.new_ref(x)
        return lax.fori_loop(0, 3, lambda i, c: (own.addupdate(ref[i]), c + own[...])[1], 0.0)
    closed = jaxpr_of(f, jax.new_ref(jnp.ones(4)), 1.0)
    assert makes_references(closed.jaxpr)
    less = without_own_references(closed)
    assert not makes_references(less.jaxpr) and less.effects == {ReadEffect(0)}
    check_jaxpr(less)
    plain = jaxpr_of(jnp.sin, 1.0)
    assert without_own_references(plain) is plain and discharged(plain).closed is plain


def test_equations_without_references_stay_the_objects_they_are():
    closed = jaxpr_of(lambda x, r: (jnp.cos(x), r[0]), 1.0, jax.new_ref(jnp.ones(4)))
    assert discharged(closed).closed.eqns[0] is closed.eqns[0]


def test_constant_references_must_become_arguments_before_a_program_runs():
    ref = jax.new_ref(1.0)
    closed = jaxpr_of(lambda x: x + ref[...], 1.0)
    assert float(eval_jaxpr(closed.jaxpr, closed.consts, 1.0)[0]) == 2.0
    ref[...] = 4.0
    assert float(eval_jaxpr(closed.jaxpr, closed.consts, 1.0)[0]) == 5.0
    assert float(jax.jit(lambda x: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0])(1.0)) == 5.0
