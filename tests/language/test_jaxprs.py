"""Jaxprs as data: printing, checking, evaluation, dead code, leaks, extension from outside."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jax.extend.core import JaxprTypeError, check_jaxpr
from jax.interpreters import partial_eval as pe

pytestmark = pytest.mark.quick


def test_printing():
    text = str(jax.make_jaxpr(lambda x: lax.sin(x) * 2.0)(np.ones(3, np.float32)))
    assert text.split() == "{ lambda ; a:f32[3]. let b:f32[3] = sin a c:f32[3] = mul b 2.0:f32[] in (c,) }".split()
    nested = str(jax.make_jaxpr(jax.jit(lambda x: lax.cond(x > 0, lax.sin, lax.cos, x)))(1.0))
    assert "branches=(" in nested and "name=<lambda>" in nested
    assert "inline" not in nested and "device" not in nested  # defaults are not shown


def test_source_lines_and_names_on_demand():
    def f(x):
        with jax.named_scope("block"):
            return lax.sin(x)
    jaxpr = jax.make_jaxpr(f)(1.0).jaxpr
    assert "test_jaxprs.py" not in jaxpr.pretty_print()
    shown = jaxpr.pretty_print(source_info=True, name_stack=True)
    assert "test_jaxprs.py" in shown and "[block]" in shown
    with pytest.raises(TypeError, match="settings"):
        jaxpr.pretty_print(colour=True)


def test_every_equation_knows_its_line():
    def f(x):
        y = lax.sin(x)
        return lax.cos(y)
    first = f.__code__.co_firstlineno
    grad = jax.make_jaxpr(jax.grad(lambda x: f(x)))(1.0).jaxpr
    for eqn in grad.eqns:
        assert "test_jaxprs.py" in eqn.source_info.summary()
    assert f":{first + 1} (" in grad.eqns[0].source_info.summary()


def test_checker_accepts_and_rejects():
    closed = jax.make_jaxpr(lambda x: lax.sin(x) + 1.0)(np.ones(2, np.float32))
    check_jaxpr(closed)
    jaxpr = closed.jaxpr
    wrong = Var(jax.core.ShapedArray((3,), np.dtype("float32")))
    with pytest.raises(JaxprTypeError, match="sin gives"):
        check_jaxpr(jaxpr.replace(eqns=[jaxpr.eqns[0].replace(outvars=[wrong]), *jaxpr.eqns[1:]]))
    with pytest.raises(JaxprTypeError, match="before it is bound"):
        check_jaxpr(jaxpr.replace(eqns=list(reversed(jaxpr.eqns))))
    with pytest.raises(JaxprTypeError, match="bound twice"):
        check_jaxpr(jaxpr.replace(eqns=[jaxpr.eqns[0], *jaxpr.eqns]))
    bad = JaxprEqn([jaxpr.invars[0], Literal(np.ones((), np.int32))], [Var(jaxpr.invars[0].aval)], lax.add_p, {})
    with pytest.raises(JaxprTypeError, match="rejects its operands"):
        check_jaxpr(Jaxpr([], jaxpr.invars, bad.outvars, [bad]))


def test_evaluation():
    closed = jax.make_jaxpr(lambda x, y: (x * y, x))(2.0, 3.0)
    assert [float(v) for v in jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 4.0, 5.0)] == [20.0, 4.0]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 1.0)
    with pytest.raises(ValueError, match="constants"):
        ClosedJaxpr(closed.jaxpr, [1.0])


def test_dead_code():
    closed = jax.make_jaxpr(lambda x, y: (lax.sin(x), lax.cos(y)))(1.0, 2.0)
    jaxpr, used = pe.dce_jaxpr(closed.jaxpr, [True, False])
    assert [e.primitive.name for e in jaxpr.eqns] == ["sin"] and used == [True, False] and len(jaxpr.invars) == 1
    nested = jax.make_jaxpr(lambda x, y: jax.jit(lambda x, y: (lax.sin(x), lax.cos(y)))(x, y)[1])(1.0, 2.0)
    jaxpr, used = pe.dce_jaxpr(nested.jaxpr, [True])
    assert used == [False, True] and len(jaxpr.eqns[0].invars) == 1


def test_partial_evaluation():
    closed = jax.make_jaxpr(lambda x, y: (lax.sin(x) * y, lax.cos(x)))(1.0, 2.0)
    known, unknown, out_unknown, res = pe.partial_eval_jaxpr_nounits(closed, [False, True], False)
    assert out_unknown == [True, False] and len(res) == 1
    outs = jax.core.eval_jaxpr(known.jaxpr, known.consts, 1.0)
    np.testing.assert_allclose(jax.core.eval_jaxpr(unknown.jaxpr, unknown.consts, outs[1], 2.0)[0], 2 * np.sin(1.0),
                               rtol=1e-6)


def test_leaks_name_where_the_value_was_made():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x
    jax.jit(f)(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"(?s)finished.*argument x.*test_jaxprs.py"):
        kept[0] + 1
    with jax.checking_leaks(), pytest.raises(jax.errors.UnexpectedTracerError, match="leaked 1 traced value"):
        jax.jit(lambda x: (kept.append(x), x)[1])(1.0)
    jax.grad(lambda x: (kept.append(x), x)[1])(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(lambda y: y + kept[-1])(1.0)


def test_avals_are_interned():
    a = jax.core.ShapedArray((2, 3), np.float32)
    assert a is jax.core.ShapedArray([2, np.int64(3)], "float32")
    assert a.update(weak_type=True) is not a and a.update(weak_type=True).strip_weak_type() is a
    with pytest.raises(AttributeError):
        a.shape = (3,)
    with pytest.raises(TypeError, match="tuples of integers"):
        jax.core.ShapedArray((2.5,), np.float32)


def test_typeof():
    assert jax.typeof(1.0).weak_type and jax.typeof(np.arange(3)).dtype == np.int32
    with pytest.raises(TypeError, match=r"jnp.array"):
        jax.typeof([1.0, 2.0])
    with pytest.raises(TypeError, match="None was given"):
        jax.typeof(None)
