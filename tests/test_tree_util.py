"""Pytrees: flattening, mapping, key paths, registration, messages about mismatches."""

import collections
import dataclasses
import functools
import operator
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jax import _tree_compare, tree
from jax import tree_util as tu


class Point(NamedTuple):
    x: object
    y: object


class Plain:
    """Registered without keys."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __eq__(self, other):
        return type(other) is Plain and (other.a, other.b) == (self.a, self.b)


tu.register_pytree_node(Plain, lambda p: ((p.a, p.b), "meta"), lambda _, children: Plain(*children))


class Keyed:
    def __init__(self, a, b):
        self.a, self.b = a, b


tu.register_pytree_with_keys(
    Keyed,
    lambda k: (((tu.GetAttrKey("a"), k.a), ("second", k.b)), None),
    lambda _, children: Keyed(*children),
)


@tu.register_pytree_node_class
class Methods:
    def __init__(self, a, name):
        self.a, self.name = a, name

    def tree_flatten(self):
        return (self.a,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


@tu.register_pytree_with_keys_class
class KeyedMethods:
    def __init__(self, a):
        self.a = a

    def tree_flatten_with_keys(self):
        return ((tu.GetAttrKey("a"), self.a),), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    name: str = tree.static(default="layer")
    b: object = 0


@tu.register_static
@dataclasses.dataclass(frozen=True)
class Setting:
    value: int


EXAMPLES = [
    (3, [3], "*"),
    (None, [], "None"),
    ((), [], "()"),
    ((1, [2, {"b": 3, "a": 4}]), [1, 2, 4, 3], "(*, [*, {'a': *, 'b': *}])"),
    (Point(1, (2,)), [1, 2], "CustomNode(namedtuple[Point], [*, (*,)])"),
    (collections.OrderedDict([("z", 1), ("a", 2)]), [1, 2], "CustomNode(OrderedDict[('z', 'a')], [*, *])"),
    (collections.defaultdict(list, b=1, a=2), [2, 1], "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])"),
    (Plain(1, None), [1], "CustomNode(Plain[meta], [*, None])"),
    (Layer(1, "n", 2), [1, 2], "CustomNode(Layer[('n',)], [*, *])"),
    (Setting(3), [], "CustomNode(Setting[Setting(value=3)], [])"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "leaves", "text"), EXAMPLES, ids=lambda e: str(e)[:30])
def test_flatten_and_unflatten(value, leaves, text):
    got, treedef = tu.tree_flatten(value)
    assert got == leaves
    assert str(treedef) == f"PyTreeDef({text})"
    assert tu.tree_leaves(value) == leaves
    assert tu.tree_structure(value) == treedef
    assert tu.tree_unflatten(treedef, leaves) == value
    assert type(tu.tree_unflatten(treedef, iter(leaves))) is type(value)
    assert [leaf for _, leaf in tu.tree_leaves_with_path(value)] == leaves
    assert tu.tree_flatten_with_path(value)[1] == treedef
    assert tu.is_tree_node(type(value)) == (type(value) is not int)


def test_is_leaf():
    value = [(1, 2), {"a": (3,)}, None]
    assert tu.tree_leaves(value, is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), (3,)]
    assert tu.tree_leaves(value, is_leaf=lambda x: x is None) == [1, 2, 3, None]
    assert tu.tree_leaves(value, is_leaf=lambda x: True) == [value]
    by_depth = tu.tree_leaves_with_path(
        value, is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True
    )
    assert [x for _, x in by_depth] == [(1, 2), {"a": (3,)}, None]
    assert [x for _, x in tu.tree_leaves_with_path(value, lambda x: isinstance(x, tuple))] == [(1, 2), (3,)]


@pytest.mark.parametrize(("count", "word"), [(1, "few"), (3, "many")])
def test_unflatten_counts_leaves(count, word):
    with pytest.raises(ValueError, match=f"Too {word} leaves"):
        tu.tree_unflatten(tu.tree_structure([0, 0]), [0] * count)


def test_unflatten_wants_the_structure_first():
    with pytest.raises(TypeError, match="takes a PyTreeDef, then the leaves; the first argument is a list"):
        tu.tree_unflatten([1, 2], tu.tree_structure([0, 0]))


def test_keys_that_cannot_be_sorted_are_located():
    with pytest.raises(ValueError, match=r"dict at key path \[1\]\['a'\] .*int, str.*OrderedDict"):
        tu.tree_flatten([0, {"a": {1: 2, "b": 3}}])


# --- key paths -----------------------------------------------------------------------------------------------

DEEP = [{"a": 1, "b": (2, None, Point(3, 4))}, collections.OrderedDict(z=1), Plain(5, 6), Keyed(7, 8),
        Layer(9), KeyedMethods(10), Methods(11, "m"), collections.defaultdict(int, q=12)]  # fmt: skip
PATHS = ["[0]['a']", "[0]['b'][0]", "[0]['b'][2].x", "[0]['b'][2].y", "[1]['z']", "[2][<flat index 0>]",
         "[2][<flat index 1>]", "[3].a", "[3]second", "[4].w", "[4].b", "[5].a", "[6][<flat index 0>]",
         "[7]['q']"]  # fmt: skip


def test_key_paths():
    pairs = tu.tree_leaves_with_path(DEEP)
    assert [tu.keystr(path) for path, _ in pairs] == PATHS
    assert pairs[2] == ((tu.SequenceKey(0), tu.DictKey("b"), tu.SequenceKey(2), tu.GetAttrKey("x")), 3)
    assert pairs[5][0][1] == tu.FlattenedIndexKey(0)
    slashed = [tu.keystr(path, simple=True, separator="/") for path, _ in pairs]
    assert slashed[:8] == ["0/a", "0/b/0", "0/b/2/x", "0/b/2/y", "1/z", "2/0", "2/1", "3/a"]
    assert slashed[8] == "3/second"
    assert tu.keystr(pairs[0][0], separator=".") == "[0].['a']"
    assert tu.keystr(()) == ""
    assert {tu.SequenceKey(1): 1}[tu.SequenceKey(1)] == 1


def test_flatten_one_level():
    assert tu.flatten_one_level({"b": [1], "a": 2}) == ((2, [1]), ("a", "b"))
    assert list(tu.flatten_one_level(Plain(1, (2, 3)))[0]) == [1, (2, 3)]
    assert tu.flatten_one_level(None) == ((), None)
    pairs, _ = tu.flatten_one_level_with_keys(Point(1, [2]))
    assert list(pairs) == [(tu.GetAttrKey("x"), 1), (tu.GetAttrKey("y"), [2])]
    assert list(tu.flatten_one_level_with_keys([5])[0]) == [(tu.SequenceKey(0), 5)]
    for fun in (tu.flatten_one_level, tu.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="3 is a leaf"):
            fun(3)


def test_is_tree_node_of_what_is_no_class():
    assert not tu.is_tree_node(3)
    assert not tu.is_tree_node(np.ndarray)


def test_all_leaves():
    assert tu.all_leaves([1, "a", np.ones(2)])
    assert not tu.all_leaves([1, (2,)])
    assert not tu.all_leaves([None])
    assert tu.all_leaves(iter([(1,), 2]), is_leaf=lambda x: isinstance(x, tuple))
    assert not tu.all_leaves([(1,), [2]], is_leaf=lambda x: isinstance(x, tuple))


# --- mapping -------------------------------------------------------------------------------------------------


def test_tree_map():
    assert tu.tree_map(operator.neg, {"a": (1, None), "b": [2]}) == {"a": (-1, None), "b": [-2]}
    assert tu.tree_map(lambda *x: x, (1, 2), ([3], {"k": 4}), (None, 6)) == ((1, [3], None), (2, {"k": 4}, 6))
    assert tu.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]
    assert tu.tree_map(lambda x, y: (x, y), None, None) is None
    assert tu.tree_map(lambda x: x + 1, Layer(1)) == Layer(2, b=1)
    assert list(tu.tree_map(lambda x: x, collections.OrderedDict(b=1, a=2))) == ["b", "a"]
    mapped = tu.tree_map(lambda x: x + 1, collections.defaultdict(int, a=1))
    assert mapped == {"a": 2} and mapped.default_factory is int


def test_tree_map_passes_on_errors_of_the_function():
    with pytest.raises(ZeroDivisionError):
        tu.tree_map(lambda x, y: x / y, [1], [0])


def test_tree_map_with_path():
    got = tu.tree_map_with_path(lambda path, x, y: (tu.keystr(path), x, y), {"a": (1, 2)}, {"a": ((3, 4), 5)})
    assert got == {"a": (("['a'][0]", 1, (3, 4)), ("['a'][1]", 2, 5))}
    got = tu.tree_map_with_path(lambda path, x: len(x), {"a": (1, 2)}, is_leaf=lambda x: isinstance(x, tuple))
    assert got == {"a": 2}
    got = tu.tree_map_with_path(
        lambda path, x: x, {"a": (1, 2)}, is_leaf=lambda p, _: len(p) == 1, is_leaf_takes_path=True
    )
    assert got == {"a": (1, 2)}


@pytest.mark.parametrize(("first", "second", "words"), [
    ((1, 2), (1, 2, 3), "at the root, the first tree has a tuple of length 2 and tree 2 has one of length 3"),
    ((1, 2), [1, 2], "at the root.*tuple of length 2.*list of length 2"),
    ({"a": 1, "c": 0}, {"b": 2, "c": 0}, r"keys \['a', 'c'\].*\['b', 'c'\] \(missing: 'a'; unexpected: 'b'\)"),
    ({"a": 1}, None, "dict of length 1 and tree 2 has None"),
    (None, 1, r"None and tree 2 has a leaf \(int\)"),
    ({"a": {"b": (1, 2)}}, {"a": {"b": (1, 2, 3)}}, r"at key path \['a'\]\['b'\], "),
    ([1, Point(1, 2)], [1, (1, 2)], r"at key path \[1\].*Point of length 2 .*a tuple of length 2"),
    ([Layer(1, "p")], [Layer(1, "q")], r"at key path \[0\].*metadata \('p',\).*metadata \('q',\)"),
    (Layer((1, 2)), Layer((1,)), r"at key path \.w"),
    (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=1, a=2), "order of the keys"),
])  # fmt: skip
def test_mismatch_messages(first, second, words):
    with pytest.raises(ValueError, match=f"^tree_map: .*{words}"):
        tu.tree_map(lambda *x: x, first, second)
    with pytest.raises(ValueError, match=f"^tree_map_with_path: .*{words}"):
        tu.tree_map_with_path(lambda *x: x, first, second)
    with pytest.raises(ValueError, match="^tree_map: .*tree 3"):
        tu.tree_map(lambda *x: x, first, first, second)


def test_mismatch_respects_is_leaf():
    def is_tuple(x):
        return isinstance(x, tuple)

    with pytest.raises(ValueError, match=r"at key path \[1\]"):
        tu.tree_map(lambda *x: x, [(1, 2), [3]], [5, 6], is_leaf=is_tuple)


# --- reducing and transposing --------------------------------------------------------------------------------


def test_tree_reduce():
    assert tu.tree_reduce(operator.sub, (10, [1, 2])) == 7
    assert tu.tree_reduce(operator.add, (1, 2), 10) == 13
    assert tu.tree_reduce(operator.add, (), None) is None
    assert tu.tree_reduce(operator.add, [(1,), (2,)], is_leaf=lambda x: isinstance(x, tuple)) == (1, 2)
    with pytest.raises(TypeError):
        tu.tree_reduce(operator.add, ())


def test_tree_reduce_associative():
    def paired(a, b):
        return f"({a}{b})"

    assert tu.tree_reduce_associative(paired, list("abcdefg")) == "((a(bc))((de)(fg)))"
    assert tu.tree_reduce_associative(paired, ["a"], identity="e") == "a"
    assert tu.tree_reduce_associative(paired, [], identity="e") == "e"
    with pytest.raises(TypeError, match="no identity"):
        tu.tree_reduce_associative(paired, [])


@given(st.lists(st.text(max_size=3), max_size=40))
@settings(max_examples=50, deadline=None)
def test_tree_reduce_associative_is_a_fold(words):
    assert tu.tree_reduce_associative(operator.add, words, identity="") == "".join(words)


def test_tree_all():
    assert tu.tree_all([True, {"a": 1}]) and tu.tree_all([[]])
    assert not tu.tree_all([True, {"a": 0}])
    assert tu.tree_all([[0]], is_leaf=lambda x: x == [0])


def test_tree_transpose():
    outer, inner = tu.tree_structure([0, 0, 0]), tu.tree_structure({"a": 0, "b": (0,)})
    rows = [{"a": i, "b": (10 * i,)} for i in range(3)]
    columns = {"a": [0, 1, 2], "b": ([0, 10, 20],)}
    assert tu.tree_transpose(outer, inner, rows) == columns
    assert tu.tree_transpose(outer, None, rows) == columns
    assert tu.tree_transpose(inner, outer, columns) == rows
    assert tu.tree_transpose(tu.tree_structure([]), inner, []) == {"a": [], "b": ([],)}
    assert tu.tree_transpose(tu.tree_structure([0, 0]), tu.tree_structure({}), [{}, {}]) == {}
    with pytest.raises(TypeError, match="6 leaves, not 2 times 2"):
        tu.tree_transpose(tu.tree_structure([0, 0]), inner, rows)
    with pytest.raises(ValueError, match="inner_treedef"):
        tu.tree_transpose(tu.tree_structure([]), None, [])


def test_structures():
    treedef = tu.tree_structure([0, (0, 0)])
    assert tu.treedef_children(treedef) == [tu.tree_structure(0), tu.tree_structure((0, 0))]
    assert [tu.treedef_is_leaf(tu.tree_structure(x)) for x in (0, None, [], [1])] == [True, True, True, False]
    assert tu.treedef_tuple(iter([tu.tree_structure(0), tu.tree_structure([0])])) == tu.tree_structure(
        (0, [0])
    )
    assert tu.build_tree(treedef, [1, [[2], 3]]) == [1, ([2], 3)]
    assert hash(treedef) == hash(tu.tree_structure(["x", (None, 0)], is_leaf=lambda x: x is None))
    assert pickle.loads(pickle.dumps(treedef)) == treedef


# --- prefixes ------------------------------------------------------------------------------------------------


def test_tree_broadcast():
    assert tu.tree_broadcast(1, {"a": 3, "b": (4, 5)}) == {"a": 1, "b": (1, 1)}
    assert tu.tree_broadcast((1, 2), ((3, 4), [5, 6, None])) == ((1, 1), [2, 2, None])
    assert tu.tree_broadcast((1, None), ((3, 4), None)) == ((1, 1), None)
    none_is_leaf = tu.tree_broadcast((0, None), ([3, 4], {"a": 5}), is_leaf=lambda x: x is None)
    assert none_is_leaf == ([0, 0], {"a": None})
    with pytest.raises(
        ValueError, match=r"^tree_broadcast: .*\[1\], the prefix tree has a list of length 1 and the"
    ):
        tu.tree_broadcast((1, [2]), ((3, 4), 5))
    with pytest.raises(ValueError, match="None and the full tree has a leaf"):
        tu.tree_broadcast((1, None), (3, 5))


def test_broadcast_prefix_of_a_structure():
    treedef = tu.tree_structure(({"x": 0, "y": 0}, 0, None))
    assert tu.broadcast_prefix_to((0, None, 1), treedef, lambda x: x is None) == [0, 0, None]
    with pytest.raises(
        ValueError, match=r"^vmap: .*at key path \[1\], in_axes has a tuple of length 2 and the "
    ):
        tu.broadcast_prefix_to((0, (1, 2), 1), treedef, where="vmap", names=("in_axes", "the arguments"))


def trees():
    return st.recursive(
        st.integers() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
            | st.tuples(inner, inner)
            | st.builds(Point, inner, inner)
            | st.builds(Plain, inner, inner)
        ),
        max_leaves=12,
    )


@given(trees())
@settings(max_examples=100, deadline=None)
def test_round_trip_and_paths_of_any_tree(value):
    leaves, treedef = tu.tree_flatten(value)
    assert tu.tree_unflatten(treedef, leaves) == value
    paths = [tu.keystr(path) for path, _ in tu.tree_leaves_with_path(value)]
    assert len(set(paths)) == len(paths) == treedef.num_leaves
    assert not list(_tree_compare.differences(value, value))
    assert tu.tree_broadcast(7, value) == tu.tree_map(lambda _: 7, value)


@given(trees(), trees())
@settings(max_examples=150, deadline=None)
def test_differences_are_found_exactly_when_structures_differ(a, b):
    found = list(_tree_compare.differences(a, b))
    assert bool(found) == (tu.tree_structure(a) != tu.tree_structure(b))
    try:
        tu.tree_structure(a).flatten_up_to(b)
        fits = True
    except ValueError:
        fits = False
    assert fits == (not list(_tree_compare.differences(a, b, prefix=True)))


def test_structure_error_lists_places():
    error = _tree_compare.structure_error(
        "scan",
        {"a": 1, "b": (2,), "c": 3},
        {"a": [1], "b": (2, 3), "c": 3},
        ("the carry in", "the carry out"),
    )
    assert isinstance(error, TypeError)
    assert "scan: the structures of the trees differ" in str(error)
    assert "at key path ['a'], the carry in has a leaf (int) and the carry out has a list of length 1" in str(
        error
    )
    assert "at key path ['b'], the carry in has a tuple of length 1" in str(error)


# --- registration --------------------------------------------------------------------------------------------


def test_class_decorators_return_the_class_and_register_it():
    assert tu.tree_map(lambda x: x + 1, Methods(1, "n")).a == 2
    assert str(tu.tree_structure(Methods(1, "n"))) == "PyTreeDef(CustomNode(Methods[n], [*]))"
    assert tu.tree_map(lambda x: x + 1, KeyedMethods(1)).a == 2


def test_registering_twice_or_what_is_no_class():
    with pytest.raises(ValueError, match="Plain"):
        tu.register_pytree_node(Plain, lambda p: ((), None), lambda _, c: None)
    with pytest.raises(TypeError, match="takes a class; got 3"):
        tu.register_pytree_node(3, None, None)
    with pytest.raises(TypeError, match="takes a class"):
        tu.register_dataclass(Layer(1))


def test_subclasses_are_not_registered_with_their_base():
    class Sub(Plain):
        pass

    assert tu.all_leaves([Sub(1, 2)])


def test_register_dataclass_with_names():
    @functools.partial(tu.register_dataclass, data_fields=["w"], meta_fields=["name"], drop_fields=["cache"])
    @dataclasses.dataclass
    class Model:
        w: object
        name: str
        cache: object = None
        derived: int = dataclasses.field(init=False, default=5)

    model = Model(1, "m", cache="something")
    assert tu.tree_leaves_with_path(model) == [((tu.GetAttrKey("w"),), 1)]
    assert tu.tree_map(lambda x: x + 1, model) == Model(2, "m")
    assert tu._registry[Model].to_iter(model) == ((1,), ("m",))
    assert tu._registry[Model].from_iter(("n",), (3,)) == Model(3, "n")


def test_register_a_class_that_is_no_dataclass():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    with pytest.raises(TypeError, match="Pair is not a dataclass"):
        tu.register_dataclass(Pair)
    assert tu.register_dataclass(Pair, data_fields=["a"], meta_fields=["b"]) is Pair
    assert tu.tree_map(lambda x: x * 2, Pair(3, "b")).a == 6


@pytest.mark.parametrize(("names", "error", "words"), [
    ({"data_fields": ["a"]}, TypeError, "takes both"),
    ({"data_fields": ["a"], "meta_fields": ["b"]}, ValueError, r"fields \['c'\] of D are.*drop_fields"),
    ({"data_fields": ["a", "q"], "meta_fields": ["b", "c"]}, ValueError, r"no fields named \['q'\]"),
    ({"data_fields": ["a", "b"], "meta_fields": ["b", "c"]}, ValueError, r"\['b'\] of D are in data_fields and in"),
])  # fmt: skip
def test_register_dataclass_checks_names(names, error, words):
    @dataclasses.dataclass
    class D:
        a: object
        b: object
        c: int = 3

    with pytest.raises(error, match=words):
        tu.register_dataclass(D, **names)


def test_static_field_keeps_other_metadata():
    field = tree.static(default=1, metadata={"unit": "m"})
    assert dict(field.metadata) == {"unit": "m", "static": True}
    assert field.default == 1


def test_registry_view_takes_apart_and_puts_together():
    for value in ((1, 2), [1], {"b": 1, "a": 2}, None, collections.OrderedDict(b=1), Plain(1, 2), Layer(1)):
        functions = tu._registry[type(value)]
        children, metadata = functions.to_iter(value)
        assert functions.from_iter(metadata, list(children)) == value


# --- Partial -------------------------------------------------------------------------------------------------


def test_partial():
    p = tu.Partial(max, 1, key=abs)
    assert p(-3) == -3
    assert (p.func, p.args, p.keywords) == (max, (1,), {"key": abs})
    assert tu.tree_leaves(tu.Partial(max, 1, key=2)) == [1, 2]
    assert isinstance(p, functools.partial)
    doubled = tu.tree_map(lambda x: 2 * x, tu.Partial(operator.add, 3))
    assert isinstance(doubled, tu.Partial) and doubled(1) == 7
    assert tu.tree_structure(tu.Partial(max, 1)) == tu.tree_structure(tu.Partial(max, 2))
    assert tu.tree_structure(tu.Partial(max, 1)) != tu.tree_structure(tu.Partial(min, 1))
    assert pickle.loads(pickle.dumps(tu.Partial(operator.add, 3)))(1) == 4


def test_partial_of_a_partial_keeps_the_inner_arguments_out_of_the_tree():
    inner = functools.partial(operator.sub, 10)
    p = tu.Partial(inner, 4)
    assert p() == 6
    assert tu.tree_leaves(p) == [4]
    assert tu.tree_structure(p) == tu.tree_structure(tu.Partial(inner, 5))
    assert tu.tree_map(lambda x: x + 1, p)() == 5
    assert tu.tree_leaves(tu.Partial(tu.Partial(max, 1), 2)) == [2]
    assert pickle.loads(pickle.dumps(p))() == 6


# --- jax.tree ------------------------------------------------------------------------------------------------


def test_short_names_are_the_same_functions():
    for name in set(tree.__all__) - {"static"}:
        assert getattr(tree, name) is getattr(tu, f"tree_{name}")
