"""``jax.export``: what a program is after it has been exported, serialised, read back and called."""

import collections
import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import export, lax
from jax.export import DisabledSafetyCheck

X = np.random.RandomState(0).rand(4, 4).astype(np.float32) + 0.1
SPEC = jax.ShapeDtypeStruct((4, 4), np.float32)


def exported(fun, *specs, **options):
    return export.export(jax.jit(fun), **options)(*(specs or (SPEC,)))


def again(exp, **options):
    return export.deserialize(exp.serialize(**options))


def _scan(x):
    return lax.scan(lambda c, row: (c + row.sum(), c), np.float32(0), x)[1]


PROGRAMS = {
    "sine": (jnp.sin, np.sin),
    "tangent": (jnp.tan, np.tan),
    "arc": (lambda x: jnp.arccosh(x + 1), lambda x: np.arccosh(x + 1)),
    "sort": (lambda x: jnp.sort(x, axis=0), lambda x: np.sort(x, axis=0)),
    "argmax": (jnp.argmax, np.argmax),
    "transform": (lambda x: jnp.abs(jnp.fft.fft(x)), lambda x: np.abs(np.fft.fft(x))),
    "eigenvalues": (lambda x: jnp.linalg.eigvalsh(x @ x.T), lambda x: np.linalg.eigvalsh(x @ x.T)),
    "inverse": (jnp.linalg.inv, np.linalg.inv),
    "scan": (_scan, lambda x: np.cumsum(x.sum(1)) - x.sum(1)),
    "while": (lambda x: lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x),
              lambda x: x * 2 ** np.ceil(np.log2(100 / x.sum()))),
    "cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), np.sin),
    "calls": (lambda x: jax.jit(jnp.tanh)(x) + jax.jit(jnp.tanh)(x + 1), lambda x: np.tanh(x) + np.tanh(x + 1)),
    "large array": ((lambda big: lambda x: x.sum() + big)(jnp.arange(9000.)), lambda x: x.sum() + np.arange(9000.)),
    "bfloat16": (lambda x: (x.astype(jnp.bfloat16) * 0 + 2).astype(np.float32), lambda x: np.full_like(x, 2)),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.quick] * (n in ("sine", "scan"))) for n in PROGRAMS])
def test_programs_compute_what_they_did(name):
    fun, truth = PROGRAMS[name]
    got = again(exported(fun)).call(X)
    np.testing.assert_allclose(got, truth(X), rtol=2e-4, atol=1e-5)


@pytest.mark.quick
def test_fields():
    exp = export.export(jax.jit(lambda x, n, *, unused: {"a": jnp.sin(x) * n, "b": (n,)}))(
        jax.ShapeDtypeStruct((3,), "float32"), 2, unused=1.)
    for e in (exp, again(exp)):
        assert e.fun_name == "<lambda>"
        assert e.in_tree == jax.tree.structure(((0, 0), {"unused": 0}))
        assert [str(a) for a in e.in_avals] == ["float32[3]", "int32[]", "float32[]"]
        assert e.out_tree == jax.tree.structure({"a": 0, "b": (0,)})
        assert [str(a) for a in e.out_avals] == ["float32[3]", "int32[]"]
        assert e.platforms == (export.default_export_platform(),) == ("cpu",)
        assert e.module_kept_var_idx == (0, 1)
        assert (e.nr_devices, e.ordered_effects, e.unordered_effects, e.disabled_safety_checks) == (1, (), (), ())
        assert e.in_shardings_hlo == (None,) * 3 and e.out_shardings_hlo == (None,) * 2
        assert export.minimum_supported_calling_convention_version <= e.calling_convention_version \
            <= export.maximum_supported_calling_convention_version
        assert "stablehlo.sine" in e.mlir_module() and not e.uses_global_constants
        assert repr(e) == "Exported(<lambda>: (f32[3], i32[], f32[]) -> (f32[3], i32[]), for cpu)"
        with pytest.raises(AttributeError, match="cannot be changed"):
            e.nr_devices = 2
        out = e.call(jnp.ones(3), 2, unused=5.)
        np.testing.assert_allclose(out["a"], 2 * np.sin(1.), rtol=1e-6)
        assert out["b"] == (2,)


def test_calls_within_programs():
    inner = exported(lambda x: jnp.sin(x) ** 2, 1.)
    read = again(inner)
    want = np.sin(0.5) ** 2
    assert jax.jit(inner.call)(0.5) == pytest.approx(want)
    assert jax.jit(inner.call).lower(0.5).compile()(0.5) == pytest.approx(want)
    assert jax.eval_shape(inner.call, 0.5).shape == ()
    outer = again(exported(lambda x: inner.call(x) + read.call(x) * inner.call(x), 1.))  # functions of equal names
    assert outer.call(0.5) == pytest.approx(want + want ** 2)
    assert jax.jit(lambda x: outer.call(x) + inner.call(x))(0.5) == pytest.approx(2 * want + want ** 2)


@pytest.mark.quick
def test_derivatives():
    exp = exported(lambda x: jnp.sin(x) ** 2, 1.)
    first, second = np.sin(1.), 2 * np.cos(1.)  # sin(x)^2 has the derivative sin(2x)
    for e in (exp, again(exp, vjp_order=2)):
        assert e.has_vjp()
        assert jax.grad(e.call)(0.5) == pytest.approx(first)
        assert jax.jit(jax.grad(e.call))(0.5) == pytest.approx(first)
        assert jax.grad(jax.grad(e.call))(0.5) == pytest.approx(second)
        with pytest.raises(TypeError, match="forward-mode differentiation"):
            jax.jvp(e.call, (0.5,), (1.,))
    assert not again(exp).has_vjp()
    with pytest.raises(ValueError, match="serialised without; use exported.serialize"):
        jax.grad(again(exp).call)(0.5)
    with pytest.raises(ValueError, match="vjp_order must not be negative"):
        exp.serialize(vjp_order=-1)


def test_derivative_with_integers():
    exp = again(exported(lambda x, n: {"a": jnp.sin(x) * n, "n": n}, jax.ShapeDtypeStruct((3,), "float32"), 2), vjp_order=1)
    vjp = exp.vjp()
    assert vjp.in_tree == jax.tree.structure(((0,) * 4, {})) and vjp.out_tree == jax.tree.structure((0, 0))
    assert vjp.in_avals[3].dtype == vjp.out_avals[1].dtype == jax.dtypes.float0
    ct, nothing = jax.vjp(exp.call, jnp.zeros(3), 2)[1]({"a": jnp.arange(3.), "n": np.zeros((), jax.dtypes.float0)})
    np.testing.assert_allclose(ct, [0, 2, 4])
    assert nothing.dtype == jax.dtypes.float0


def test_platforms():
    one = exported(jnp.cos, platforms=("cuda", "cpu"))
    assert one.platforms == ("cuda", "cpu") and not one.uses_global_constants
    several = exported(lambda x: jnp.sort(x) + jnp.sort(-x), platforms=("cuda", "cpu"))  # sorted otherwise on CPUs
    assert several.uses_global_constants and "_platform_index" in several.mlir_module()
    for e in (several, again(several, vjp_order=1)):
        np.testing.assert_array_equal(e.call(X), np.sort(X) + np.sort(-X))
        assert jax.grad(lambda x: e.call(x).sum())(X).shape == (4, 4)  # noqa: B023
    foreign = exported(jnp.sin, platforms=["tpu"])
    with pytest.raises(ValueError, match="exported for tpu and is called on cpu"):
        foreign.call(X)
    allowed = again(exported(jnp.sin, platforms=["tpu"], disabled_checks=[DisabledSafetyCheck.platform()]))
    np.testing.assert_allclose(allowed.call(X), np.sin(X), rtol=1e-5)
    with pytest.raises(ValueError, match="unknown platform 'gpu'; .*the name of GPUs is 'cuda'"):
        exported(jnp.sin, platforms=["gpu"])
    with pytest.raises(ValueError, match=r"platforms=\['cpu'\]"):
        exported(jnp.sin, platforms="cpu")


@pytest.mark.quick
def test_no_rewrites_for_this_machine():
    def deep(x):
        for _ in range(4):
            y = jnp.exp(x * 0.1) + jnp.tanh(x + 0.2)
            x = x + jnp.sqrt(y * y + 0.1) * y - y / (y * y + 0.3)
        return jnp.sin(x)
    big = jax.ShapeDtypeStruct((512, 512), np.float32)
    here = jax.jit(deep).lower(big).as_text()
    assert "optimization_barrier" in here and "stablehlo.case" in here
    text = exported(deep, big).mlir_module()
    assert "optimization_barrier" not in text and "stablehlo.case" not in text
    assert jax.config.jax_cpu_fusion_fences and jax.config.jax_cpu_fast_trigonometry
    images, kernel = (jax.ShapeDtypeStruct(shape, np.float32) for shape in ((1, 8, 9, 9), (8, 1, 3, 3)))
    text = exported(lambda x, k: jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=8), images,
                    kernel).mlir_module()
    assert "stablehlo.convolution" in text


def test_custom_calls():
    def foreign(x):
        return jax.ffi.ffi_call("a_target_of_mine", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
    with pytest.raises(ValueError, match=r"a_target_of_mine.*test_export(.|\n)*DisabledSafetyCheck.custom_call\('a_target"):
        exported(foreign)
    check = DisabledSafetyCheck.custom_call("a_target_of_mine")
    assert again(exported(foreign, disabled_checks=[check])).disabled_safety_checks == (check,)
    assert str(check) == "custom_call:a_target_of_mine" and check.is_custom_call() == "a_target_of_mine"
    assert DisabledSafetyCheck.platform().is_custom_call() is None and check != DisabledSafetyCheck.platform()
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        exported(lambda x: jax.pure_callback(np.sin, x, x))
    with pytest.raises(TypeError, match="instances of DisabledSafetyCheck"):
        exported(jnp.sin, disabled_checks=["platform"])


@pytest.mark.quick
def test_refusals():
    exp = exported(lambda x, y: x, SPEC, SPEC)
    for args, message in [((X,), "args: exported for a tuple of length 2, called with one of length 1"),
                          ((X, X[:2]), r"args\[1\] has to be f32\[4,4\].*is f32\[2,4\]"),
                          ((X.astype(np.int32), X), r"args\[0\] has to be f32\[4,4\].*is i32\[4,4\]")]:
        with pytest.raises(ValueError, match=message):
            exp.call(*args)
    with pytest.raises(NotImplementedError, match="vmap of the exported function <lambda>.*jax.lax.map"):
        jax.vmap(lambda x: exp.call(x, X))(np.stack([X, X]))
    with pytest.raises(ValueError, match="takes what jax.jit returned"):
        export.export(jnp.sin)
    with pytest.raises(NotImplementedError, match="takes references"):
        exported(lambda r: r[...], jax.new_ref(jnp.ones(3)))
    with pytest.raises(TypeError, match=r"argument args\[1\]: 'a' of type str"):
        exp.call(X, "a")
    with pytest.raises(TypeError, match="use exported.serialize"):
        pickle.dumps(exp)
    assert copy.deepcopy(exp) is exp is copy.copy(exp)
    with pytest.raises(NotImplementedError, match="laid out over a mesh"):
        here = jax.sharding.NamedSharding(jax.make_mesh((1,), ("a",)), jax.sharding.PartitionSpec("a"))
        export.export(jax.jit(jnp.sin, in_shardings=here))(SPEC)
    with pytest.raises(ValueError, match="closes over values that are being traced"):
        jax.jit(lambda y: exported(lambda x: x + y, 1.).call(1.))(1.)
    with pytest.raises(NotImplementedError, match="overridden"):
        export.export(jax.jit(jnp.sin), _override_lowering_rules=[])


def test_calls_in_loops_and_under_checkpoint():
    exp = exported(lambda x: x * 2, np.float32(1))
    assert lax.scan(lambda c, x: (exp.call(c), x), np.float32(1), jnp.arange(3))[0] == 8
    np.testing.assert_array_equal(jax.grad(lambda x: (lax.map(exp.call, x) * x).sum())(jnp.arange(3.)), [0, 4, 8])
    assert jax.grad(jax.checkpoint(lambda x: exp.call(x) ** 2))(3.) == 24
    assert exported(jax.grad(lambda x: exp.call(x) ** 2), np.float32(1)).call(3.) == 24
    assert jax.grad(lambda z: jnp.abs(exported(lambda z: z * z, 1j).call(z)))(1 + 2j) == pytest.approx(2 - 4j)


def test_edges():
    empty = again(exported(lambda x: x * 2, jnp.ones((0, 3))))
    assert empty.call(jnp.ones((0, 3))).shape == (0, 3)
    assert again(export.export(jax.jit(lambda: jnp.arange(3)))()).call().tolist() == [0, 1, 2]
    assert exported(lambda x: None).call(X) is None
    assert again(exported(lambda x: ~x, np.ones(2, bool))).call(np.ones(2, bool)).tolist() == [False, False]
    small = again(exported(lambda x: x * 2, jnp.ones(2, jnp.bfloat16))).call(jnp.ones(2, jnp.bfloat16))
    assert small.dtype == jnp.bfloat16 and small.tolist() == [2, 2]
    donated = export.export(jax.jit(lambda x: x + 1, donate_argnums=0))(SPEC)
    x = jnp.asarray(X)
    donated.call(x)
    assert not x.is_deleted()
    assert export.export(jax.jit(lambda x, y: x, keep_unused=True))(1., 2.).module_kept_var_idx == (0, 1)


def test_keys_static_arguments_and_wide_types():
    exp = again(exported(lambda k: jax.random.split(k), jax.random.key(0, impl="rbg")))
    np.testing.assert_array_equal(jax.random.key_data(exp.call(jax.random.key(1, impl="rbg"))),
                                  jax.random.key_data(jax.random.split(jax.random.key(1, impl="rbg"))))
    fixed = export.export(jax.jit(lambda x, n: x * n, static_argnums=1))(1., 3)
    assert fixed.call(2.) == 6
    with jax.enable_x64(True):
        wide = again(exported(lambda x: x / 3, jax.ShapeDtypeStruct((), np.float64)))
        assert wide.call(1.) == 1 / 3
    with pytest.raises(ValueError, match=r"has to be f64\[\], as it was exported for, and is f32\[\]"):
        wide.call(1.)


# --- structures -----------------------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")
Unknown = collections.namedtuple("Unknown", "a")


@jax.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, x, unit):
        self.x, self.unit = x, unit

    def tree_flatten(self):
        return (self.x,), self.unit

    @classmethod
    def tree_unflatten(cls, unit, children):
        return cls(*children, unit)


export.register_namedtuple_serialization(Pair, serialized_name="tests.export.Pair")
export.register_pytree_node_serialization(Scaled, serialized_name="tests.export.Scaled",
                                          serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)


def test_containers():
    tree = {"b": [1., None, ()], "a": Pair(2., {1: 3.}), "c": collections.OrderedDict(z=1., y=2.), "d": Scaled(4., "m")}
    exp = again(exported(lambda t: t, tree))
    assert exp.in_tree == jax.tree.structure(((tree,), {}))
    out = exp.call(tree)
    assert jax.tree.structure(out) == jax.tree.structure(tree) and jax.tree.leaves(out) == jax.tree.leaves(tree)
    assert out["d"].unit == "m"
    with pytest.raises(ValueError, match=r"Unknown .*register it with jax.export.register_namedtuple_serialization"):
        exported(lambda t: t, Unknown(1.)).serialize()


def test_registration_is_once():
    functions = {"serialize_auxdata": str.encode, "deserialize_auxdata": bytes.decode}
    with pytest.raises(ValueError, match="registered for serialization already, under the name 'tests.export.Pair'"):
        export.register_namedtuple_serialization(Pair, serialized_name="another")
    with pytest.raises(ValueError, match="the name 'tests.export.Scaled' is registered"):
        export.register_pytree_node_serialization(dataclasses.Field, serialized_name="tests.export.Scaled", **functions)
    with pytest.raises(ValueError, match="is no class of named tuples"):
        export.register_namedtuple_serialization(int, serialized_name="int")


# --- the format -----------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_damaged_files():
    blob = exported(jnp.sin).serialize()
    assert isinstance(blob, bytearray)
    flipped = bytearray(blob)
    flipped[-100] ^= 1
    later = bytearray(blob)
    later[16] = 9
    for bad, message in [(b"PK" + bytes(90), "not made by Exported.serialize"), (blob[:20], "cut short: 20 bytes"),
                         (blob[:-1], "damaged"), (flipped, "damaged"), (later, "version 9 of the format.*upgrade")]:
        with pytest.raises(ValueError, match=message):
            export.deserialize(bad)
    with pytest.raises(TypeError, match="takes bytes, got str"):
        export.deserialize("text")


def test_another_process_reads_it(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(exported(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(4)).sum()).serialize(vjp_order=1))
    code = ("import sys, numpy as np, jax; from jax import export\n"
            "e = export.deserialize(open(sys.argv[1], 'rb').read())\n"
            "print(float(e.call(np.eye(4, dtype=np.float32))), float(jax.grad(e.call)(np.eye(4, dtype=np.float32)).sum()))")
    source = str(Path(jax.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": source})
    value, slope = map(float, done.stdout.split())
    assert value == pytest.approx(4 * np.sqrt(2))
    f = lambda x: np.linalg.cholesky(x @ x.T + np.eye(4)).sum()  # noqa: E731
    steps = [(f(np.eye(4) + 1e-5 * d) - f(np.eye(4) - 1e-5 * d)) / 2e-5 for d in np.eye(16).reshape(16, 4, 4)]
    assert slope == pytest.approx(sum(steps), rel=1e-4)


# --- symbolic dimensions --------------------------------------------------------------------------------------------

def test_symbolic_dimensions_are_refused_by_name():
    assert export.symbolic_shape("(2, 3)") == (2, 3) == export.symbolic_shape("2, ...", like=(2, 3))
    assert export.symbolic_shape("_,3", like=(2, 3)) == (2, 3)
    assert export.symbolic_shape("4,") == (4,)
    with pytest.raises(ValueError, match="has 1 dimensions and like"):
        export.symbolic_shape("2", like=(2, 3))
    with pytest.raises(ValueError, match="dimension 0 .* is 4, and like has 2"):
        export.symbolic_shape("4, 3", like=(2, 3))
    for call in (lambda: export.symbolic_shape("batch, 3"), lambda: export.symbolic_args_specs(X, "b, 4"),
                 lambda: export.SymbolicScope(), lambda: export.symbolic_shape("2", constraints=["a > 2"])):
        with pytest.raises(NotImplementedError, match="symbolic dimensions are not supported yet. Export the function once"):
            call()
    assert not export.is_symbolic_dim(3) and export.symbolic_dim_bounds(3) == (3, 3)
