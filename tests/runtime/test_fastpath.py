"""Which calls stay in jaxlib's compiled code, and what they return."""

from __future__ import annotations

import numpy as np
import pytest

from jax._base import config
from jax._base._jaxlib import pytree, xla
from jax._language.avals import ShapedArray
from jax._runtime import backend, fastpath
from jax._runtime import compile as compiling
from jax._runtime.execute import Executable
from jax._runtime.transfer import to_device
from tests.runtime.conftest import module_text

pytestmark = pytest.mark.quick
registry = pytree.default_registry()


class Counted:
    """A jitted binary operation that counts how often the C++ cache asked Python."""

    def __init__(self, executable, **kwargs):
        self.executable = executable
        self.misses = 0
        static = kwargs.get("static_argnums", ())
        names = set(kwargs.get("static_argnames", ()))

        def cache_miss(*args, **kw):
            self.misses += 1
            dynamic = [a for i, a in enumerate(args) if i not in static]
            flat, _ = registry.flatten((dynamic, {k: v for k, v in kw.items() if k not in names}))
            committed = any(isinstance(x, xla.ArrayImpl) and x._committed for x in flat)
            (out,) = executable.call(flat, committed)
            tree = registry.flatten({"out": 0})[1]
            return fastpath.answer({"out": out}, executable, tree, flat, committed)

        self.call = fastpath.make_callable("f", lambda *a, **k: None, cache_miss, **kwargs)

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)["out"]

    def misses_of(self, *args, **kwargs):
        before = self.misses
        for _ in range(3):
            self(*args, **kwargs)
        return self.misses - before


@pytest.fixture
def subtract(make_executable):
    return Counted(make_executable())


def put(x, **kwargs):
    return to_device(np.asarray(x, np.float32), **kwargs)


def test_second_calls_stay_in_cpp(subtract):
    x = put(5)
    assert subtract.misses_of(x, x) == 1
    assert subtract.misses_of(put(6), x) == 0
    assert subtract.misses_of(2.0, x) == 1
    assert subtract.misses_of(3.0, x) == 0
    assert subtract.misses_of(to_device(2.0), x) == 1  # weakly typed
    out = subtract(5.0, put(3))
    assert out.item() == 2
    assert out.aval is ShapedArray((), np.dtype("float32"))
    assert out.sharding is backend.default_sharding()


def test_numpy_arguments_use_the_programs_of_arrays(subtract):
    x = put(5)
    assert subtract.misses_of(x, x) == 1
    assert subtract.misses_of(np.float32(1), x) == 0
    assert subtract.misses_of(np.array(2, np.float32), x) == 0
    assert subtract.misses_of(np.float64(2), np.ones(())) == 0
    assert subtract.misses_of([x, np.float32(2)]) == 1
    assert subtract.misses_of([x, x]) == 0
    assert subtract.misses_of(b=np.float32(2), a=x) == 1
    assert subtract.misses_of(b=x, a=x) == 0
    assert subtract(np.float32(5), np.float64(3)).item() == 2


def test_writing_to_a_numpy_argument_after_the_call_is_safe():
    n = 1 << 18
    t, s = f"tensor<{n}xf32>", "tensor<i32>"
    body = (f"%c0 = stablehlo.constant dense<0> : {s} %c1 = stablehlo.constant dense<1> : {s} "
            f"%cn = stablehlo.constant dense<40> : {s} %z = stablehlo.constant dense<0.0> : {t} "
            f"%r:2 = stablehlo.while(%i = %c0, %acc = %z) : {s}, {t} "
            f"cond {{ %p = stablehlo.compare LT, %i, %cn : ({s}, {s}) -> tensor<i1> "
            f"stablehlo.return %p : tensor<i1> }} "
            f"do {{ %j = stablehlo.add %i, %c1 : {s} %u = stablehlo.add %acc, %a : {t} "
            f"stablehlo.return %j, %u : {s}, {t} }} return %r#1 : {t}")
    aval = ShapedArray((n,), np.dtype("float32"))
    loaded = compiling.compile_module(module_text(f"%a: {t}", t, body), backend.devices()[:1])
    f = Counted(Executable(loaded, in_avals=[aval], out_avals=[aval]))
    raw = np.zeros(n + 32, np.float32)
    aligned = (-raw.ctypes.data % 64) // 4
    for start in (aligned, aligned, aligned + 1, aligned + 1):
        x = raw[start : start + n]
        x[:] = 0
        out = f(x)
        x[:] = 1
        assert np.asarray(out).max() == 0


def test_static_numpy_scalars_stay_what_they_are(make_executable):
    seen = []
    executable = make_executable()

    def miss(mode, a, b):
        seen.append(type(mode))
        return fastpath.answer(executable.call([a, b])[0])

    f = fastpath.make_callable("f", lambda *a: None, miss, static_argnums=(0,))
    f(np.float32(1), np.float32(5), 2.0)
    assert seen == [np.float32]


def test_commitment_is_part_of_the_signature(subtract):
    x, tied = put(5), put(5, placement=backend.default_device())
    assert subtract.misses_of(x, x) == 1
    assert subtract.misses_of(tied, x) == 1
    assert subtract(tied, x)._committed and not subtract(x, x)._committed
    assert subtract.misses == 2


def test_arguments_in_trees_and_by_keyword(subtract):
    x = put(5)
    assert subtract.misses_of((x, x)) == 1
    assert subtract.misses_of([x, x]) == 1
    assert subtract.misses_of({"a": x, "b": x}) == 1
    assert subtract.misses_of(x, b=x) == 1
    assert subtract.misses_of(a=x, b=x) == 1
    assert subtract.misses_of(b=x, a=x) == 0


def test_static_arguments(make_executable):
    f = Counted(make_executable(), static_argnums=(0,), static_argnames=("mode",))
    x = put(5)
    assert f.misses_of("a", x, x) == 1
    assert f.misses_of("b", x, x) == 1
    assert f.misses_of("a", x, x) == 0
    assert f.misses_of("a", x, x, mode=1) == 1
    assert f.misses_of("a", x, x, mode=1) == 0
    with pytest.raises(ValueError, match="[Hh]ash"):
        f([], x, x)


def test_constants_and_unused_arguments(make_executable):
    aval = ShapedArray((), np.dtype("float32"))
    f = Counted(make_executable(consts=[np.float32(10)], in_avals=[aval, aval], kept=[1]))
    x = put(3)
    assert f.misses_of(put(99), x) == 1
    assert f(put(99), x).item() == 7
    assert f.misses == 1


def test_integers_that_do_not_fit_are_refused_every_time(make_executable):
    f = Counted(make_executable("add", "int32", arg_names=["a", "b"]))
    one = np.int64(1)
    assert f.misses_of(one, one) == 1
    assert f.misses_of(1, 2) == 1
    for bad in (np.int64(2**40), np.array(2**40), 2**40, np.array(2**31)):
        for _ in range(2):
            with pytest.raises(OverflowError, match="(?s)'a'.*jax_enable_x64"):
                f(bad, one)


def test_options_are_part_of_the_signature(subtract):
    x = put(5)
    assert subtract.misses_of(x, x) == 1
    with config.default_matmul_precision("float32"):
        assert subtract.misses_of(x, x) == 1
    assert subtract.misses_of(x, x) == 0


def test_deleted_arguments(subtract):
    x, gone = put(5), put(5)
    subtract(x, x)
    gone.delete()
    with pytest.raises(RuntimeError, match=r"has been deleted.*f32\[\]"):
        subtract(gone, x)


def test_donation_in_cpp(make_executable):
    f = Counted(make_executable("add", attrs="{tf.aliasing_output = 0 : i32}", donated=[0]))
    y = put(1)
    for _ in range(3):
        x = put(1)
        assert f(x, y).item() == 2
        assert x.is_deleted()
    assert f.misses == 1
    # jaxlib notices a donated argument only when it runs the program, and then says so itself.
    with pytest.raises((RuntimeError, ValueError), match="donated"):
        f(x, y)


def test_arrays_elsewhere_are_moved(make_executable, four_devices):
    a, b = four_devices[:2]
    f = Counted(make_executable(device=b))
    x = to_device(put(5, placement=a), committed=False)
    assert f.misses_of(x, x) == 1
    assert f(x, x).device == b


def test_checks_for_nans_go_through_python(make_executable):
    f = Counted(make_executable())
    x = put(5)
    with config.debug_nans(True):
        assert f.misses_of(x, x) == 3


def test_programs_with_effects_go_through_python(make_executable):
    f = Counted(make_executable(has_unordered_effects=True))
    x = put(5)
    assert f.misses_of(x, x) == 3


def test_functions_with_one_key_share_entries(make_executable):
    executable = make_executable()
    x = put(5)

    def fun():
        pass

    def miss(a, b):
        (out,) = executable.call([a, b], False)
        return fastpath.answer(out, executable, registry.flatten(0)[1], [a, b], False)

    def never(a, b):
        raise AssertionError("asked again")

    first = fastpath.make_callable("f", fun, miss, cache_key="k")
    first(x, x)
    assert fastpath.make_callable("f", fun, never, cache_key="k")(x, x).item() == 0
    with pytest.raises(AssertionError, match="asked again"):
        fastpath.make_callable("f", fun, never, cache_key="other")(x, x)


def test_clearing(subtract):
    from jax._base import caching

    x = put(5)
    assert subtract.misses_of(x, x) == 1
    caching.clear_caches()
    assert subtract.misses_of(x, x) == 1
    subtract.call._clear_cache()
    assert subtract.misses_of(x, x) == 1


def test_clearing_reaches_what_callables_that_are_gone_have_left(make_executable):
    from jax._base import caching

    executable, asked = make_executable(), []

    def fun(a, b):
        return None

    def miss(a, b):
        asked.append(a)
        return fastpath.answer(put(0), executable, registry.flatten(0)[1], (a, b))

    x = put(5)
    fastpath.make_callable("f", fun, miss, cache_key="k")(x, x)
    fastpath.make_callable("f", fun, miss, cache_key="k")(x, x)
    assert len(asked) == 1
    caching.clear_caches()
    fastpath.make_callable("f", fun, miss, cache_key="k")(x, x)
    assert len(asked) == 2


def test_nothing_is_kept_when_told_to_forget(make_executable):
    executable = make_executable()
    f = fastpath.make_callable("f", lambda a, b: None, lambda a, b: fastpath.answer(a, forget=True))
    f(put(1), put(1))
    assert f._cache_size() == 0
    assert fastpath.record(executable, registry.flatten(0)[1], False) is not None
