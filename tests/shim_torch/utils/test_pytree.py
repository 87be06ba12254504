"""torch.utils._pytree: values and texts as PyTorch 2.13 gives them."""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import shim_torch as torch
from shim_torch.utils import _pytree as tree

Point = namedtuple("Point", "x y")

CASES = [
    (1, [1], "*"),
    ((1, 2), [1, 2], "TreeSpec(tuple, None, [*,\n  *])"),
    ([1, [2, 3]], [1, 2, 3], "TreeSpec(list, None, [*,\n  TreeSpec(list, None, [*,\n    *])])"),
    ({"b": 1, "a": (2,)}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  TreeSpec(tuple, None, [*])])"),
    (OrderedDict(z=1), [1], "TreeSpec(OrderedDict, ['z'], [*])"),
    (defaultdict(list, {"a": 1}), [1], "TreeSpec(defaultdict, [<class 'list'>, ['a']], [*])"),
    (deque([1, 2], maxlen=3), [1, 2], "TreeSpec(deque, 3, [*,\n  *])"),
    (None, [None], "*"),
    ((), [], "TreeSpec(tuple, None, [])"),
]


@pytest.mark.parametrize(("value", "leaves", "text"), CASES)
def test_flatten(value, leaves, text):
    found, spec = tree.tree_flatten(value)
    assert found == leaves
    assert repr(spec) == text
    again = tree.tree_unflatten(found, spec)
    assert again == value
    assert type(again) is type(value)
    assert spec == tree.tree_structure(value)
    assert spec.num_leaves == len(leaves)


def test_named_tuples_and_return_types():
    spec = tree.tree_structure(Point(1, 2))
    assert spec.context is Point
    assert tree.tree_map(lambda x: x + 1, Point(1, 2)) == Point(2, 3)
    result = torch.max(torch.tensor([[1.0, 2.0]]), 1)
    doubled = tree.tree_map(lambda x: x * 2, result)
    assert type(doubled) is torch.return_types.max
    assert doubled.values.tolist() == [4.0]


def test_map():
    assert tree.tree_map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]}) == {"x": [11, 22]}
    assert tree.tree_map_only(int, lambda x: -x, (1, "a", 2.0)) == (-1, "a", 2.0)
    assert tree.tree_any(lambda x: x > 1, [1, 2])
    assert not tree.tree_all(lambda x: x > 1, [1, 2])
    assert tree.arg_tree_leaves(1, [2], k={"a": 3}) == [1, 2, 3]
    assert tree.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert tree._broadcast_to_and_flatten((0, 1), tree.tree_structure(([1, 2], 3))) == [0, 0, 1]


def test_errors():
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        tree.tree_unflatten([1], tree.tree_structure((1, 2)))
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 3."):
        tree.tree_map(lambda a, b: a, (1, 2), (1, 2, 3))
    with pytest.raises(ValueError, match="Node type mismatch; expected <class 'tuple'>, but got <class 'list'>."):
        tree.tree_map(lambda a, b: a, (1, 2), [1, 2])
    with pytest.raises(ValueError, match=r"Node keys mismatch; missing key\(s\): {'a'}; extra key\(s\): {'b'}."):
        tree.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_paths():
    pairs, _ = tree.tree_flatten_with_path({"a": [1, 2], "p": Point(3, 4)})
    assert [tree.keystr(p) for p, _ in pairs] == ["['a'][0]", "['a'][1]", "['p'].x", "['p'].y"]
    value = {"a": [1, 2], "p": Point(3, 4)}
    assert [tree.key_get(value, p) for p, _ in pairs] == [1, 2, 3, 4]
    assert tree.tree_map_with_path(lambda p, x: f"{tree.keystr(p)}={x}", [7]) == ["[0]=7"]
    joined = tree.tree_map_with_path(lambda p, *x: (tree.keystr(p), *x), {"a": [1, (2,)]}, {"a": [4, ({5: 6},)]})
    assert joined == {"a": [("['a'][0]", 1, 4), (("['a'][1][0]", 2, {5: 6}),)]}
    with pytest.raises(ValueError):
        tree.tree_map_with_path(lambda *x: x, [1, 2], [1])


class Box:
    def __init__(self, inner):
        self.inner = inner


def test_registration():
    tree.register_pytree_node(Box, lambda b: ([b.inner], "context"), lambda v, _: Box(*v))
    try:
        assert tree.tree_map(lambda x: x + 1, Box(1)).inner == 2
        assert tree.tree_structure(Box(1)).context == "context"
        with pytest.raises(ValueError, match="is already registered as pytree node"):
            tree.register_pytree_node(Box, None, None)
        with pytest.raises(NotImplementedError, match="No registered serialization name"):
            tree.treespec_dumps(tree.tree_structure(Box(1)))
    finally:
        tree._deregister_pytree_node(Box)
    assert tree.tree_is_leaf(Box(1))


def test_json():
    spec = tree.tree_structure((1, [2], {"k": 3}))
    text = tree.treespec_dumps(tree.tree_structure((1, [2])))
    assert text == (
        '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, '
        '"children_spec": []}, {"type": "builtins.list", "context": "null", "children_spec": [{"type": null, '
        '"context": null, "children_spec": []}]}]}]'
    )
    assert tree.treespec_loads(tree.treespec_dumps(spec)) == spec


class Colour(enum.Enum):
    RED = 1


Place = namedtuple("Place", ["x", "y"])
Unnamed = namedtuple("Unnamed", ["x"])


def test_shapes_of_named_tuples_and_default_dicts_are_written():
    spec = tree.tree_structure(Unnamed(1))
    with pytest.raises(NotImplementedError, match="Please register using `_register_namedtuple`"):
        tree.treespec_dumps(spec)
    tree._register_namedtuple(Place, serialized_type_name="tests.Place")
    for value in (Place(1, (2, 3)), defaultdict(list, {"a": [1], "b": 2}), {Colour.RED.name: 1}):
        spec = tree.tree_structure(value)
        again = tree.treespec_loads(tree.treespec_dumps(spec))
        assert again == spec
        assert tree.tree_unflatten(tree.tree_leaves(value), again) == value


def test_enums_in_shapes_are_written():
    spec = tree.tree_structure({Colour.RED: 1})
    text = tree.treespec_dumps(spec)
    assert "__enum__" in text and list(tree.treespec_loads(text).context) == [Colour.RED]


def test_sizes_are_containers():
    size = torch.Size([2, 3])
    leaves, spec = tree.tree_flatten([size, 1])
    assert leaves == [2, 3, 1] and repr(tree.tree_structure(size)) == "TreeSpec(Size, None, [*,\n  *])"
    assert tree.tree_map(lambda n: n + 1, size) == (3, 4) and type(tree.tree_map(str, size)) is tuple
    assert [(tree.keystr(k), v) for k, v in tree.tree_flatten_with_path(size)[0]] == [("[0]", 2), ("[1]", 3)]
    assert not tree.tree_is_leaf(size) and tree.treespec_loads(tree.treespec_dumps(spec)) == spec


def test_trees_of_other_shapes_are_refused_in_words():
    other = ([1, 2], torch.ones(2, 2).max(0), torch.Size([1, 2]))
    for got, wanted, text in (
        (other[0], other[1], "Type mismatch; expected <class 'torch.return_types.max'>, but got <class 'list'>."),
        (other[0], other[2], "Type mismatch; expected <class 'torch.Size'>, but got <class 'list'>."),
        (other[2], other[0], "Node type mismatch; expected <class 'list'>, but got <class 'torch.Size'>."),
    ):
        with pytest.raises(ValueError) as refused:
            tree.tree_map(lambda a, b: a, wanted, got)
        assert str(refused.value) == text
    assert tree.tree_map(lambda a, b: a + b, deque([1]), deque([2], maxlen=3)) == deque([3])


def test_what_is_broadcast_to_a_shape_of_another_kind_of_dict():
    spec = tree.tree_structure(OrderedDict(a=1, b=[2, 3]))
    assert tree._broadcast_to_and_flatten({"b": 5, "a": 4}, spec) == [5, 5, 4]
    assert tree._broadcast_to_and_flatten({"b": 5}, spec) is None
