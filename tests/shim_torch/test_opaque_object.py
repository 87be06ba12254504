"""Classes whose objects custom operators take as they are: torch._library.opaque_object."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._library import opaque_object
from shim_torch._opaque_base import OpaqueBase


class Name(OpaqueBase):
    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __fx_repr__(self) -> tuple[str, dict[str, type]]:
        return f"Name({self.value!r})", {"Name": Name}


class Handle(OpaqueBase):
    pass


class Plain:
    pass


opaque_object.register_opaque_type(Name, typ="value", hoist=True)


def test_custom_operators_take_registered_classes():
    def scaled(x: torch.Tensor, name: Name) -> torch.Tensor:
        return x * len(name.value)

    scaled.__annotations__ = {"x": torch.Tensor, "name": Name, "return": torch.Tensor}
    assert torch.library.infer_schema(scaled, mutates_args=()) == f"(Tensor x, {__name__}.Name name) -> Tensor"
    operator = torch.library.custom_op("opaque_tests::scaled", scaled, mutates_args=())
    operator.register_fake(lambda x, name: torch.empty_like(x))
    assert operator(torch.ones(2), Name("abc")).tolist() == [3.0, 3.0]
    assert torch.ops.opaque_tests.scaled(torch.ones(2, device="meta"), Name("a")).shape == (2,)


def test_instances_of_the_base_are_those_of_registered_classes():
    assert isinstance(Name("a"), OpaqueBase) and not isinstance(3, OpaqueBase)
    assert not isinstance(Handle(), OpaqueBase) and isinstance(Handle(), Handle)
    opaque_object.register_opaque_type(Handle, typ="reference", members={"x": opaque_object.MemberType.USE_REAL})
    assert isinstance(Handle(), OpaqueBase) and opaque_object.is_opaque_reference_type(Handle)
    assert opaque_object.get_member_type(Handle, "x") is opaque_object.MemberType.USE_REAL
    assert opaque_object.should_hoist(Name) and opaque_object.get_opaque_type_name(Name) == f"{__name__}.Name"


@pytest.mark.parametrize(
    ("cls", "typ", "error", "text"),
    [
        (Plain, "reference", TypeError, r"must subclass torch\._opaque_base\.OpaqueBase"),
        (Plain, "value", TypeError, "expected to have a non-default `__eq__`"),
        (int, "value", ValueError, "Unable to register built-in type"),
        (Handle, "other", AssertionError, "must be either 'reference' or 'value', got 'other'"),
    ],
)
def test_what_cannot_be_registered(cls, typ, error, text):
    with pytest.raises(error, match=text):
        opaque_object.register_opaque_type(cls, typ=typ)


def test_unregistered_classes_have_no_name():
    with pytest.raises(ValueError, match="is not registered as an opaque type"):
        opaque_object.get_opaque_type_name(Plain)
