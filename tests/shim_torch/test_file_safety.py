"""What a file can make of ``torch.load`` with its defaults: data, and no more of it than the file has bytes for."""

import pickle
import re
from pathlib import Path

import pytest
from files_by_hand import (
    FLOATS,
    FOUR_BYTES,
    REFUSED,
    Call,
    Id,
    Name,
    archive,
    calls,
    legacy,
    storage,
    tensor_pickle,
    written,
)

import shim_torch as torch
from shim_torch._impl.serialization import allowed, checked, checked_composed

DOCS = Path(__file__).parents[2] / "docs" / "security.md"
DATA = Path(__file__).parent / "data"


def test_the_helpers_write_what_torch_reads():
    assert torch.load(archive(tensor_pickle(1, (1,), (1,)), FOUR_BYTES)).tolist() == [1.0]
    nested = calls("collections.OrderedDict", [("a", Call("torch.Size", ((2, 3),)))])
    assert torch.load(archive(nested)) == {"a": torch.Size((2, 3))}


@pytest.mark.parametrize("form", [archive, legacy])
@pytest.mark.parametrize(
    "name", ["cublaslt_check", "__dict__", "from_pointer", "to_numpy", "torch.float32", "torch.__dict__", "strided"]
)
def test_layouts_are_layouts(form, name):
    with pytest.raises(REFUSED):
        torch.load(form(calls("torch.serialization._get_layout", name)))
    with pytest.raises(KeyError):
        torch.serialization._get_layout(name)


def test_the_core_is_not_changed():
    core = __import__("shim_torch._impl.native._core", fromlist=["x"])
    before = core.to_numpy
    names = pickle.PROTO + b"\x02" + written(Call("torch.serialization._get_layout", ("__dict__",)))
    names += written("to_numpy") + written(1) + pickle.SETITEM + pickle.STOP
    with pytest.raises(REFUSED):
        torch.load(archive(names))
    assert core.to_numpy is before


VALUES = [Name("torch.strided"), Name("torch.float32"), Name("torch.Tensor"), Name(FLOATS), Name("builtins.set")]


@pytest.mark.parametrize("func", [*VALUES, Name("torch.device"), Name("_codecs.encode"), "os.system", 1, None, [], {}])
@pytest.mark.parametrize("cls", ["torch.Tensor", "torch.nn.parameter.Parameter"])
def test_functions_that_are_handed_on_are_looked_up(func, cls):
    name = "torch._tensor._rebuild_from_type_v2"
    with pytest.raises(REFUSED):
        torch.load(archive(calls(name, func, Name(cls), (), {})))
    with pytest.raises(REFUSED):
        torch.load(archive(calls(name, Name(name), Name(cls), (func, Name(cls), (), {}), {})))


@pytest.mark.parametrize(
    "state", [{"data": 1}, {"__class__": 1}, {"grad": None}, {"_backward_hooks": {}}, {1: 2}, [1], ({}, {"data": 2})]
)
def test_the_state_of_a_tensor_is_new_attributes(state):
    args = (0, (1,), (1,), False, {})
    made = "torch._utils._rebuild_tensor_v2", "torch._tensor._rebuild_from_type_v2"

    def file(state):
        return archive(calls(made[1], Name(made[0]), Name("torch.Tensor"), (storage(1), *args), state), FOUR_BYTES)

    assert torch.load(file({"mine": 3})).mine == 3
    with pytest.raises(REFUSED):
        torch.load(file(state))


def test_hooks_are_not_the_files():
    with pytest.raises(REFUSED, match="hooks"):
        hooks = {1: Name("torch._utils._rebuild_parameter")}
        name = "torch._utils._rebuild_tensor_v2"
        torch.load(archive(calls(name, storage(1), 0, (1,), (1,), True, hooks), FOUR_BYTES))


def test_methods_of_an_ordered_dict_stay():
    build = written(Call("collections.OrderedDict", ())) + written({"items": 1}) + pickle.BUILD + pickle.STOP
    with pytest.raises(REFUSED, match="attribute 'items'"):
        torch.load(archive(pickle.PROTO + b"\x02" + build))


ODD = [
    (), (1 << 40,), (-1,), ("x",), (None,), ([],), ({},), ((),), (1, 2), ("a", "b"), (b"", b""), (1.5, "x", None),
    ([[1, 2]],), ([{}],), ({"a": {}},), (Name("torch.Tensor"),), (Name("torch._utils._rebuild_tensor"), ()),
    ("cuda:9999999999",), ("", 1 << 70), ("rot13", "rot13"), (0, 0, 0, 0), (Name(FLOATS), 0, (4,), (1,)),
    (Name("torch.float32"), (1 << 62, 4), (0, 0), False), (Name("torch.float32"), (-1,), (1,), False),
]  # fmt: skip
PLAIN = (int, float, complex, str, bytes, bytearray, type(None), bool)


def is_data(value):
    """Values and containers of values; tensors are on the meta device: without a storage there can be no others."""
    if isinstance(value, (tuple, list, set)):
        return type(value) in (tuple, list, set, torch.Size) and all(map(is_data, value))
    if isinstance(value, dict):
        return all(map(is_data, value)) and all(map(is_data, value.values()))
    if isinstance(value, torch.Tensor):
        return type(value) in (torch.Tensor, torch.nn.Parameter) and value.is_meta
    return type(value) in PLAIN or isinstance(value, torch.device) or isinstance(value, torch.layout)


@pytest.mark.parametrize("name", sorted(allowed.table().names))
def test_all_that_a_file_can_reach(name):
    """Each name with each of the odd arguments: an error, or data."""
    table = allowed.table()
    known = {*allowed.layouts()} | {n for n in table.names if id(table.names[n]) in table.calls}
    for args in ODD:
        for op in (pickle.REDUCE, pickle.NEWOBJ):
            try:
                made = torch.load(archive(calls(name, *args, op=op)))
            except (REFUSED, RuntimeError):
                continue
            assert name in known, f"{name}{args} gave {made!r}"
            assert is_data(made), f"{name}{args} gave {made!r}"
        with pytest.raises(REFUSED):
            torch.load(
                archive(pickle.PROTO + b"\x02" + written(Name(name)) + written({"a": 1}) + pickle.BUILD + pickle.STOP)
            )


def test_the_list_is_documented():
    kinds = (torch.dtype, torch.layout, torch.memory_format)
    section = DOCS.read_text().split("## What a file can reach")[1].split("\n## ")[0]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", section, re.M) for name in re.findall(r"`([\w.]+)`", row)}
    assert listed == {name for name, found in allowed.table().names.items() if not isinstance(found, kinds)}


def test_twins_of_every_function():
    """Nothing that is called is what trusted files call, but the two that only raise."""
    from shim_torch import _utils

    raising = {_utils._rebuild_qtensor, _utils._rebuild_nested_tensor}
    for twin in allowed.table().calls.values():
        assert twin in raising or twin.__module__ in (checked.__name__, checked_composed.__name__)


@pytest.mark.parametrize("form", [archive, legacy])
def test_what_a_module_cannot_be(form):
    module = Id(("module", Name("torch.Tensor"), "", ""))
    with pytest.raises(REFUSED):
        torch.load(form(calls("collections.OrderedDict", [("a", module)])))
