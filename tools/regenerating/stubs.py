"""``shim_torch/__init__.pyi``: what type checkers and editors know of torch's functions and of tensors' methods.

It follows from our own schemas; everything else that ``torch`` has is there without a type.
"""

import re

from ._ours import ask

HEAD = '''# mypy: ignore-errors
# ruff: noqa
"""Types of torch's functions and of tensors' methods. Written by tools/regenerate.py from the schemas."""

import builtins as _b
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from shim_torch._impl.native._core import TensorBase as _TensorBase

class dtype:
    is_complex: _b.bool
    is_floating_point: _b.bool
    is_signed: _b.bool
    itemsize: _b.int
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class device:
    type: _b.str
    index: _b.int | None
    def __init__(self, type: _b.str | device | _b.int, index: _b.int = ...) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *error: Any) -> None: ...

class layout: ...
class memory_format: ...

class Size(tuple[_b.int, ...]):
    def numel(self) -> _b.int: ...

class Generator:
    def __init__(self, device: device | _b.str | _b.int = ...) -> None: ...
    def __getattr__(self, name: _b.str) -> Any: ...

_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_format: TypeAlias = memory_format
'''
CLASSES = ("dtype", "device", "layout", "memory_format", "Size", "Generator", "Tensor", "is_tensor")
ATTRIBUTES = {
    **dict.fromkeys("T H mT mH data real imag".split(), "Tensor"),
    **dict.fromkeys("ndim itemsize nbytes output_nr _version".split(), "_b.int"),
    **dict.fromkeys("requires_grad is_leaf is_cuda is_cpu is_meta is_sparse is_nested is_quantized".split(), "_b.bool"),
    "dtype": "_dtype", "device": "_device", "layout": "_layout", "shape": "Size", "grad": "Tensor | None",
}  # fmt: skip
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
SYMBOLS = [f"__{name}__" for name in "eq ne lt le gt ge".split()] + [
    f"__{side}{name}__"
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    for side in ("", "r", "i")
]
PARTS = re.compile(r", (?![^\[(]*[\])])")
ALIASES = re.compile(r"\([a-z]!?( -> \*)?\)")
ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z]+)(?P<inner>\?)?(?P<list>\[\d*\])?(?P<optional>\?)? (?P<name>\w+)(?P<default>=.*)?"
)
RESULT = re.compile(r"([A-Za-z]+)(\[\])?(?: \w+)?")
TYPES = {
    "Tensor": "Tensor", "Scalar": "_b.complex", "int": "_b.int", "SymInt": "_b.int", "bool": "_b.bool", "float": "_b.float",
    "str": "_b.str", "ScalarType": "_dtype", "Layout": "_layout", "Device": "_device | _b.str | _b.int", "Generator": "Generator",
    "MemoryFormat": "_format", "Dimname": "_b.str", "Storage": "Any", "Stream": "Any",
}  # fmt: skip
RESULTS = TYPES | {"Device": "_device", "Scalar": "Any"}
KEYWORDS = {"from": "from_", "lambda": "lambda_", "global": "global_"}


def argument(text, is_method):
    """A schema's argument as a stub has it; None for the tensor whose method it is."""
    if text == "*":
        return "*"
    found = ARGUMENT.fullmatch(text)
    kind = TYPES[found["type"]]
    if found["inner"] and found["list"]:
        kind += " | None"
    if found["list"]:
        alone = f"{kind} | " if found["list"] != "[]" or found["type"] == "SymInt" else ""
        kind = f"{alone}Sequence[{kind}]"
    if found["optional"] or found["inner"] and not found["list"]:
        kind += " | None"
    name = KEYWORDS.get(found["name"], found["name"])
    if name == "self":
        if is_method:
            return None
        name = "input"
    return f"{name}: {kind}{' = ...' if found['default'] else ''}"


def result(text):
    """The Python type that a schema's result text means."""
    parts = [RESULT.fullmatch(part) for part in PARTS.split(text.removeprefix("(").removesuffix(")")) if part]
    kinds = [f"list[{RESULTS[p[1]]}]" if p[2] else RESULTS[p[1]] for p in parts]
    return "None" if not kinds else kinds[0] if len(kinds) == 1 and text[0] != "(" else f"tuple[{', '.join(kinds)}]"


def signatures(schemas, is_method):
    """``(input: Tensor, *, out: Tensor | None = ...) -> Tensor`` and its like: an overload with out= is part of the one without."""
    calls = {}  # arguments -> [result, type of out]
    for schema in schemas:
        inside, _, given = ALIASES.sub("", schema).partition("(")[2].partition(") -> ")
        outs = schema.partition(") -> ")[0].partition("*, ")[2].count("!) ")
        texts = [text for text in PARTS.split(inside) if text]
        texts, written = (texts[:-outs], outs) if outs else (texts, 0)
        arguments = [argument(text, is_method) for text in texts]
        if is_method and (None not in arguments or outs):
            continue
        arguments = tuple(a for a in arguments if a)
        if {"dtype", "layout", "device"} <= {a.partition(":")[0] for a in arguments}:
            arguments += ("requires_grad: _b.bool = ...",)
        call = calls.setdefault(arguments[:-1] if arguments[-1:] == ("*",) else arguments, ["", ""])
        call[0] = call[0] or result(given)
        if written:
            call[1] = "Tensor" if written == 1 else f"tuple[{', '.join(['Tensor'] * written)}]"
    for arguments, (gives, out) in calls.items():
        mark = [] if "*" in arguments or not out else ["*"]
        more = [*mark, f"out: {out} | None = ..."] if out else []
        for given in (arguments, in_a_row(arguments)):
            if given is not None:
                own = ["self"] if is_method else []
                rest = more if not given or given[0][0] != "*" else more[-1:]
                yield f"({', '.join([*own, *given, *rest])}) -> {gives}"


def in_a_row(arguments):
    """The call that takes sizes one by one, ``empty(2, 3)``: of those with no other argument by place; else None."""
    places = arguments[: arguments.index("*")] if "*" in arguments else arguments
    if len(places) != 1 or "Sequence[_b.int]" not in places[0] or places[0].endswith("..."):
        return None
    return (f"*{places[0].partition(':')[0]}: _b.int", *arguments[2:])


def lines(name, schemas, indent=""):
    """The definitions of a function or method."""
    found = list(dict.fromkeys(signatures(schemas, bool(indent))))
    if not found:
        return [f"{indent}{name}: Any"]
    mark = [f"{indent}@overload"] if len(found) > 1 else []
    return [line for text in found for line in (*mark, f"{indent}def {name}{text}: ...")]


def stub():
    """The stub's text."""
    found = ask("names")
    text = [HEAD]
    text += ["__version__: _b.str", "class Tensor(_TensorBase):"]
    text += [f"    def {name}(self, other: Any) -> Tensor: ..." for name in SYMBOLS]
    text += [f"    def {name}(self) -> Tensor: ..." for name in UNARY]
    for name, schemas in sorted(found["methods"].items()):
        text += lines(name, schemas, "    ")
    text += [
        f"    {name}: {ATTRIBUTES.get(name, 'Any')}" for name in found["attributes"] if name not in (*SYMBOLS, *UNARY)
    ] + [""]
    text += [f"from shim_torch import {name} as {name}" for name in found["modules"] if name != "distributions"]
    text += [
        "distributions: Any"
    ]  # its modules import each other, and mypy loses their types when torch is part of the circle
    for name, schemas in sorted(found["functions"].items()):
        text += lines(name, schemas)
    text += [f"{name}: {kind}" for name, kind in sorted(found["others"].items()) if name not in CLASSES]
    text += ["def is_tensor(obj: Any) -> _b.bool: ..."]
    return "\n".join(text) + "\n"


FILES = {"shim_torch/__init__.pyi": stub}
