"""``Traced``, ``Lowered`` and ``Compiled``: what they tell, and what a compiled function refuses."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax, stages
from jax.experimental.layout import Format
from jax.sharding import SingleDeviceSharding

pytestmark = pytest.mark.quick

VECTOR = np.ones(3, np.float32)


def scaled(params, x, *, factor=2.0):
    with jax.named_scope("scaling"):
        return {"y": params["w"] * x * factor}


@pytest.fixture(scope="module")
def traced():
    return jax.jit(scaled, donate_argnums=1).trace({"w": VECTOR}, VECTOR, factor=3.0)


@pytest.fixture(scope="module")
def compiled(traced):
    return traced.lower().compile()


def test_every_stage_knows_the_boundary(traced, compiled):
    for stage in (traced, traced.lower(), compiled):
        assert stage.in_tree == jax.tree.structure((({"w": 0}, 0), {"factor": 0}))
        assert stage.out_tree == jax.tree.structure({"y": 0})
        (params, x), kwargs = stage.args_info
        assert (params["w"].shape, params["w"].dtype, params["w"].donated) == ((3,), np.float32, False)
        assert x.donated and isinstance(x, stages.ArgInfo) and not kwargs["factor"].donated
        assert stage.out_info["y"].shape == (3,) and stage.out_info["y"].dtype == np.float32
        assert stage.donate_argnums == (1,)
        assert stage.in_avals[0][0]["w"].shape == (3,)
    assert traced.fun_name == "scaled" and traced.out_avals["y"].shape == (3,)
    assert [e.primitive.name for e in traced.jaxpr.eqns] == ["mul", "mul"]


def test_compiled_functions_know_their_places(compiled):
    here = SingleDeviceSharding(jax.devices()[0])
    assert compiled.input_shardings == (({"w": here}, here), {"factor": here})
    assert compiled.output_shardings == {"y": here}
    assert compiled.out_info["y"].sharding == here
    form = compiled.output_formats["y"]
    assert isinstance(form, Format) and form.layout.major_to_minor == (0,) and form.sharding == here
    assert compiled.input_formats[0][0]["w"] == form
    unused = jax.jit(lambda x, y: x).lower(VECTOR, VECTOR).compile()
    assert unused.input_shardings[0][1] is None and unused.input_formats[0][1] is None


def test_places_of_functions_with_references():
    def add(ref, x):
        ref[...] = ref[...] + x
        return x * 2, 1.0

    ref = jax.new_ref(jnp.ones(3))
    compiled = jax.jit(add).lower(ref, VECTOR).compile()
    assert [f.layout.major_to_minor for f in compiled.output_formats] == [(0,), ()]
    assert compiled.input_formats[0][0].layout.major_to_minor == (0,)
    compiled(ref, VECTOR)
    np.testing.assert_array_equal(ref[...], 2)


def test_text_in_every_dialect(traced, compiled):
    lowered = traced.lower()
    assert "stablehlo.multiply" in lowered.as_text() == lowered.as_text("stablehlo")
    assert "scaling" not in lowered.as_text() and "scaling" in lowered.as_text(debug_info=True)
    hlo = lowered.as_text("hlo")
    assert hlo.startswith("HloModule jit_scaled") and "multiply" in hlo and "metadata" not in hlo
    with_places = lowered.as_text(dialect="hlo", debug_info=True)
    assert 'op_name="jit(scaled)/scaling/mul"' in with_places and "test_stages.py" in with_places
    assert 'op_name="jit(scaled)/scaling/mul' in compiled.as_text()
    for call in (lowered.as_text, lowered.compiler_ir):
        with pytest.raises(ValueError, match="unknown dialect 'llvm': there are 'stablehlo' and 'hlo'"):
            call("llvm")
        with pytest.raises(ValueError, match="MHLO has become StableHLO"):
            call("mhlo")


def test_compiler_ir(traced):
    lowered = traced.lower()
    assert "func.func public @main" in str(lowered.compiler_ir()) == str(lowered.compiler_ir("stablehlo"))
    computation = lowered.compiler_ir("hlo")
    assert "multiply" in computation.as_hlo_text()
    assert len(computation.as_serialized_hlo_module_proto()) > 0


def test_analyses(traced, compiled):
    lowered = traced.lower()
    assert lowered.cost_analysis()["flops"] == compiled.cost_analysis()["flops"] == 6
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.alias_size_in_bytes) == (28, 12, 12)
    assert compiled.runtime_executable().local_devices() == [jax.devices()[0]]


def test_calling(compiled):
    np.testing.assert_array_equal(compiled({"w": VECTOR}, jnp.ones(3), factor=4.0)["y"], 4)


    np.testing.assert_array_equal(compiled.call({"w": VECTOR}, jnp.ones(3), factor=5.0)["y"], 5)


def test_a_weak_type_is_no_other_type():
    strong = jax.jit(lambda x: x + 1).lower(np.float32(1)).compile()
    weak = jax.jit(lambda x: x + 1).lower(1.0).compile()
    assert float(strong(1.0)) == float(weak(np.float32(1))) == 2.0


@pytest.mark.parametrize("args, kwargs, message", [
    (({"w": VECTOR}, np.ones((3, 4), np.float32)), {"factor": 1.0}, r"  x: compiled for f32\[3\], called with f32\[3,4\]"),
    (({"w": np.ones(3, np.int32)}, VECTOR), {"factor": 1.0}, r"params\['w'\]: compiled for f32\[3\], called with i32\[3\]"),
    (({"w": VECTOR}, VECTOR), {"factor": 1}, r"  factor: compiled for f32\[\], called with i32\[\]"),
    (({"w": VECTOR}, "text"), {"factor": 1.0}, "the argument x is 'text' of type str, which is no array"),
    (({"w": VECTOR}, None), {"factor": 1.0}, r"args\[1\]: compiled for a leaf, called with None"),
    (({"v": VECTOR}, VECTOR), {"factor": 1.0}, r"args\[0\]: compiled for a dict with keys \['w'\]"),
    (({"w": VECTOR},), {"factor": 1.0}, "args: compiled for a tuple of length 2, called with one of length 1"),
    (({"w": VECTOR}, VECTOR), {}, r"kwargs: compiled for a dict with keys \['factor'\]"),
])
def test_other_arguments_are_refused_by_name(compiled, args, kwargs, message):
    with pytest.raises(TypeError, match=f"(?s)the function scaled.*{message}"):
        compiled(*args, **kwargs)


def test_static_arguments_are_no_arguments_of_a_compiled_function():
    f = jax.jit(lambda x, n: x * n, static_argnums=1).lower(VECTOR, 3).compile()
    np.testing.assert_array_equal(f(VECTOR), 3)
    with pytest.raises(TypeError, match="static arguments are left out"):
        f(VECTOR, 3)


def test_other_widths_are_explained():
    compiled = jax.jit(lambda x: x + 1).lower(np.float32(1)).compile()
    with jax.enable_x64(True), pytest.raises(TypeError, match=r"called with f64\[\].*(?s:.)*jax_enable_x64"):
        compiled(np.float64(1))


@pytest.mark.parametrize("transform", [
    lambda f: jax.jit(lambda x: f(x))(VECTOR),
    lambda f: jax.jit(f)(VECTOR),
    lambda f: jax.eval_shape(f, VECTOR),
    lambda f: jax.grad(lambda x: f(x).sum())(VECTOR),
    lambda f: jax.vmap(f)(np.ones((2, 3), np.float32)),
    lambda f: lax.scan(lambda c, _: (f(c), None), VECTOR, length=2),
])
def test_transformations_cannot_look_into_compiled_functions(transform):
    f = jax.jit(lambda x: x + 1).lower(VECTOR).compile()
    with pytest.raises(TypeError, match=r"transformations cannot look into it: its argument x is traced \(f32\[3\]\)"):
        transform(f)


def test_lowering_for_other_platforms():
    traced = jax.jit(lambda x: x + 1).trace(VECTOR)
    assert "stablehlo.add" in traced.lower(lowering_platforms=("cuda",)).as_text()
    with pytest.raises(TypeError, match="unknown options"):
        traced.lower(platforms=("cuda",))
    with pytest.raises(TypeError, match="unknown options"):
        traced.lower().compile(options={})


def test_the_protocol():
    assert isinstance(jax.jit(scaled), stages.Wrapped) and not isinstance(scaled, stages.Wrapped)
