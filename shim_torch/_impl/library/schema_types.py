"""The names of types that the schema of an operator defined from Python may have."""

from __future__ import annotations

import re
import sys

KNOWN = frozenset(
    "Tensor int SymInt float bool SymBool str Scalar number complex Dimname Generator ScalarType Layout MemoryFormat Storage QScheme "
    "Stream Device DeviceObjType Any None NoneType Capsule AnyEnumType AnyClassType Dict Future Await RRef Tuple".split()
)
_INSTEAD = {
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. `SymInt` corresponds to c10::SymInt in C++ "
    "while `int` in schema corresponds to the int64_t type in C++.",
    "double": "Use `float` instead of `double` in an operator's schema string. `float` in schema corresponds to the double type in C++",
}
_UNKNOWN = (
    "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_TYPE = re.compile(r"(?:(?<![\w\])])\(|,|->)\s*(?:\*\s*,\s*)?([A-Za-z_]\w*)(?![\w.])")


def check_type_names(schema: str) -> None:
    """RuntimeError with the position of the first unknown type name of a schema; names of classes (with dots) pass."""
    opened = schema.find("(")
    text = _STRING.sub(lambda m: " " * len(m.group()), schema)
    text = " " * opened + text[opened:]  # without the operator's name, so that its parenthesis opens a list of types
    for found in _TYPE.finditer(text):
        name, at = found.group(1), found.start(1)
        if name in KNOWN or name in _opaque_names():
            continue
        mark = " " * at + "~" * len(name)
        raise RuntimeError(f"\n{_INSTEAD.get(name, _UNKNOWN)}:\n{schema}\n{mark} <--- HERE\n")


def _opaque_names() -> set[str]:
    """The type names registered by ``register_opaque_type``."""
    registry = sys.modules.get("shim_torch._library.opaque_object")
    return set() if registry is None else set(registry._by_name)
