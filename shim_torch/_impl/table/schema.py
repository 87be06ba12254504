"""Schemas as objects: their arguments, the types of these, and what they share."""

from __future__ import annotations

import re
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


class SchemaType(str):
    """The type of an argument as PyTorch prints it: ``Optional[Tensor]``, ``List[int]``, ``number``."""

    __slots__ = ()

    def __repr__(self) -> Any:
        return self[:]

    def kind(self) -> Any:
        """``TensorType``, ``ListType``, ``OptionalType`` ..."""
        head = self.split("[")[0]
        names = {
            "List": "ListType", "Optional": "OptionalType", "number": "NumberType", "str": "StringType", "Device": "DeviceObjType",
            "Stream": "StreamObjType", "NoneType": "NoneType",
        }  # fmt: skip
        return names.get(head, head[:1].upper() + head[1:] + "Type")

    def getElementType(self) -> SchemaType:
        """Of a list or optional: what it holds."""
        return SchemaType(self.split("[", 1)[1][:-1])

    def containedTypes(self) -> list[SchemaType]:
        """What a list or optional holds."""
        return [self.getElementType()] if self.startswith(("List[", "Optional[")) else []

    def isSubtypeOf(self, other: SchemaType) -> bool:
        """Whether its values are values of the other type: ``int`` of ``number``, ``None`` of every optional; lists only of their own."""
        if self == other or other == "Any" or (other == "number" and self in ("int", "float", "complex")):
            return True
        if not other.startswith("Optional["):
            return False
        inner = self.getElementType() if self.startswith("Optional[") else self
        return self == "NoneType" or inner.isSubtypeOf(other.getElementType())

    def str(self) -> Any:
        """The type as schemas write it: ``Tensor?[]``, ``int[]?``."""
        if self.startswith(("List[", "Optional[")):
            return self.getElementType().str() + ("[]" if self.startswith("List[") else "?")
        return "Scalar" if self == "number" else self[:]

    @property
    def annotation_str(self) -> Any:
        """The type as Python's annotations write it."""
        return self[:]


class _RealType(SchemaType):
    """A type that calls see as another one: ``SymInt`` as int, ``ScalarType`` as int."""

    __slots__ = ("_written",)
    _written: Any

    def __new__(cls, kind: Any, written: Any) -> _RealType:
        made = super().__new__(cls, kind)
        made._written = written
        return made

    def str(self) -> Any:
        return self._written


class AliasInfo:
    """Which memory an argument shares, and whether it is written to."""

    def __init__(self, is_write: bool, before_set: set[str], after_set: set[str]) -> None:
        self.is_write = is_write
        self.before_set = before_set
        self.after_set = after_set


# The numbers of PyTorch's ScalarType.
SCALAR_TYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 "
    "quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 "
    "uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 float8_e8m0fnu "
    "float4_e2m1fn_x2"
).split()
_LAYOUTS = "strided sparse_coo sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc jagged".split()
_MEMORY_FORMATS = "contiguous_format preserve_format channels_last channels_last_3d".split()


def _number_of(value: Any) -> Any:
    for kind, names in ((_core.dtype, SCALAR_TYPES), (_core.layout, _LAYOUTS), (_core.memory_format, _MEMORY_FORMATS)):
        if isinstance(value, kind):
            return names.index(str(value).removeprefix("torch."))
    return value


class Argument:
    """One argument or return of a schema."""

    def __init__(self, data: tuple[Any, ...]) -> None:
        (
            self.name,
            kind,
            self.default,  # as calls take it
            self._defaulted,
            self.kwarg_only,
            self.is_out,
            alias,
            self.N,
            self._text,
        ) = data
        self.type = SchemaType(kind.replace("SymInt", "int"))
        self.real_type = _RealType(kind, re.sub(r"\(.*?\)|(?<=\[)\d+(?=\])", "", self._text))
        self.alias_info = AliasInfo(*alias) if alias is not None else None

    def has_default_value(self) -> bool:
        """Whether calls may leave it out."""
        return bool(self._defaulted)

    @property
    def default_value(self) -> Any:
        """The default; a dtype, layout or memory format as its number, as in the schema's text."""
        return _number_of(self.default)

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def __repr__(self) -> str:
        return f"{self._text} {self.name}".strip()


class FunctionSchema:
    """A parsed schema; ``str`` gives its normal form."""

    def __init__(self, data: tuple[Any, ...]) -> None:
        (
            namespace,
            name,
            self.overload_name,
            self._text,
            arguments,
            returns,
            self.is_mutable,
            self.is_vararg,
            self.is_varret,
        ) = data
        self.name = f"{namespace}::{name}"
        self.arguments = [Argument(a) for a in arguments]
        self.returns = [Argument(r) for r in returns]

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def is_backward_compatible_with(self, old_schema: FunctionSchema) -> bool:
        """Whether calls written for the older schema mean the same with this one."""
        from shim_torch._impl.table.schema_compatibility import is_backward_compatible

        return is_backward_compatible(self, old_schema)

    def check_forward_compatible_with(self, old_schema: FunctionSchema) -> tuple[bool, str]:
        """Whether calls written for this schema mean the same with the older one, and why not."""
        from shim_torch._impl.table.schema_compatibility import forward_compatible

        return forward_compatible(self, old_schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def parse_schema(text: str) -> FunctionSchema:
    """The schema a text describes; RuntimeError with the position where it is bad."""
    return FunctionSchema(_core.parse_schema_data(text))


def schema_of_overload(qualified: str, overload: str) -> FunctionSchema:
    """An overload's schema: PyTorch's, where ours takes further arguments."""
    if qualified.startswith("aten::"):
        from shim_torch._impl.table.aten import complete, schema_of

        complete(qualified[6:])
        if shown := schema_of(qualified[6:], overload):
            return parse_schema(shown)
    return FunctionSchema(_core.operator_schema(qualified, overload))


def tags_of_overload(of: Any) -> list[Any]:
    """The tags that PyTorch or a compiled library gave its operator."""
    names = _core.operator_tags(of._qualified_op_name, of._overload)
    if not names and of.namespace == "aten":
        from shim_torch._impl.table.aten_tags import tags_of

        return list(tags_of(of))
    if not names:
        return []
    from shim_torch._impl.table.tags import Tag

    return [Tag[name] for name in names]


naming.present(globals(), "torch._C")
