"""Which schemas serve the calls of older ones, as PyTorch 2.13 answers."""

import pytest

import shim_torch as torch

OLD = "a::b(Tensor x, int y=3) -> Tensor"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OLD, OLD, True),
        (OLD, "a::b(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", OLD, True),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor x, int y) -> Tensor", False),
        (OLD, "a::b(Tensor z, int y=3) -> Tensor", False),
        (OLD, "a::b(Tensor x, int y=4) -> Tensor", False),
        (OLD, "a::b(Tensor? x, int y=3) -> Tensor", True),
        ("a::b(Tensor? x) -> Tensor", "a::b(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor x) -> Tensor?", False),
        ("a::b(Tensor x) -> Tensor?", "a::b(Tensor x) -> Tensor", True),
        ("a::b(Tensor x) -> Tensor", "a::c(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor(a!) x) -> Tensor(a!)", False),
        ("a::b(Tensor x, *, int k) -> Tensor", "a::b(Tensor x, *, int j=2, int k) -> Tensor", False),
        ("a::b(*, Tensor(a!) out) -> Tensor(a!)", "a::b(int q=2, *, Tensor(a!) out) -> Tensor(a!)", True),
        ("a::b(int x) -> Tensor", "a::b(SymInt x) -> Tensor", True),
        ("a::b(SymInt x) -> Tensor", "a::b(int x) -> Tensor", True),
        ("a::b.x(int x) -> Tensor", "a::b(int x) -> Tensor", False),
        ("a::b(int x, int y) -> Tensor", "a::b(int x, *, int y) -> Tensor", False),
        ("a::b(int x, *, int y) -> Tensor", "a::b(int x, int y) -> Tensor", True),
        ("a::b(int x) -> Tensor", "a::b(int x=2) -> Tensor", True),
        ("a::b(Tensor x) -> Tensor y", "a::b(Tensor x) -> Tensor z", False),
    ],
)
def test_backward_compatible(old, new, expected):
    parse = torch._C.parse_schema
    assert parse(new).is_backward_compatible_with(parse(old)) is expected


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("any(Tensor self, int a) -> Tensor", ""),
        ("any(Tensor self, int a, int b=1, int c=1) -> Tensor", ""),
        (
            "any(Tensor self, int a, int b=1, int[2] c=1) -> Tensor",
            "Function schema is not forward compatible since the new argument 'c' of type int[] has a container type as its default value.",
        ),
        (
            "any(Tensor self, int a, int b=4) -> Tensor",
            "'b' is not forward compatible with the older version of the schema",
        ),
        (
            "any(Tensor self, int a=1, int b=1) -> Tensor",
            "'a' is not forward compatible with the older version of the schema",
        ),
        (
            "any(Tensor self, int a, int b=1, *, Tensor(a!) out) -> Tensor",
            "Function schema should have the same number of out arguments",
        ),
    ],
)
def test_forward_compatible(new, why):
    parse = torch._C.parse_schema
    old = parse("any(Tensor self, int a, int b=1) -> Tensor")
    assert parse(new).check_forward_compatible_with(old) == (not why, why)


def test_types_as_schemas_and_as_calls_see_them():
    schema = torch.ops.aten._to_copy.default._schema
    told = [(a.type.str(), a.real_type.str(), a.type.annotation_str) for a in schema.arguments[:5]]
    assert told == [
        ("Tensor", "Tensor", "Tensor"),
        ("int?", "ScalarType?", "Optional[int]"),
        ("int?", "Layout?", "Optional[int]"),
        ("Device?", "Device?", "Optional[Device]"),
        ("bool?", "bool?", "Optional[bool]"),
    ]
    index = torch.ops.aten.index.Tensor._schema.arguments[1].type
    assert (index.str(), index.getElementType().str(), index.kind()) == ("Tensor?[]", "Tensor?", "ListType")
    size = torch.ops.aten.split.Tensor._schema.arguments[1]
    assert (size.type.str(), size.real_type.str(), size.type.kind()) == ("int", "SymInt", "IntType")


def test_names_without_a_namespace_and_further_arguments():
    parse = torch._C.parse_schema
    assert str(parse("foo(Tensor self, *, Tensor(a!)[] out) -> ()")) == "foo(Tensor self, *, Tensor(a!)[] out) -> ()"
    assert str(parse("any.foo(int a, ...)")) == "any.foo(int a, ...) -> ..."
    with pytest.raises(RuntimeError, match=r"schemas with vararg \(...\) can't have default value args"):
        parse("any.foo(int arg1, int arg2=0, ...)")
    schemas = torch._C._jit_get_all_schemas()
    assert len(schemas) > 2000 and all(parse(str(s)) == s for s in schemas[::50])
    assert any(str(s).startswith("aten::add.Tensor(") for s in torch._C._jit_get_schemas_for_operator("aten::add"))
