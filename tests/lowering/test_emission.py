"""The emission loop: rules, literals, constants, locations, functions, effects."""

from __future__ import annotations

import numpy as np
import pytest

from jax import dtypes
from jax._base.config import include_full_tracebacks_in_locations, traceback_in_locations_limit
from jax._base.source import named_scope
from jax._language import rules as language_rules
from jax._language.avals import ShapedArray, register_aval
from jax._language.effects import Effect, lowerable_effects, ordered_effects
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._lowering import hlo, rules
from jax._lowering.context import LoweringContext, TokenSet
from jax._lowering.module import lower_jaxpr_to_module
from jax._lowering.subprograms import cache_lowering, call_jaxpr, lower_fun

from .helpers import add_p, aval, by_rule, close, elementwise, lower, mul_p, sin_p, text

pytestmark = pytest.mark.quick


def test_elementwise_operations_need_no_rule():
    out = text(lambda x, y: add_p.bind(sin_p.bind(x), y), aval(2), aval(2))
    assert "%0 = stablehlo.sine %arg0 : tensor<2xf32>" in out
    assert "%1 = stablehlo.add %0, %arg1 : tensor<2xf32>" in out


def test_literals_take_the_result_shape_and_are_shared():
    out = text(lambda x: mul_p.bind(mul_p.bind(x, 2.0), 2.0), aval(3, 4))
    assert out.count("stablehlo.constant") == 1
    assert "dense<2.000000e+00> : tensor<3x4xf32>" in out


def test_equal_literals_that_differ():
    out = text(lambda x: mul_p.bind(mul_p.bind(x, 0.0), -0.0), aval())
    assert "dense<0.000000e+00>" in out and "dense<-0.000000e+00>" in out


def test_operands_are_stretched():
    out = text(lambda x, y, z: add_p.bind(add_p.bind(x, y), z), aval(2, 3), aval(), aval(1, 3))
    assert "dims = [] : (tensor<f32>) -> tensor<2x3xf32>" in out
    assert "dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>" in out


def test_rules_get_a_context():
    seen: list[LoweringContext] = []

    def rule(ctx, x, *, power):
        seen.append(ctx)
        assert power == 3
        return [hlo.multiply(x, x)]

    prim = by_rule("test_cube", rule)
    lower(lambda x: prim.bind(x, power=3), aval(2))
    (ctx,) = seen
    assert ctx.primitive is prim and ctx.eqn.primitive is prim
    assert ctx.avals_in == [aval(2)] and ctx.avals_out == [aval(2)]
    assert ctx.platforms == ("cpu",) and ctx.platform == "cpu"
    assert ctx.name_stack == ("jit(fun)",)
    changed = ctx.replace(avals_in=(), platforms=("cuda",))
    assert changed.platform == "cuda" and changed.avals_in == () and ctx.platform == "cpu"


def test_rules_may_return_one_value():
    prim = by_rule("test_one", lambda ctx, x: hlo.negate(x))
    assert "stablehlo.negate" in text(lambda x: prim.bind(x), aval(2))


def test_rules_written_with_the_bindings():
    def rule(ctx, x, y):
        from jaxlib.mlir.dialects import stablehlo
        return stablehlo.AddOp(x, y).results

    prim = by_rule("test_bindings", rule)
    assert "stablehlo.add %arg0, %arg0" in text(lambda x: prim.bind(x, x), aval(2))


@pytest.mark.parametrize("result, error", [
    (lambda x: [x, x], "returned 2 values for 1 results"), (lambda x: None, "sequence")])
def test_wrong_results_of_rules(result, error):
    prim = by_rule("test_wrong", lambda ctx, x: result(x))
    with pytest.raises((ValueError, TypeError), match=f"test_wrong.*{error}"):
        lower(lambda x: prim.bind(x), aval(2))


def test_errors_of_rules_name_the_users_line():
    prim = by_rule("test_raises", lambda ctx, x: 1 / 0)
    outer = by_rule("test_outer", lower_fun(lambda x: [prim.bind(x)]))
    with pytest.raises(ZeroDivisionError) as caught:
        lower(lambda x: outer.bind(x), aval(2))
    (note,) = caught.value.__notes__
    assert "test_raises" in note and "test_emission.py" in note


def test_platforms_have_rules_of_their_own():
    prim = by_rule("test_platform", lambda ctx, x: [hlo.sine(x)])
    rules.register_lowering(prim, lambda ctx, x: [hlo.cosine(x)], "gpu")
    closed = close(lambda x: prim.bind(x), aval(2))
    assert "stablehlo.sine" in lower_jaxpr_to_module(closed, "f", ("cpu",)).as_text()
    assert "stablehlo.cosine" in lower_jaxpr_to_module(closed, "f", ("cuda",)).as_text()
    with pytest.raises(NotImplementedError, match="lower for each platform separately"):
        lower_jaxpr_to_module(closed, "f", ("cpu", "cuda"))


def test_platform_rules_override_elementwise_operations():
    prim = elementwise("test_override", "stablehlo.sine")
    rules.platform_lowerings.setdefault("test", {})[prim] = lambda ctx, x: [hlo.cosine(x)]
    closed = close(lambda x: prim.bind(x), aval(2))
    assert "stablehlo.cosine" in lower_jaxpr_to_module(closed, "f", ("test",)).as_text()
    assert "stablehlo.sine" in lower_jaxpr_to_module(closed, "f", ("cpu",)).as_text()


def test_missing_rule():
    prim = Primitive("test_missing")
    prim.def_abstract_eval(lambda x: x)
    rules.register_lowering(prim, lambda ctx, x: [x], "tpu")
    with pytest.raises(NotImplementedError, match=r"'test_missing' has no lowering rule for cpu \(it has .* tpu\)"):
        lower(lambda x: prim.bind(x), aval(2))


# --- rules made of functions ---------------------------------------------------------------------------------------

def test_lower_fun_inlines():
    rule = lower_fun(lambda x, *, n: add_p.bind(mul_p.bind(x, x), n), multiple_results=False)
    prim = by_rule("test_square_plus", rule)
    out = text(lambda x: prim.bind(prim.bind(x, n=1.0), n=2.0), aval(2))
    assert out.count("stablehlo.multiply") == 2 and "call" not in out


def test_lower_fun_closing_over_an_array():
    table = np.arange(3, dtype=np.float32)
    prim = by_rule("test_table", lower_fun(lambda x: [add_p.bind(x, table)]))
    assert "dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]>" in text(lambda x: prim.bind(x), aval(3))


def test_cached_rules_are_written_once():
    prim = by_rule("test_cached", cache_lowering(lower_fun(lambda x, *, n: [mul_p.bind(x, n)])))
    out = text(lambda x: prim.bind(prim.bind(prim.bind(x, n=2.0), n=2.0), n=3.0), aval(2))
    assert out.count("call @test_cached(") == 2 and out.count("call @test_cached_0(") == 1
    assert out.count("func.func private") == 2


# --- functions -----------------------------------------------------------------------------------------------------

call_p = Primitive("test_call", multiple_results=True)
call_p.abstract_cache = None
call_p.def_effectful_abstract_eval(lambda *avals, jaxpr, name: (jaxpr.out_avals, jaxpr.effects))
rules.register_lowering(call_p, lambda ctx, *xs, jaxpr, name: call_jaxpr(ctx, name, jaxpr, xs))


def test_jaxprs_are_written_once_and_called():
    inner = close(lambda x: sin_p.bind(x), aval(2))
    other = close(lambda x: sin_p.bind(x), aval(2))

    def fun(x):
        (y,) = call_p.bind(x, jaxpr=inner, name="inner")
        (z,) = call_p.bind(y, jaxpr=inner, name="inner")
        return call_p.bind(z, jaxpr=other, name="inner")

    out = text(fun, aval(2))
    assert out.count("call @inner(") == 2 and out.count("call @inner_0(") == 1
    assert out.count("stablehlo.sine") == 2


def test_names_of_functions_are_symbols():
    inner = close(lambda x: sin_p.bind(x), aval(2))
    out = text(lambda x: call_p.bind(x, jaxpr=inner, name="<lambda> 1"), aval(2))
    assert "@_lambda__1(" in out


def test_large_constants_travel_through_calls():
    big = np.arange(1000, dtype=np.float32)
    innermost = close(lambda x: add_p.bind(x, big), aval(1000))
    middle = close(lambda x: call_p.bind(x, jaxpr=innermost, name="innermost"), aval(1000))

    def fun(x):
        return call_p.bind(add_p.bind(x, big), jaxpr=middle, name="middle")

    lowered = lower(fun, aval(1000))
    out = lowered.as_text()
    assert "dense" not in out
    assert len(lowered.const_args) == 1 and lowered.const_args[0] is big
    assert "func.func public @main(%arg0: tensor<1000xf32>, %arg1: tensor<1000xf32>)" in out
    assert out.count("(%arg0: tensor<1000xf32>, %arg1: tensor<1000xf32>)") == 3


def test_small_constants_are_written_down():
    lowered = lower(lambda x: add_p.bind(x, np.array([1.0, 2.0], np.float32)), aval(2))
    assert not lowered.const_args
    assert "dense<[1.000000e+00, 2.000000e+00]>" in lowered.as_text()


# --- locations -----------------------------------------------------------------------------------------------------

def located(fun, *avals):
    return lower(fun, *avals).as_text(debug_info=True)


def test_locations_show_the_users_lines_and_scopes():
    def layer(x):
        with named_scope("layer"):
            return sin_p.bind(x)

    out = located(lambda x: layer(x), aval(2))
    assert '"jit(fun)/layer/test_sin"' in out
    assert '"test_locations_show_the_users_lines_and_scopes.<locals>.layer"' in out
    assert "test_emission.py" in out
    assert "_language" not in out and "_lowering/" not in out


def test_options_for_locations():
    def outer(x):
        return inner(x)

    def inner(x):
        return sin_p.bind(x)

    assert "callsite" in located(outer, aval(2))
    with include_full_tracebacks_in_locations(False):
        out = located(outer, aval(2))
    assert "callsite" not in out and "inner" in out and "outer" not in out.replace("test_", "")
    with traceback_in_locations_limit(0):
        assert "test_emission.py" not in located(outer, aval(2))


def test_operations_of_a_rule_have_the_equations_line():
    prim = by_rule("test_located", lower_fun(lambda x: [sin_p.bind(x)]))
    out = located(lambda x: prim.bind(x), aval(2))
    assert "trace_rule" not in out
    assert "test_sin" in out


# --- effects -------------------------------------------------------------------------------------------------------

class Ordered(Effect):
    def __repr__(self) -> str:
        return "Ordered"


class Forbidden(Effect):
    def __repr__(self) -> str:
        return "Forbidden"


ordered_effects.add_type(Ordered)
lowerable_effects.add_type(Ordered)
ORDERED = Ordered()


def effectful(name, effect, rule):
    prim = Primitive(name)
    prim.def_effectful_abstract_eval(lambda x: (x, {effect}))
    rules.register_lowering(prim, rule)
    return prim


def _ordered_rule(ctx, x):
    token = hlo.after_all([ctx.tokens_in.get(ORDERED)])
    ctx.set_tokens_out(TokenSet({ORDERED: token}))
    return [x]


def test_tokens_put_effects_in_order():
    prim = effectful("test_ordered", ORDERED, _ordered_rule)
    lowered = lower(lambda x: prim.bind(prim.bind(x)), aval(2))
    out = lowered.as_text()
    assert "stablehlo.create_token" in out
    assert "%1 = stablehlo.after_all %0" in out and "%2 = stablehlo.after_all %1" in out
    assert "@main(%arg0: tensor<0xi1>, %arg1: tensor<2xf32>) -> (tensor<0xi1>, tensor<2xf32>)" in out
    assert lowered.ordered_effects == [ORDERED] and not lowered.unordered_effects


def test_tokens_pass_through_calls():
    prim = effectful("test_ordered_inside", ORDERED, _ordered_rule)
    inner = close(lambda x: prim.bind(x), aval(2))

    def fun(x):
        (y,) = call_p.bind(x, jaxpr=inner, name="inner")
        return call_p.bind(prim.bind(y), jaxpr=inner, name="inner")

    out = text(fun, aval(2))
    assert "@inner(%arg0: !stablehlo.token, %arg1: tensor<2xf32>) -> (!stablehlo.token, tensor<2xf32>)" in out
    assert out.count("call @inner(") == 2 and "after_all %1#0" in out


def test_a_rule_that_forgets_its_tokens():
    prim = effectful("test_forgets", ORDERED, lambda ctx, x: [x])
    with pytest.raises(RuntimeError, match="test_forgets.*set_tokens_out"):
        lower(lambda x: prim.bind(x), aval(2))


def test_effects_that_cannot_be_compiled():
    prim = effectful("test_forbidden", Forbidden(), lambda ctx, x: [x])
    with pytest.raises(ValueError, match="Forbidden"):
        lower(lambda x: prim.bind(x), aval(2))


# --- extended dtypes -----------------------------------------------------------------------------------------------

class Pair(dtypes.ExtendedDType):
    """Pairs of 32-bit words."""

    __slots__ = ()
    name = "pair"
    type = dtypes.extended

    def physical_element_aval(self):
        return (2,), np.dtype(np.uint32)

    def unwrap(self, value):
        return value.words


class Pairs:
    """An array of pairs."""

    dtype = Pair()

    def __init__(self, words):
        self.words = np.asarray(words, np.uint32)


register_aval(Pairs, lambda x: ShapedArray(x.words.shape[:-1], x.dtype))

PAIR = Pairs.dtype


def test_types_of_extended_dtypes_are_physical():
    assert "tensor<3x2xui32>" in text(lambda x: x, ShapedArray((3,), PAIR))


def test_constants_of_extended_dtypes():
    small, large = Pairs([[1, 2]]), Pairs(np.ones((100, 2)))
    lowered = lower(lambda: [small, large])
    assert "dense<[[1, 2]]> : tensor<1x2xui32>" in lowered.as_text()
    assert lowered.const_args == [large.words] and lowered.captured == [large]


def test_structural_primitives_apply_to_extended_dtypes():
    flip_p = Primitive("test_flip")
    flip_p.def_abstract_eval(lambda x, *, axis: x)
    rules.register_lowering(flip_p, lambda ctx, x, axis: [hlo.reverse(x, (axis,))])
    rules.extended_by_batching.add(flip_p)

    def batch(args, dims, *, axis):
        # Moves the batch to the front, so that the result has to be put right.
        moved = front_p.bind(args[0])
        return flip_p.bind(moved, axis=axis + 1), 0

    front_p = Primitive("test_front")
    front_p.def_abstract_eval(lambda x: x.update(shape=(x.shape[-1], *x.shape[:-1])))
    rules.register_lowering(front_p, lambda ctx, x: [
        hlo.transpose(x, ctx.avals_out[0], (len(x.type.shape) - 1, *range(len(x.type.shape) - 1)))])
    language_rules.primitive_batchers[flip_p] = batch
    out = text(lambda x: flip_p.bind(x, axis=0), ShapedArray((3, 4), PAIR))
    assert "stablehlo.reverse %0, dims = [1] : tensor<2x3x4xui32>" in out
    assert "dims = [1, 2, 0] : (tensor<2x3x4xui32>) -> tensor<3x4x2xui32>" in out
    assert "stablehlo.reverse %arg0, dims = [0] : tensor<3x4xf32>" in text(lambda x: flip_p.bind(x, axis=0), aval(3, 4))


def test_closed_jaxprs_can_be_lowered_again():
    closed = close(lambda x: sin_p.bind(x), aval(2))
    assert isinstance(closed, ClosedJaxpr)
    first = lower_jaxpr_to_module(closed, "f", ("cpu",))
    text_of_first = first.as_text()
    first.release()
    with pytest.raises(RuntimeError, match="released"):
        first.as_bytecode()
    assert lower_jaxpr_to_module(closed, "f", ("cpu",)).as_text() == text_of_first
