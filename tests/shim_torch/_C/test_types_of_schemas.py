"""``torch._C.TensorType.get()`` and its neighbours: the types of arguments, and which are part of which."""

import pytest

import shim_torch as torch

C = torch._C


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TensorType", "Tensor"),
        ("IntType", "int"),
        ("NumberType", "number"),
        ("DeviceObjType", "Device"),
        ("AnyType", "Any"),
        ("NoneType", "NoneType"),
    ],
)
def test_single_types(name: str, text: str) -> None:
    found = getattr(C, name).get()
    assert (str(found), found.kind(), found.containedTypes()) == (text, name, [])
    assert isinstance(found, getattr(C, name))


def test_types_that_hold_others() -> None:
    optional = C.OptionalType(C.DeviceObjType.get())
    assert (repr(optional), optional.kind(), optional.getElementType()) == (
        "Optional[Device]",
        "OptionalType",
        C.DeviceObjType.get(),
    )
    assert repr(C.ListType.ofTensors()) == "List[Tensor]" and repr(C.ListType(C.IntType.get())) == "List[int]"
    assert repr(C.OptionalType.ofTensor()) == "Optional[Tensor]"
    assert repr(C.TupleType([C.IntType.get(), C.TensorType.get()])) == "Tuple[int, Tensor]"


def test_which_are_part_of_which() -> None:
    integer, number, optional = C.IntType.get(), C.NumberType.get(), C.OptionalType
    assert (
        integer.isSubtypeOf(number) and integer.isSubtypeOf(optional(number)) and integer.isSubtypeOf(C.AnyType.get())
    )
    assert C.NoneType.get().isSubtypeOf(optional(number)) and optional(integer).isSubtypeOf(optional(number))
    assert not optional(integer).isSubtypeOf(integer) and not C.BoolType.get().isSubtypeOf(number)
    assert not C.ListType(integer).isSubtypeOf(C.ListType(number))


def test_device_arguments_of_a_schema() -> None:
    device = C.OptionalType(C.DeviceObjType.get())
    arguments = torch.ops.aten.zeros.default._schema.arguments
    assert [a.name for a in arguments if a.type.isSubtypeOf(device)] == ["device"]
    assert [a.type.containedTypes() for a in arguments] == [
        [C.IntType.get()],
        [C.IntType.get()],
        [C.IntType.get()],
        [C.DeviceObjType.get()],
        [C.BoolType.get()],
    ]


def test_storages_print_a_value_a_line() -> None:
    x = torch.tensor([1.0, 2.0])
    assert str(x.storage()) == " 1.0\n 2.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"
    bytes_ = torch.tensor([1, 2], dtype=torch.uint8).untyped_storage()
    assert str(bytes_) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
