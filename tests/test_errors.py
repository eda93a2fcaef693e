"""Exception classes: hierarchy, messages that are made when shown, what they name."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from jax import errors

pytestmark = pytest.mark.quick


class Traced:
    """What errors read of a tracer."""

    class aval:
        @staticmethod
        def str_short():
            return "float32[3]"

    def __init__(self):
        self.asked = 0

    def _origin_msg(self):
        self.asked += 1
        return "It depends on the argument x of f at model.py:7, which jit is tracing."


CONVERSIONS = {
    errors.ConcretizationTypeError: "static",
    errors.TracerBoolConversionError: "jnp.where",
    errors.TracerIntegerConversionError: "jax.lax.fori_loop",
    errors.TracerArrayConversionError: "jax.pure_callback",
    errors.NonConcreteBooleanIndexError: "size=n",
}


def raised(cls, *args):
    try:
        raise cls(*args)  # the user's line
    except cls as error:
        return error


@pytest.mark.parametrize(
    ("cls", "bases"),
    [
        (errors.JAXTypeError, [TypeError]),
        (errors.JAXIndexError, [IndexError]),
        (errors.ConcretizationTypeError, [errors.JAXTypeError]),
        (errors.TracerBoolConversionError, [errors.ConcretizationTypeError]),
        (errors.TracerIntegerConversionError, [errors.JAXTypeError]),
        (errors.TracerArrayConversionError, [errors.JAXTypeError]),
        (errors.NonConcreteBooleanIndexError, [errors.JAXIndexError]),
        (errors.UnexpectedTracerError, [errors.JAXTypeError]),
        (errors.KeyReuseError, [errors.JAXTypeError]),
        (errors.JaxprTypeError, [TypeError]),
        (errors.InconclusiveDimensionOperation, [Exception]),
        (errors.JaxRuntimeError, [RuntimeError]),
        (errors.SimplifiedTraceback, [Exception]),
    ],
)
def test_hierarchy(cls, bases):
    for base in bases:
        assert issubclass(cls, base)
    assert cls.__module__ == "jax.errors"
    assert cls.__name__ in errors.__all__
    assert cls.__doc__


def test_array_and_integer_errors_are_not_concretization_errors():
    assert not issubclass(errors.TracerArrayConversionError, errors.ConcretizationTypeError)
    assert not issubclass(errors.TracerIntegerConversionError, errors.ConcretizationTypeError)
    assert not issubclass(errors.NonConcreteBooleanIndexError, TypeError)


@pytest.mark.parametrize("cls", CONVERSIONS)
def test_messages_name_value_line_origin_and_remedy(cls):
    text = str(raised(cls, Traced()))
    assert "float32[3]" in text
    assert f"{__file__}:" in text and "(raised)" in text
    assert "raise cls(*args)  # the user's line" in text
    assert "the argument x of f at model.py:7" in text
    assert "Remedy: " in text and CONVERSIONS[cls] in text


def test_context_of_a_concretization_error():
    error = raised(errors.ConcretizationTypeError, Traced(), "The axis of a sum must be known.")
    assert "The axis of a sum must be known." in str(error)


@pytest.mark.parametrize("cls", CONVERSIONS)
def test_nothing_is_computed_before_the_message_is_shown(cls):
    tracer = Traced()
    error = raised(cls, tracer)
    assert tracer.asked == 0
    assert str(error) == str(error) == error.args[0]
    assert tracer.asked == 1


def test_a_shown_message_lets_the_tracer_go():
    tracer = Traced()
    alive = weakref.ref(tracer)
    error = errors.TracerBoolConversionError(tracer)
    str(error)
    del tracer
    gc.collect()
    assert alive() is None


def test_anything_can_be_the_culprit():
    assert "a value of type int" in str(errors.TracerArrayConversionError(3))


@pytest.mark.parametrize("cls", [*CONVERSIONS, errors.UnexpectedTracerError, errors.KeyReuseError])
def test_copies_and_pickles(cls):
    error = cls(Traced()) if cls in CONVERSIONS else cls("what happened")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert str(twin) == str(error)
        assert twin.args == error.args


@pytest.mark.parametrize(
    "cls", [errors.JAXTypeError, errors.JAXIndexError, errors.KeyReuseError, errors.UnexpectedTracerError]
)
def test_plain_messages(cls):
    assert str(cls("what happened")) == "what happened"
    assert cls(lambda: "made later").args == ("made later",)
    assert repr(cls("what happened")) == f"{cls.__name__}('what happened')"


def test_the_message_can_be_extended():
    error = errors.TracerBoolConversionError(Traced())
    error.args = (error.args[0] + "\nin layer 3",)
    assert str(error).endswith("in layer 3")
    error.args = ("two", "parts")
    assert str(error) == "('two', 'parts')"


def test_keyword_names():
    assert str(errors.UnexpectedTracerError(msg="m")) == "m"
    assert str(errors.JAXTypeError(message="m")) == "m"
    assert "context" in str(errors.ConcretizationTypeError(tracer=Traced(), context="context"))


def test_the_checker_of_jaxprs_raises_the_public_class():
    import jax
    from jax.extend.core import check_jaxpr

    closed = jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2)(1.0)
    with pytest.raises(errors.JaxprTypeError, match="used before it is bound"):
        check_jaxpr(closed.jaxpr.replace(eqns=closed.jaxpr.eqns[1:]))


@pytest.mark.parametrize("kind, leave", [
    ("TracerArrayConversionError", np.sin), ("TracerArrayConversionError", np.asarray),
    ("ConcretizationTypeError", float), ("ConcretizationTypeError", complex),
    ("ConcretizationTypeError", lambda x: x.tolist()),
])
@pytest.mark.parametrize("value", [2.0, np.float32(2.0)], ids=["python", "numpy"])
def test_differentiated_values_do_not_leave_as_constants(kind, leave, value):
    import jax

    with pytest.raises(getattr(errors, kind), match=r"being differentiated.*stop_gradient") as info:
        jax.grad(lambda x: x * leave(x).real)(value)
    assert type(info.value).__name__ == kind
    with pytest.raises(getattr(errors, kind), match="being differentiated"):
        jax.jvp(lambda x: x * leave(x), (value,), (value,))


def test_what_has_no_derivative_leaves_when_it_is_known():
    import jax

    assert jax.grad(lambda x: x * float(jax.lax.stop_gradient(x)))(2.0) == 2
    assert jax.grad(lambda x: x * np.asarray(jax.lax.stop_gradient(x)))(2.0) == 2
    assert jax.grad(lambda x: x * np.asarray(x.astype(int)))(jax.numpy.float32(2)) == 2
    assert jax.grad(lambda x: x ** int(x) if x > 1 else x)(2.0) == 4
    assert jax.grad(lambda x: x * float(f"{x:.1f}"))(jax.numpy.float32(2)) == 2
