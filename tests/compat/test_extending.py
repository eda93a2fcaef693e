"""Traces, primitives, rules and types of other libraries, written in the ways that these are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import jax
import jax.extend.linear_util as lu
import jax.numpy as jnp
from jax.extend import core
from jax.extend.core import Primitive, primitives
from jax.interpreters import batching, mlir, xla
from jax.interpreters import partial_eval as pe

X = jnp.arange(3.0)


# --- a trace of another library ---------------------------------------------------------------------------------------

class NamingTracer(jax.core.Tracer):
    def __init__(self, trace, val):
        super().__init__(trace, jax.typeof(val))
        self.val = val


class NamingTrace(jax.core.Trace):
    """Writes down the names of the primitives that are applied."""

    def __init__(self, parent, tag):
        super().__init__()
        self.parent_trace, self.tag, self.names = parent, tag, []

    def value(self, x):
        return x.val if isinstance(x, NamingTracer) and x._trace.tag is self.tag else x

    def process_primitive(self, primitive, tracers, params):
        self.names.append(primitive.name)
        out = primitive.bind_with_trace(self.parent_trace, [self.value(t) for t in tracers],
                                        [jax.typeof(t) for t in tracers], params)
        return jax.tree.map(lambda v: NamingTracer(self, v), out)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.names.append(f"{primitive.name}:")
        with core.set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, out_trees, symbolic_zeros):
        return self.process_custom_jvp_call(primitive, fun, fwd, tracers, symbolic_zeros=symbolic_zeros)


def named(f, *args):
    with core.take_current_trace() as parent:
        trace = NamingTrace(parent, core.TraceTag())
        with core.set_current_trace(trace):
            out = f(*[NamingTracer(trace, x) for x in args])
        return trace.names, trace.value(out)


@pytest.mark.quick
def test_a_trace_of_another_library():
    @jax.custom_jvp
    def g(x):
        return jax.lax.exp(x)
    g.defjvp(lambda p, t: (g(*p), t[0]))

    @jax.custom_vjp
    def h(x):
        return jax.lax.log(x)
    h.defvjp(lambda x: (h(x), x), lambda x, ct: (ct / x,))

    def f(x):
        return jax.lax.mul(jax.lax.sin(x), h(g(x)))
    names, out = named(f, X)
    assert names == ["sin", "custom_jvp_call:", "exp", "custom_vjp_call:", "log", "mul"]
    assert np.allclose(out, np.sin(X) * X)
    assert np.allclose(jax.jit(lambda x: named(f, x)[1])(X), np.sin(X) * X)
    assert np.allclose(jax.grad(lambda x: named(jax.lax.sin, x)[1])(1.0), np.cos(1.0))
    assert named(jax.vmap(jax.lax.sin), X)[0] == ["sin"]
    names, out = named(jax.grad(jax.lax.sin), 1.0)
    assert np.isclose(out, np.cos(1.0)) and "cos" in names


def test_opaque_trace_state_tells_transformations_apart():
    outside = core.get_opaque_trace_state(convention="flax")
    assert outside == core.get_opaque_trace_state()
    states = []
    jax.jit(lambda x: states.append(core.get_opaque_trace_state()) or x)(1.0)
    jax.vmap(lambda x: states.append((core.get_opaque_trace_state(), core.unsafe_am_i_under_a_vmap_DO_NOT_USE())) or x)(X)
    assert states[0] != outside and states[1][0] != outside and states[1][1]
    assert not core.unsafe_am_i_under_a_vmap_DO_NOT_USE()


# --- primitives that call jaxprs --------------------------------------------------------------------------------------

@pytest.mark.parametrize("prim", [primitives.call_p, primitives.closed_call_p, core.create_call_primitive("test_mine")],
                         ids=lambda p: p.name)
def test_call_primitives(prim):
    f = lambda x, y: prim.bind(lu.wrap_init(lambda a, b: [jnp.sin(a) * b, a + 1]), x, y)  # noqa: E731
    eqn = jax.make_jaxpr(f)(1.0, 2.0).eqns[0]
    assert eqn.primitive is prim and isinstance(
        eqn.params["call_jaxpr"], core.Jaxpr if prim is primitives.call_p else core.ClosedJaxpr)
    first = lambda x: f(x, 2.0)[0]  # noqa: E731
    for wrap in (lambda g: g, jax.jit):
        assert np.isclose(wrap(first)(1.0), 2 * np.sin(1.0))
        assert np.isclose(wrap(jax.grad(first))(1.0), 2 * np.cos(1.0))
        assert np.isclose(wrap(jax.grad(jax.checkpoint(first)))(1.0), 2 * np.cos(1.0))
        assert np.allclose(wrap(jax.vmap(first))(X), 2 * np.sin(X))
        assert np.isclose(wrap(jax.hessian(first))(1.0), -2 * np.sin(1.0))
    assert float(jax.jvp(first, (1.0,), (1.0,))[1]) == pytest.approx(2 * np.cos(1.0))
    assert float(jax.linear_transpose(lambda x: prim.bind(lambda x: [3 * x], x)[0], 1.0)(1.0)[0]) == 3.0
    assert float(jax.grad(lambda c: prim.bind(lambda x: [x * c], 2.0)[0])(4.0)) == 2.0
    jaxpr = jax.make_jaxpr(first)(1.0).jaxpr
    _, used = pe.dce_jaxpr(jaxpr, [True])
    assert used == [True]


# --- rules in the forms that other libraries use ----------------------------------------------------------------------

def test_batching_rules_with_size_and_name_of_the_axis():
    prim = Primitive("test_scale_by_size")
    prim.def_impl(lambda x: x)
    prim.def_abstract_eval(lambda x: x)

    def rule(axis_size, axis_name, trace_type, args, dims):
        assert axis_name == "i"
        return args[0] * axis_size, dims[0]
    batching.axis_primitive_batchers[prim] = rule
    assert np.allclose(jax.vmap(prim.bind, axis_name="i")(X), 3 * X)
    assert batching.axis_primitive_batchers[prim] is rule and prim in batching.fancy_primitive_batchers
    del batching.axis_primitive_batchers[prim]
    assert prim not in batching.fancy_primitive_batchers


def test_partial_evaluation_rules_of_other_libraries():
    prim = Primitive("test_refusing")
    pe.partial_eval_jaxpr_custom_rules[prim] = \
        lambda *args: pe.partial_eval_jaxpr_custom_rule_not_implemented("refusing", *args)
    prim.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="refusing"):
        jax.make_jaxpr(jax.grad(jax.checkpoint(lambda x: prim.bind(x) * jnp.sin(x), policy=lambda *_, **__: False)))(1.0)
    del pe.partial_eval_jaxpr_custom_rules[prim]


@dataclass(frozen=True)
class Along:
    name: str


class Named:
    """An array with named axes: no tree, and mapped by name."""

    def __init__(self, array, names):
        self.array, self.names = array, names


@pytest.fixture
def named_arrays():
    def to_elt(cont, get_idx, x, along):
        assert isinstance(get_idx(), jax.core.Tracer) and get_idx().shape == ()
        i = x.names.index(along.name)
        return Named(cont(x.array, i), x.names[:i] + x.names[i + 1:])

    def from_elt(cont, axis_size, elt, along):
        return Named(cont(axis_size, elt.array, 0), (along.name, *elt.names))

    batching.register_vmappable(Named, Along, int, to_elt, from_elt, jnp.arange)
    yield
    batching.unregister_vmappable(Named)


def test_vmap_of_registered_types(named_arrays):
    x = Named(jnp.arange(6.0).reshape(2, 3), ("a", "b"))
    assert batching.is_vmappable(x)
    out = jax.vmap(lambda x: Named(x.array * 2, x.names), in_axes=Along("b"), out_axes=Along("b"), axis_size=3)(x)
    assert out.names == ("b", "a") and np.allclose(out.array, 2 * x.array.T)
    plain = jax.vmap(lambda x, s: x.array.sum() * s, in_axes=(Along("b"), 0))(x, jnp.ones(3))
    assert np.allclose(plain, x.array.sum(0))
    with pytest.raises(ValueError, match="axis"):
        jax.vmap(lambda x: x.array, in_axes=Along("b"))(x)


def test_constants_and_types_of_other_libraries():
    class Seven:
        pass

    prim = Primitive("test_use_seven")
    prim.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(prim, lambda ctx, x, y: [mlir.hlo.multiply(x, y)])
    jax.core.pytype_aval_mappings[Seven] = lambda _: jax.core.ShapedArray((), np.dtype("float32"))
    mlir.register_constant_handler(Seven, lambda value, aval: mlir.ir_constant(np.float32(7)))
    try:
        assert float(jax.jit(lambda x: prim.bind(x, Seven()))(2.0)) == 14.0
    finally:
        del jax.core.pytype_aval_mappings[Seven]
        mlir.constant_makers.pop(Seven)


def test_classes_whose_instances_are_arrays():
    class Box:
        """Has a value that may change; NumPy can read it."""

        def __init__(self, value):
            self.value = value

        shape = property(lambda self: self.value.shape)
        dtype = property(lambda self: self.value.dtype)

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.value, dtype)

    xla.canonicalize_dtype_handlers[Box] = xla.canonicalize_dtype_handlers[np.ndarray]
    jax.core.pytype_aval_mappings[Box] = jax.core.pytype_aval_mappings[np.ndarray]
    try:
        box = Box(np.arange(3))
        assert np.array_equal(jax.jit(lambda x: x * 2)(box), [0, 2, 4]) and np.array_equal(jnp.add(box, 1), [1, 2, 3])
        box.value = np.ones(3)
        assert np.array_equal(jax.jit(lambda x: x * 2)(box), [2, 2, 2])
        assert Box in xla.canonicalize_dtype_handlers
    finally:
        del jax.core.pytype_aval_mappings[Box], xla.canonicalize_dtype_handlers[Box]
    with pytest.raises(TypeError):
        jax.jit(lambda x: x)(box)
