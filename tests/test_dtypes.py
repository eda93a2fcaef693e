"""Element types: canonical widths, categories and promotion.

Truth: the recorded promotion tables (``data/promotion.json``), recorded facts (``data/dtype_facts.json``), NumPy and
ml_dtypes.
"""

import itertools
import json
import pathlib
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jax import dtypes, typing
from jax._base.config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion

DATA = pathlib.Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "promotion.json").read_text())
FACTS = json.loads((DATA / "dtype_facts.json").read_text())
WEAK = {"i*": int, "f*": float, "c*": complex, "b*": bool}
NAMES = sorted(FACTS["issubdtype"])


def spec(name):
    return WEAK[name] if name in WEAK else np.dtype(name)


def outcome(fun):
    """What ``fun`` returns as a name with * for weak, or the name of the error's class."""
    try:
        d, weak = fun()
    except ValueError as error:
        return type(error).__name__
    return str(d) + ("*" if weak else "")


class Key(dtypes.ExtendedDType):
    """A dtype such as that of typed keys: two words per element."""

    __slots__ = ("name",)
    itemsize = 8
    type = dtypes.prng_key

    def __init__(self, name):
        self.name = name

    def physical_element_aval(self):
        return (2,), np.dtype("uint32")

    def __eq__(self, other):
        return type(other) is Key and other.name == self.name

    def __hash__(self):
        return hash(self.name)


# --- promotion -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_golden_promotion(mode):
    wrong = {}
    with enable_x64(GOLDEN["x64"]), numpy_dtype_promotion(mode):
        for pair, (name, weak) in GOLDEN["table"][mode].items():
            args = map(spec, pair.split(","))
            got = outcome(lambda args=args: dtypes.result_type(*args, return_weak_type_flag=True))
            if got != name + ("*" if weak else ""):
                wrong[pair] = got
    assert not wrong


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_result_type_while_64_bit_types_are_off(mode):
    wrong = {}
    with enable_x64(False), numpy_dtype_promotion(mode), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair, expected in FACTS[f"result_type x64=off {mode}"].items():
            args = [spec(name) for name in pair.split(",")]
            for order in (args, args[::-1]):
                got = outcome(lambda order=order: dtypes.result_type(*order, return_weak_type_flag=True))
                if got != expected:
                    wrong[pair] = (got, expected)
    assert not wrong


@pytest.mark.parametrize("x64", [False, True])
def test_promote_types(x64):
    table = FACTS[f"promote_types x64={'on' if x64 else 'off'}"]
    wrong = {}
    with enable_x64(x64):
        for pair, expected in table.items():
            a, b = map(spec, pair.split(","))
            got = outcome(lambda a=a, b=b: (dtypes.promote_types(a, b), False))
            if got != expected:
                wrong[pair] = (got, expected)
    assert not wrong


def test_result_type_of_several():
    wrong = {}
    with enable_x64(True):
        for names, expected in FACTS["result_type x64=on several"].items():
            args = [spec(name) for name in names.split(",")]
            got = outcome(lambda args=args: dtypes.result_type(*args, return_weak_type_flag=True))
            if got != expected:
                wrong[names] = (got, expected)
    assert not wrong


def test_weak_operands_keep_their_width():
    wrong = {}
    with enable_x64(False):
        for names, expected in FACTS["operands standard"].items():
            entries = tuple((np.dtype(n.strip("*")), "*" in n) for n in names.split(","))
            got = outcome(lambda entries=entries: dtypes.promote_entries(entries))
            if got != expected:
                wrong[names] = (got, expected)
    assert not wrong


PROMOTABLE = [
    "bool",
    "uint8",
    "uint32",
    "int8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "int4",
    "float8_e5m2",
    "i*",
    "f*",
    "c*",
]


@given(st.lists(st.sampled_from(PROMOTABLE), min_size=2, max_size=5), st.randoms(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_result_type_does_not_depend_on_order_or_repetition(names, random, x64):
    shuffled = [*names, random.choice(names)]
    random.shuffle(shuffled)

    def result(of):
        return outcome(lambda: dtypes.result_type(*map(spec, of), return_weak_type_flag=True))

    with enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert result(names) == result(shuffled)


@given(st.lists(st.sampled_from([n for n in PROMOTABLE if n not in WEAK]), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_result_holds_the_values_of_small_operands(names):
    """1 survives in every dtype that arguments are promoted to, and nothing is demoted in kind."""
    order = [bool, int, float, complex]
    with enable_x64(True):
        try:
            d = dtypes.result_type(*map(spec, names))
        except dtypes.TypePromotionError:
            return
        kinds = [order.index(dtypes.scalar_type_of(np.dtype(n))) for n in names]
        assert order.index(dtypes.scalar_type_of(d)) >= max(kinds)
        assert np.ones((), d) == 1


def test_result_type_arguments():
    class Spec:
        dtype, weak_type = np.dtype("float16"), True

    class Convertible:
        def __jax_array__(self):
            return np.int8(3)

    with enable_x64(False):
        assert dtypes.result_type(1) == np.int32
        assert dtypes.result_type(None) == np.float32
        assert dtypes.result_type(np.ones(2), 1) == np.float32
        assert dtypes.result_type(np.float64(1), np.int8(2)) == np.float32
        assert dtypes.result_type("int8", "float16") == np.float16
        assert dtypes.result_type(True, 1, return_weak_type_flag=True) == (np.int32, True)
        assert dtypes.result_type(True, return_weak_type_flag=True) == (np.bool_, False)
        assert dtypes.result_type(float, np.int8, return_weak_type_flag=True) == (np.float32, True)
        assert dtypes.result_type(Spec(), np.dtype("bfloat16")) == dtypes.bfloat16
        assert dtypes.result_type(Convertible()) == np.int8
        assert dtypes.result_type(dtypes.float0, dtypes.float0) == dtypes.float0
        assert dtypes.result_type(2**70) == np.int32


def test_operands_that_are_alike_need_no_promotion():
    for mode in ("standard", "strict"):
        with numpy_dtype_promotion(mode):
            for entry in [
                (np.dtype("int8"), True),
                (np.dtype("int4"), False),
                (dtypes.float0, False),
                (Key("k"), False),
            ]:
                assert dtypes.promote_entries((entry,) * 3) == entry


@pytest.mark.parametrize(("arguments", "error", "words"), [
    ((), ValueError, "at least one"),
    (([1, 2], 1), TypeError, r"\[1, 2\] of type list"),
    ((object(),), TypeError, "has no dtype"),
    (("foo",), TypeError, "foo"),
    ((np.array("text"),), TypeError, "not a valid JAX array type"),
    ((np.array(["2020-01-01"], "datetime64[D]"),), TypeError, "datetime64"),
    ((np.ones(2, ">i4"),), TypeError, ">i4"),
    ((dtypes.float0, np.float32), ValueError, "float0"),
    ((np.dtype("int4"), np.int8), dtypes.TypePromotionError, r"int4, int8: 4-bit integers .*astype\('int32'\)"),
    ((np.dtype("float8_e5m2"), np.float32), dtypes.TypePromotionError, r"8-bit floats .*astype\('float32'\)"),
    ((np.dtype("int4"), 1.0), dtypes.TypePromotionError, "float scalar"),
])  # fmt: skip
def test_result_type_errors(arguments, error, words):
    with pytest.raises(error, match=words):
        dtypes.result_type(*arguments)


def test_strict_error_names_the_operands_and_the_way_out():
    with numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError) as info:
        dtypes.result_type(np.int8, 1.0)
    assert all(word in str(info.value) for word in ("int8", "float scalar", "astype", "'standard'"))


def test_extended_dtypes_combine_only_with_themselves():
    class Keys:
        dtype = Key("a")

    assert dtypes.result_type(Keys(), Keys(), return_weak_type_flag=True) == (Key("a"), False)
    with pytest.raises(ValueError, match="a does not take part in type promotion.*int32"):
        dtypes.result_type(Keys(), np.int32(1))
    with pytest.raises(ValueError, match="derivatives of integers"):
        dtypes.result_type(np.zeros(2, dtypes.float0), np.int32(1))


# --- canonical widths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "on", "off"), [
    (int, "int64", "int32"), (float, "float64", "float32"), (complex, "complex128", "complex64"),
    (bool, "bool", "bool"), (None, "float64", "float32"), ("int64", "int64", "int32"),
    (np.uint64, "uint64", "uint32"), (np.dtype("complex128"), "complex128", "complex64"),
    (np.longlong, "int64", "int32"), ("bfloat16", "bfloat16", "bfloat16"), (ml_dtypes.int4, "int4", "int4"),
    ("int8", "int8", "int8"),
])  # fmt: skip
def test_canonicalize_dtype(asked, on, off):
    for x64, expected in ((True, on), (False, off)):
        with enable_x64(x64):
            for _ in range(2):  # from the argument, then from the table
                d = dtypes.canonicalize_dtype(asked)
                assert d == np.dtype(expected)
                assert isinstance(d, np.dtype)


def test_equal_dtypes_become_one_object():
    assert dtypes.as_dtype(np.longlong) is np.dtype("int64")
    with enable_x64(True):
        assert dtypes.canonicalize_dtype(np.dtype("longlong")) is np.dtype("int64")


def test_canonicalize_extended():
    key = Key("k")
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) is key
    for d in (key, dtypes.prng_key):
        with pytest.raises(ValueError, match="extended dtype"):
            dtypes.canonicalize_dtype(d)
    with pytest.raises(TypeError, match="foo"):
        dtypes.canonicalize_dtype("foo")


def test_as_dtype_reads_classes_with_a_dtype():
    class Scalar:
        dtype = np.dtype("float16")

    assert dtypes.as_dtype(Scalar) == np.float16
    assert dtypes.dtype(Scalar) == np.float16
    assert dtypes.canonicalize_dtype(Scalar) == np.float16
    assert dtypes.as_dtype(Key("k")) == Key("k")
    with pytest.raises(TypeError, match=r"dtype=x\.dtype"):
        dtypes.as_dtype(np.ones(3))
    with pytest.raises(TypeError, match="category"):
        dtypes.as_dtype(dtypes.prng_key)


def test_dtype_of_values_and_specifications():
    with enable_x64(False):
        assert dtypes.dtype(1) == dtypes.dtype(int) == np.int32
        assert dtypes.dtype(True) == np.bool_
        assert dtypes.dtype(1j) == np.complex64
        assert dtypes.dtype(np.ones(2)) == np.float32
        assert dtypes.dtype("int64") == np.int64
        assert dtypes.dtype(np.dtype("int64")) == np.int64
    with enable_x64(True):
        assert dtypes.dtype(1.0) == dtypes.dtype(np.float64(2)) == np.float64
    with pytest.raises(TypeError, match="list has no dtype"):
        dtypes.dtype([1])


@pytest.mark.parametrize(
    "asked", ["int64", np.float64, np.dtype("complex128"), "uint64", "float", np.longlong]
)
def test_explicit_wide_request_is_answered_as_configured(asked):
    wide = np.dtype(asked)
    narrow = np.dtype(wide.name.replace("64", "32").replace("128", "64"))
    with enable_x64(False):
        with pytest.warns(
            UserWarning, match=f"{wide} in zeros is not available.*truncated to dtype {narrow}"
        ) as w:
            assert dtypes.requested_dtype(asked, "zeros") == narrow
        assert w[0].filename == __file__
        with explicit_x64_dtypes("error"), pytest.raises(ValueError, match="jax_enable_x64"):
            dtypes.requested_dtype(asked, "zeros")
        with explicit_x64_dtypes("allow"):
            assert dtypes.requested_dtype(asked, "zeros") == wide
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.requested_dtype(asked, "zeros") == wide


def test_default_width_is_asked_for_silently():
    with enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [dtypes.requested_dtype(t) for t in (int, float, complex, bool, None)] == [
            np.int32,
            np.float32,
            np.complex64,
            np.bool_,
            np.float32,
        ]
        assert dtypes.requested_dtype("int32") == np.int32
        assert dtypes.requested_dtype(Key("k")) == Key("k")


@pytest.mark.parametrize("asked", ["U3", object, np.longdouble, ">i4", "datetime64[s]"])
def test_request_for_what_devices_lack(asked):
    with pytest.raises(TypeError, match="zeros has no counterpart on devices"):
        dtypes.requested_dtype(asked, "zeros")


# --- categories ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_categories(name):
    d = np.dtype(name)
    categories = (
        "generic number inexact floating integer signedinteger unsignedinteger complexfloating bool_ "
        "float32 int8"
    ).split()
    assert [c for c in categories if dtypes.issubdtype(d, getattr(np, c))] == FACTS["issubdtype"][name]
    kinds = [
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    ]
    assert [k for k in kinds if dtypes.isdtype(d, k)] == FACTS["isdtype"][name]
    assert dtypes.itemsize_bits(name) == FACTS["itemsize_bits"][name]


def test_issubdtype_agrees_with_numpy_on_its_types():
    types = [
        np.generic,
        np.number,
        np.integer,
        np.inexact,
        np.floating,
        np.complexfloating,
        np.bool_,
        np.int8,
        np.uint16,
        np.float16,
        np.float64,
        np.complex64,
        bool,
        int,
        float,
        complex,
        "float32",
        "i4",
    ]
    for a, b in itertools.product(types, types):
        assert dtypes.issubdtype(a, b) == np.issubdtype(a, b), (a, b)


def test_issubdtype_of_extended_types():
    assert dtypes.issubdtype(Key("k"), dtypes.prng_key)
    assert dtypes.issubdtype(Key("k"), dtypes.extended)
    assert dtypes.issubdtype(Key("k"), np.generic)
    assert dtypes.issubdtype(dtypes.prng_key, dtypes.extended)
    assert dtypes.issubdtype(Key("k"), Key("k"))
    for other in (Key("l"), np.integer, np.dtype("int32"), "int32", int):
        assert not dtypes.issubdtype(Key("k"), other)
    for d in (np.int32, "float32", dtypes.float0):
        assert not dtypes.issubdtype(d, dtypes.extended)
        assert not dtypes.issubdtype(d, Key("k"))
    with pytest.raises(TypeError):
        dtypes.issubdtype(3, float)


def test_isdtype_of_dtypes_and_tuples():
    assert dtypes.isdtype("int8", np.int8)
    assert dtypes.isdtype("int8", ("bool", np.dtype("int8")))
    assert not dtypes.isdtype("float32", ("integral", "complex floating"))
    assert dtypes.isdtype(float, "real floating")
    assert not dtypes.isdtype(Key("k"), "integral")
    with pytest.raises(ValueError, match="'foo' is not known.*'numeric'"):
        dtypes.isdtype("int8", "foo")
    for kind in (5, np.integer):
        with pytest.raises(TypeError, match="kind must be"):
            dtypes.isdtype("int8", kind)


@pytest.mark.parametrize("bad", [None, dtypes.float0, Key("k"), object])
def test_itemsize_bits_refuses(bad):
    with pytest.raises(ValueError, match="itemsize_bits"):
        dtypes.itemsize_bits(bad)


@pytest.mark.parametrize(("x", "expected"), [
    (1, int), (True, bool), (1.0, float), (1j, complex), (np.ones(2, "int8"), int), (np.float32, float),
    (int, int), (np.dtype("bfloat16"), float), (np.dtype("int4"), int), (np.bool_(1), bool), (float, float),
])  # fmt: skip
def test_scalar_type_of(x, expected):
    assert dtypes.scalar_type_of(x) is expected


def test_scalar_type_of_refuses():
    for bad in (None, [1], dtypes.float0, Key("k"), object):
        with pytest.raises(TypeError):
            dtypes.scalar_type_of(bad)


def test_weak_types():
    class Weak:
        weak_type = True

    assert [
        dtypes.is_weakly_typed(x) for x in (1, 1.0, 1j, True, np.float64(1), np.ones(1), "a", Weak())
    ] == [True, True, True, False, False, False, False, True]
    assert [dtypes.is_python_scalar(x) for x in (1, True, np.float64(1), np.int8(1), "1")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_derived_dtypes():
    with enable_x64(False):
        assert [
            dtypes.tangent_dtype(np.dtype(n)) for n in ("float32", "bfloat16", "complex64", "float8_e5m2")
        ] == [np.float32, dtypes.bfloat16, np.complex64, ml_dtypes.float8_e5m2]
        for d in (np.dtype("int32"), np.dtype(bool), np.dtype("int4"), dtypes.float0, Key("k")):
            assert dtypes.tangent_dtype(d) == dtypes.float0
        names = ("bool", "int4", "bfloat16", "float16", "float32", "complex64", "float8_e4m3fn")
        assert [str(dtypes.to_complex_dtype(n)) for n in names] == ["complex64"] * len(names)
        assert dtypes.to_complex_dtype("float64") == np.complex128
        assert dtypes.to_inexact_dtype("int8") == np.float32
        assert dtypes.to_inexact_dtype("bfloat16") == dtypes.bfloat16
        assert [str(dtypes.to_real_dtype(n)) for n in ("complex64", "complex128", "int8")] == [
            "float32",
            "float64",
            "int8",
        ]
    with enable_x64(True):
        narrow = ("bool", "int4", "int8", "uint8", "int16", "uint16", "int32", "uint32")
        assert {str(dtypes.to_inexact_dtype(n)) for n in narrow} == {"float32"}
        assert {str(dtypes.to_inexact_dtype(n)) for n in ("int64", "uint64", int, float)} == {"float64"}
        assert dtypes.to_complex_dtype(int) == np.complex128


def test_formats_without_infinity():
    finite = {
        n
        for n in NAMES
        if np.dtype(n) != np.bool_
        and dtypes.isdtype(np.dtype(n), "real floating")
        and not dtypes.supports_inf(n)
    }
    assert {
        "float8_e4m3fn",
        "float8_e4m3b11fnuz",
        "float8_e5m2fnuz",
        "float8_e4m3fnuz",
        "float4_e2m1fn",
    } <= finite
    assert not finite & {
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "float8_e5m2",
        "float8_e4m3",
        "float8_e3m4",
    }
    assert not dtypes.supports_inf("int32")
    assert dtypes.supports_inf("complex64")


@pytest.mark.parametrize(("d", "short"), [
    ("float32", "f32"), ("int8", "i8"), ("uint4", "u4"), ("bfloat16", "bf16"), ("complex64", "c64"), ("bool", "bool"),
    ("float8_e4m3fn", "f8_e4m3fn"), (dtypes.float0, "float0"), (Key("key<fry>"), "key<fry>"),
])  # fmt: skip
def test_short_names(d, short):
    assert dtypes.short_name(np.dtype(d) if isinstance(d, str) else d) == short


def test_finfo_and_iinfo():
    assert dtypes.finfo("bfloat16").bits == 16
    assert dtypes.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert dtypes.finfo("complex64").dtype == np.float32
    assert (dtypes.iinfo("int4").min, dtypes.iinfo("int4").max) == (-8, 7)
    with pytest.raises(ValueError):
        dtypes.iinfo(float)


# --- scalars -------------------------------------------------------------------------------------------------


def test_scalars_become_arrays_of_their_canonical_dtype():
    with enable_x64(False):
        for x, name in ((1, "int32"), (1.5, "float32"), (1j, "complex64"), (True, "bool")):
            a = dtypes.scalar_to_numpy(x)
            assert (a.shape, a.dtype, a[()]) == ((), np.dtype(name), x)
    assert dtypes.scalar_to_numpy(3, np.dtype("int4")) == 3
    assert dtypes.scalar_to_numpy(2**70, np.dtype("float32")) == np.float32(2.0**70)


@pytest.mark.parametrize("bound", [2**31, -(2**31) - 1])
def test_an_integer_that_does_not_fit_is_never_wrapped(bound):
    with (
        enable_x64(False),
        pytest.raises(OverflowError, match=f"{bound} for argument 'n' of fill .*jax_enable_x64"),
    ):
        dtypes.scalar_to_numpy(bound, name="n", where="fill")
    with enable_x64(True):
        assert dtypes.scalar_to_numpy(bound) == bound
        with pytest.raises(OverflowError, match="does not fit int64") as info:
            dtypes.scalar_to_numpy(2**63)
        assert "jax_enable_x64" not in str(info.value)


def test_narrow_integer_bounds():
    with pytest.raises(OverflowError, match="-8 to 7"):
        dtypes.scalar_to_numpy(8, np.dtype("int4"))
    with pytest.raises(OverflowError, match="uint8"):
        dtypes.scalar_to_numpy(-1, np.dtype("uint8"))


# --- the module ----------------------------------------------------------------------------------------------


def test_extended_dtype_base_class():
    class Bare(dtypes.ExtendedDType):
        __slots__ = ()
        name, itemsize, type = "bare", 4, dtypes.extended

    bare = Bare()
    assert (repr(bare), bare.short_name(), bare.dtype) == ("bare", "bare", bare)
    assert bare.tangent_dtype == dtypes.float0
    for method, arguments in (
        ("physical_element_aval", ()),
        ("wrap", (0,)),
        ("unwrap", (0,)),
        ("zeros", ((),)),
    ):
        with pytest.raises(NotImplementedError):
            getattr(bare, method)(*arguments)


def test_annotations_list_what_is_accepted():
    accepted = typing.ArrayLike.__args__
    assert {bool, int, float, complex, np.ndarray, np.bool_, np.number} <= set(accepted)
    assert list not in accepted
    assert str in typing.DTypeLike.__args__
    assert isinstance(np.ones(1), typing.SupportsDType)
