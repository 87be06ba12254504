"""The C++ functions and methods of ATen's operators, as text, made of the operator table's schemas (shim/ops.inc, shim/methods.inc)."""

from __future__ import annotations

import re
from typing import NamedTuple

from shim_torch._impl.extensions.cxx_schemas import Argument, Schema

OPTIONS = ["dtype", "layout", "device", "pin_memory"]
# Written by hand in shim/tensor.h, or no function in C++.
BY_HAND = set(
    "size stride item numel dim sizes strides is_contiguous storage_offset data set_data backward requires_grad_ is_leaf grad "
    "retain_grad is_complex is_floating_point is_signed contiguous type output_nr _version retains_grad element_size defined "
    "get_device is_non_overlapping_and_dense sym_numel sym_size sym_stride sym_storage_offset "
    "itemsize layout device nbytes is_pinned is_inference is_conj is_neg is_same_size __dispatch_size rename names".split()
)
KEYWORDS = set("and or not xor bitand bitor compl default delete new template typename this".split())
VALUES = {
    "int": "int64_t", "SymInt": "int64_t", "float": "double", "bool": "bool", "ScalarType": "at::ScalarType",
    "Layout": "at::Layout", "Device": "at::Device", "MemoryFormat": "at::MemoryFormat", "Generator": "at::Generator",
    "str": "::std::string_view",
}  # fmt: skip
RETURNS = {**VALUES, "Scalar": "at::Scalar", "Tensor": "at::Tensor", "str": "::std::string"}
WORDS = {
    "True": "true", "False": "false", "Mean": "at::Reduction::Mean", "Sum": "at::Reduction::Sum", "long": "at::kLong",
    "contiguous_format": "at::MemoryFormat::Contiguous", "None": "::std::nullopt",
}  # fmt: skip


def parameter(a: Argument) -> str | None:
    """An argument's type in C++; None where it has none."""
    kind, optional = (a.type[:-1], True) if a.type.endswith("?") else (a.type, False)
    listed = re.fullmatch(r"(\w+)(\??)\[(\d*)\]", kind)
    if listed:
        base, maybe, size = listed.groups()
        if base == "Tensor":
            if maybe:
                return "const c10::List<::std::optional<at::Tensor>> &"
            return "::std::optional<at::TensorList>" if optional else "at::TensorList"
        if base == "bool" and size:
            return f"::std::array<bool,{size}>"
        if base in ("int", "SymInt"):
            return "at::OptionalIntArrayRef" if optional else "at::IntArrayRef"
        element = {"float": "double", "Scalar": "at::Scalar"}.get(base)
        if element is None:
            return None
        return f"::std::optional<at::ArrayRef<{element}>>" if optional else f"at::ArrayRef<{element}>"
    if kind == "Tensor":
        return "const ::std::optional<at::Tensor> &" if optional else "const at::Tensor &"
    if kind == "Scalar":
        return "const ::std::optional<at::Scalar> &" if optional else "const at::Scalar &"
    if kind not in VALUES:
        return None
    return f"::std::optional<{VALUES[kind]}>" if optional or kind == "Generator" else VALUES[kind]


def default(a: Argument) -> str:
    """`` = VALUE``, or nothing."""
    if a.default is None:
        return ""
    value = a.default.strip()
    if a.type.startswith("MemoryFormat") and value.isdigit():
        return " = at::MemoryFormat::Contiguous"
    size = re.search(r"int\[(\d+)\]", a.type.replace("SymInt", "int"))
    if a.type == "Tensor?" or (a.type.startswith("Tensor?") and value == "None"):
        return " = {}"
    if value.startswith("["):
        return f" = {{{value[1:-1]}}}"
    if size and value not in WORDS:
        return f" = {{{', '.join([value] * int(size[1]))}}}"
    if value[0] in "\"'":
        return f' = "{value[1:-1]}"'
    if value == "None" and a.type.startswith(("Scalar?",)):
        return " = {}"
    return f" = {WORDS.get(value, value)}"


def with_defaults(arguments: list[Argument]) -> list[Argument]:
    """None may precede a parameter without one."""
    need = max((i for i, a in enumerate(arguments) if a.default is None), default=-1)
    return [a._replace(default=None) if i < need else a for i, a in enumerate(arguments)]


def safe(name: str) -> str:
    """A parameter's name that is no word of C++."""
    return name + "_" if name in KEYWORDS or name in ("register",) else name


class Form(NamedTuple):
    """One C++ function: its parameters as (declared, name), and the cells that it hands on in schema order."""

    parameters: list[tuple[str, str, str]]
    cells: list[str]


def cell_of(kind: str) -> str:
    """The name of the function that makes a cell of a parameter of one type: the compiler need not choose among cell()'s."""
    return "_".join(["cell", *(w for w in re.findall(r"\w+", kind) if w not in ("const", "at", "std", "c10"))])


def cell(a: Argument) -> str:
    """What an argument is handed on as."""
    return f"::shim::{cell_of(str(parameter(a)))}({safe(a.name)})"


def forms(schema: Schema) -> list[Form]:
    """The functions of an overload: with options as one TensorOptions, and expanded."""
    outs = [a for a in schema.arguments if a.written and a.keyword]
    rest = [a for a in schema.arguments if a not in outs]
    names = [a.name for a in rest]
    at = names.index("dtype") if "dtype" in names else -1
    has_options = at >= 0 and names[at : at + 4] == OPTIONS

    def made(arguments: list[Argument], cells: list[str]) -> Form:
        declared = [(f"{parameter(a)}", safe(a.name), "") for a in outs]
        declared += [
            ("at::TensorOptions" if a.type == "options" else f"{parameter(a)}", safe(a.name), default(a))
            for a in arguments
        ]
        return Form(declared, [*cells, *map(cell, outs)])

    if not has_options:
        return [made(with_defaults(rest), [cell(a) for a in rest])]
    options = Argument("options", "options", None if rest[at].default is None else "{}", False, True)
    folded = with_defaults([*rest[:at], options, *rest[at + 4 :]])
    cells = [cell(a) for a in rest]
    cells[at : at + 4] = [f"options.{n}_cell()" for n in OPTIONS]
    return [made(folded, cells), made([a._replace(default=None) for a in rest], [cell(a) for a in rest])]


def result(schema: Schema) -> str | None:
    """What a function gives; None where C++ has no type for it."""
    outs = [a for a in schema.arguments if a.written and a.keyword]
    if outs:
        if any(a.type != "Tensor" for a in outs):
            return "void"
        return "at::Tensor &" if len(outs) == 1 else f"::std::tuple<{','.join(['at::Tensor &'] * len(outs))}>"
    if schema.arguments and schema.arguments[0].written and schema.returns == ["Tensor"]:
        return "at::Tensor &"
    kinds = ["::std::vector<at::Tensor>" if r == "Tensor[]" else RETURNS.get(r) for r in schema.returns if r != "()"]
    if None in kinds:
        return None
    return "void" if not kinds else kinds[0] if len(kinds) == 1 else f"::std::tuple<{','.join(map(str, kinds))}>"


def bound_cells(schema: Schema, form: Form) -> list[str]:
    """A function's cells in the order of the table's arguments; those that only the table has are None."""
    if not schema.bound:
        return form.cells
    outs = [a.name for a in schema.arguments if a.written and a.keyword]
    names = [a.name for a in schema.arguments if a.name not in outs] + outs
    cells = dict(zip(names, form.cells, strict=True))
    return [cells.get(name, "::shim::none_cell()") for name in schema.bound]


def body(schema: Schema, form: Form, kind: str) -> str:
    """Of a function: its operator, its cells, its call."""
    outs = [safe(a.name) for a in schema.arguments if a.written and a.keyword]
    handed = bound_cells(schema, form)
    cells = f"const ShimCell c[] = {{{', '.join(handed)}}}; " if handed else ""
    given = f"c, {len(handed)}" if handed else "nullptr, 0"
    op = f'static const ::shim::Op op{{"aten::{schema.name}", "{schema.overload}"}}; '
    if "&" not in kind:
        wants = kind == "at::Tensor" and any(t == "at::TensorOptions" for t, _, _ in form.parameters)
        value = f"::shim::call<{kind}>(op, {given})"
        return f"{op}{cells}return {f'::shim::with_options({value}, options)' if wants else value};"
    written = outs or [safe(schema.arguments[0].name)]
    named = [f"const_cast<at::Tensor &>({w})" for w in written]
    value = named[0] if len(named) == 1 else f"{kind}({', '.join(named)})"
    return f"{op}{cells}::shim::call<void>(op, {given}); return {value};"


def told_apart(made: list[Form]) -> list[Form]:
    """A name's functions, so that no call fits two: where two need the same parameters, the longer one needs another."""

    def needed(form: Form) -> tuple[str, ...]:
        return tuple(t for t, _, d in form.parameters if not d)

    made = list(made)
    while True:
        found: dict[tuple[str, ...], int] = {}
        for i, form in enumerate(made):
            other = found.setdefault(needed(form), i)
            if other != i:
                break
        else:
            return made
        pair = [k for k in (other, i) if any(d for _, _, d in made[k].parameters)]
        if not pair:
            made.pop(i)
            continue
        longest = max(pair, key=lambda k: len(made[k].parameters))
        first = next(k for k, p in enumerate(made[longest].parameters) if p[2])
        parameters = [(t, n, "" if k == first else d) for k, (t, n, d) in enumerate(made[longest].parameters)]
        made[longest] = made[longest]._replace(parameters=parameters)


def by_name(schemas: dict[tuple[str, str], Schema]) -> dict[str, list[tuple[Schema, Form]]]:
    """The functions of each name."""
    named: dict[str, list[tuple[Schema, Form]]] = {}
    for schema in schemas.values():
        if result(schema) is None or schema.name in KEYWORDS or schema.overload.startswith("prim_"):
            continue
        if any(parameter(a) is None for a in schema.arguments):
            continue
        name = schema.name + ("_out" if any(a.written and a.keyword for a in schema.arguments) else "")
        there = named.setdefault(name, [])
        for form in forms(schema):
            types = [p[0] for p in form.parameters]
            if all(types != [p[0] for p in other.parameters] for _, other in there):
                there.append((schema, form))
    return named


def generate(schemas: dict[tuple[str, str], Schema]) -> tuple[str, str, int]:
    """(functions, the class's declarations of methods, how many functions)."""
    functions, bodies, methods = [], [], []
    kinds: set[str] = set()
    for name, made in by_name(schemas).items():
        apart = told_apart([form for _, form in made])
        whose = {id(form.cells): schema for schema, form in made}
        for form in apart:
            schema = whose[id(form.cells)]
            kind, out = result(schema), name != schema.name
            assert kind
            kinds.update(str(parameter(a)) for a in schema.arguments)
            if schema.name not in BY_HAND or out:
                declared = ", ".join(f"{t} {n}{d}" for t, n, d in form.parameters)
                functions.append(f"inline {kind} {name}({declared}) {{ {body(schema, form, kind)} }}")
            selves = [p for p in form.parameters if p[:2] == ("const at::Tensor &", "self")]
            if not selves or out or schema.name in BY_HAND:
                continue
            rest = [p for p in form.parameters if p is not selves[0]]
            methods.append(f"{kind} {name}({', '.join(f'{t} {n}{d}' for t, n, d in rest)}) const;")
            handed = ", ".join("*this" if p is selves[0] else p[1] for p in form.parameters)
            typed = ", ".join(f"{t} {n}" for t, n, _ in rest)
            bodies.append(f"inline {kind} Tensor::{name}({typed}) const {{ return at::{name}({handed}); }}")
    given = {
        k: k if k.endswith("&") else f"const {k} &" for k in sorted(kinds)
    }  # cells may point into what they are of
    cells = [f"inline ShimCell {cell_of(k)}({typed} v) {{ return cell(v); }}" for k, typed in given.items()]
    text = "namespace shim {\n" + "\n".join(cells) + "\n}  // namespace shim\n"
    text += "namespace at {\n" + "\n".join(functions) + "\n" + "\n".join(bodies) + "\n}  // namespace at\n"
    return text, "\n".join(methods) + "\n", len(functions)
