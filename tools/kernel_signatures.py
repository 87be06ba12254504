"""The kernels of a ``.cuh`` file and their parameters, read from its text, as C++ declarations that launches are checked against."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

KERNEL = re.compile(
    r"__global__\s+void\s+(?:__launch_bounds__\([^()]*\)\s*)?(?P<name>\w+(?:##\w+)?)\s*\((?P<parameters>[^()]*)\)\s*\{"
)
MACRO = re.compile(r"^#define (\w+)\((\w+)[^)]*\)(.*)", re.MULTILINE)
STRUCT = re.compile(r"(?<![\w>] )\bstruct (?:alignas\(\d+\) )?(\w+) \{([^{}]*)\};")
FIELD = re.compile(r"(?:const )?(\w+)\s+(.+)")

SCALARS = {  # what kernels call a type -> C++'s name for it, and its size
    "i64": ("int64_t", 8),
    "long long": ("int64_t", 8),
    "u64": ("uint64_t", 8),
    "double": ("double", 8),
    "int": ("int", 4),
    "u32": ("uint32_t", 4),
    "unsigned": ("uint32_t", 4),
    "float": ("float", 4),
    "u8": ("uint8_t", 1),
}


class Kernel(NamedTuple):
    """A kernel's name and the C++ types of its parameters: ``void*``, ``int64_t``, ``Struct<200>``, ``ByMacro``."""

    name: str
    parameters: tuple[str, ...]


def plain(text: str) -> str:
    """The text without ``//`` comments and how a parameter is passed, a macro's lines joined."""
    return re.sub(r"//.*|__grid_constant__ ", "", text.replace("\\\n", " "))


def struct_sizes(text: str) -> dict[str, int]:
    """The sizes of the structs that ``text`` defines; 0 where they depend on macros or templates."""
    sizes: dict[str, int] = {}
    for name, body in STRUCT.findall(text):
        templated = re.search(rf"template <[^<>]*> struct (?:alignas\(\d+\) )?{name}\b", text)
        sizes[name] = 0 if templated or "(" in body else _size(body, sizes)
    return sizes


def _size(body: str, sizes: dict[str, int]) -> int:
    at, widest = 0, 1
    for statement in filter(None, (s.strip() for s in body.split(";"))):
        found = FIELD.fullmatch(" ".join(statement.split()).replace("*", " *"))
        assert found, f"no field: {statement!r}"
        for declared in found[2].split(","):
            item = 8 if "*" in declared else SCALARS.get(found[1], ("", sizes.get(found[1], 0)))[1]
            if not item:
                return 0
            align = item if item <= 8 and found[1] not in sizes else 8
            count = 1
            for bound in re.findall(r"\[([^\]]*)\]", declared):
                if not bound.isdigit():
                    return 0
                count *= int(bound)
            at = -(-at // align) * align + item * count
            widest = max(widest, align)
    return -(-at // widest) * widest


def _parameter(text: str, sizes: dict[str, int]) -> str:
    text = " ".join(text.split())
    if "*" in text:
        return "const void*" if text.startswith("const ") else "void*"
    text = text.removeprefix("const ")
    of = re.sub(r"<.*>", "", text)
    for name, (spelled, _) in SCALARS.items():
        if re.fullmatch(rf"{name}(?: \w+)?", of):
            return spelled
    kind = of.split()[0]
    return f"Struct<{sizes[kind]}>" if kind in sizes else "Struct<0>" if of != text else "ByMacro"


def parameters(kernel: re.Match[str], sizes: dict[str, int]) -> tuple[str, ...]:
    """The C++ types of a kernel's parameters; ``sizes`` of the structs that it may name."""
    return tuple(_parameter(p, sizes) for p in kernel["parameters"].split(","))


def _within_macros(text: str, declared: Callable[[re.Match[str], str], Kernel]) -> Iterator[Kernel]:
    """The kernels that a macro defines, once for each of its uses."""
    for macro, argument, body in MACRO.findall(text):
        if found := KERNEL.search(body):
            for value in re.findall(rf"^{macro}\((\w+)", text, re.MULTILINE):
                prefix, joined, _ = found["name"].partition(f"##{argument}")
                yield declared(found, prefix + value if joined else value)


def kernels_of(text: str, included: str) -> list[Kernel]:
    """The kernels of a file's ``text``, in order; ``included``: the texts of the files whose structs it may name."""
    text, included = plain(text), plain(included)
    sizes = struct_sizes(included + text)

    def declared(found: re.Match[str], name: str) -> Kernel:
        return Kernel(name, parameters(found, sizes))

    outside = MACRO.sub("", text)
    kernels = [declared(found, found["name"]) for found in KERNEL.finditer(outside)]
    assert len(kernels) == outside.count("__global__"), "a kernel's declaration was not understood"
    kernels += _within_macros(text, declared)
    by_name: dict[str, Kernel] = {}
    for kernel in kernels:
        assert by_name.setdefault(kernel.name, kernel) == kernel, f"two signatures of {kernel.name}"
    return list(by_name.values())


def header(file: str, kernels: list[Kernel]) -> str:
    """The C++ header that declares them: ``cuda/kernels/gather.cuh``'s are in the namespace ``entries::gather``."""
    stem = file.rpartition("/")[2].removesuffix(".cuh")
    lines = [f"// Made by tools/embed_kernels.py from {file}.", "#pragma once", '#include "cuda/kernel_entry.h"', ""]
    lines.append(f"namespace shim::cuda::entries::{stem} {{")
    for kernel in kernels:
        types = ", ".join(kernel.parameters)
        lines += [
            "",
            f"struct {kernel.name} : Entry<{types}> {{",
            f'  static constexpr char name[] = "{kernel.name}";',
            "};",
        ]
    return "\n".join([*lines, "", f"}}  // namespace shim::cuda::entries::{stem}", ""])
