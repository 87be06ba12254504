"""Launches are checked against the kernels' own declarations, which tools/kernel_signatures.py reads from their files."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_cuda_source import families

from shim_torch._impl.extensions.cuda_libraries import candidates

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "native" / "src"

pytestmark = pytest.mark.skipif(not SOURCES.exists(), reason="there is no source tree")


@pytest.fixture(scope="module")
def tools():
    """The modules embed_kernels and kernel_signatures."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import embed_kernels
        import kernel_signatures

        yield embed_kernels, kernel_signatures
    finally:
        sys.path.remove(str(ROOT / "tools"))


TEXT = """
struct Frame { i64 size[3], begin; const float* from; int dims; };  // 48 bytes
struct Two { Frame a; u32 n; };
template <int n> struct Many { T* of[n]; };
struct Own { C p; };
extern "C" __global__ void __launch_bounds__(256) moved(const T* from, T* to, i64 n,
    unsigned long_one, u64 seed, double x, int) {}
#define PAIR(name, how)                  \\
  extern "C" __global__ void __launch_bounds__(256, 2) \\
      name(C value, Frame f, Two two) {}
PAIR(first, 1)
PAIR(second, 2)
#define ROWS(n) extern "C" __global__ void rows_##n(Many<n> all, Own o, u8* flags) {}
ROWS(1)
"""


def test_signatures_are_read(tools):
    _, signatures = tools
    found = {k.name: k.parameters for k in signatures.kernels_of(TEXT, "")}
    assert found == {
        "moved": ("const void*", "void*", "int64_t", "uint32_t", "uint64_t", "double", "int"),
        "first": ("ByMacro", "Struct<48>", "Struct<56>"),
        "second": ("ByMacro", "Struct<48>", "Struct<56>"),
        "rows_1": ("Struct<0>", "Struct<0>", "void*"),
    }


def test_what_is_not_understood_is_an_error(tools):
    _, signatures = tools
    with pytest.raises(AssertionError, match="not understood"):
        signatures.kernels_of('extern "C" __global__ int* odd(int (*f)(int)) {}', "")
    with pytest.raises(AssertionError, match="two signatures of twice"):
        signatures.kernels_of("__global__ void twice(int a) {}\n__global__ void twice(i64 a) {}", "")


LAUNCHES = """
#include "cuda/kernel_entry.h"
using namespace shim::cuda;
struct Ours { int64_t a[6]; };
struct Other { int64_t a[5]; };
struct moved : Entry<const void*, void*, int64_t, int, Struct<48>, ByMacro> { static constexpr char name[] = "moved"; };
void all(Kernel<moved> f, const float* from, float* to, int64_t n, size_t many, Ours ours, Other other, Bytes c) {
  launch(f, {n}, 0, from, to, n, true, ours, c);
  launch(f, {n}, 0, nullptr, nullptr, 7, 7, ours, c);
#ifdef WRONG
  launch(f, {n}, 0, from, to, n, true, ours);            // another number
  launch(f, {n}, 0, from, from, n, true, ours, c);       // not one
  launch(f, {n}, 0, from, to, many, true, ours, c);      // not one
  launch(f, {n}, 0, from, to, n, n, ours, c);            // not one
  launch(f, {n}, 0, from, to, 1.5, true, ours, c);       // not one
  launch(f, {n}, 0, from, to, n, true, other, c);        // another size
#endif
}
"""


def test_wrong_launches_do_not_compile(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    source = tmp_path / "launches.cpp"
    source.write_text(LAUNCHES)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-fpermissive", "-w", f"-I{SOURCES}", str(source)]
    right = subprocess.run(command, capture_output=True, text=True, check=False)
    assert right.returncode == 0, right.stderr[-3000:]
    wrong = subprocess.run([*command, "-DWRONG"], capture_output=True, text=True, check=False)
    texts = {
        "another number": "the kernel takes another number of arguments",
        "not one": "the argument is not one for the kernel's parameter",
        "another size": "the kernel's parameter has another size",
    }
    lines = [(i, line.partition("// ")[2]) for i, line in enumerate(LAUNCHES.splitlines(), 1) if "// " in line]
    for number, why in lines:
        said = wrong.stderr.partition(f"launches.cpp:{number}:")
        assert said[1] and texts[why] in said[2][:4000], f"line {number}, {why}:\n{wrong.stderr[-3000:]}"


def test_no_launch_goes_around_the_check():
    """Arrays of arguments' addresses are made in one place; direct.cpp repeats a library's launches, Triton's have records.

    A Program's group has as many tensors as it reads: its kernel takes one array of them, made in run_cuda.cpp and run_cuda_rows.cpp.
    """
    by_hand, launching = set(), set()
    for file in (f for ending in ("cpp", "h") for f in SOURCES.rglob(f"*.{ending}")):
        text, name = file.read_text(), str(file.relative_to(SOURCES))
        if re.search(r"\bvoid\* \w+\[\w*\] = \{\s*&", text):
            by_hand.add(name)
        if re.search(r"(driver\(\)|\bd)\.launch(_ex)?\(", text):
            launching.add(name)
    assert by_hand == {"program/run_cuda.cpp", "program/run_cuda_rows.cpp"}
    assert launching == {
        "cuda/device_failure.cpp",
        "cuda/launch.cpp",
        "gemm/direct.cpp",
        "gemm/kernel_table.cpp",
        "cuda/compiled_kernel.cpp",
    }


SIZES = {"const void*": 8, "void*": 8, "int64_t": 8, "uint64_t": 8, "double": 8, "int": 4, "uint32_t": 4, "float": 4}
KINDS = {"void*": 1, "const void*": 2, "double": 4, "float": 4}
CHECKS = """
template <class Any> constexpr int kind_of = 0;
template <class Any> constexpr int kind_of<Any*> = 1;
template <class Any> constexpr int kind_of<const Any*> = 2;
template <> constexpr int kind_of<int> = 3;
template <> constexpr int kind_of<unsigned> = 3;
template <> constexpr int kind_of<long long> = 3;
template <> constexpr int kind_of<unsigned long long> = 3;
template <> constexpr int kind_of<float> = 4;
template <> constexpr int kind_of<double> = 4;
template <class... Of> struct Seen {
  static constexpr int in_all = sizeof...(Of), bytes_at[] = {int(sizeof(Of))...}, kind_at[] = {kind_of<Of>...};
};
template <class... Of> Seen<Of...> seen(void (*)(Of...));
"""
POINTWISE = {"LOGIC": 0, "WIDE": 0, "C": "float", "RESULT": "float", "EXTRA": 0, "V": 4, "N_IN": 2} | {
    f"T{i}": "float" for i in range(4)
}
KEYS = {"K1": 0, "K2": 0, "K3": 0}
REDUCE = {"OP": "sum", "NORM": 0, "TIN": "Bf16", "C": "float", "OUT": "Bf16", "V": 2, "LOGIC": 0, "LOG": 0}
OTHERS = [
    ("elementwise", {**POINTWISE, **KEYS, "OP": "mul", "FLAT": 1}),
    ("elementwise", {**POINTWISE, **KEYS, "OP": "mul", "FLAT": 0, "V": 1}),
    ("elementwise_chances", {**POINTWISE, **KEYS, "OP": "bce_each", "FLAT": 1}),
    ("reduce", {**REDUCE, "SOFTMAX": 0}),
    ("reduce", {**REDUCE, "SOFTMAX": 1}),
    ("gemm_columns", {"TYPE": 1}),
    ("skinny", {"TYPE": 0}),
    ("skinny", {"TYPE": 2}),
]


def stated(kernel: re.Match[str], parameters: tuple[str, ...]) -> str:
    """The kernel's head and, within its body, the parameters' count, sizes and kinds as assertions."""
    of = f"decltype(seen(::{kernel['name']}))"
    text = f"{kernel[0]} static_assert({of}::in_all == {len(parameters)});"
    for i, p in enumerate(parameters):
        struct = re.fullmatch(r"Struct<(\d+)>", p)
        if size := int(struct[1]) if struct else SIZES.get(p, 0):
            text += f" static_assert({of}::bytes_at[{i}] == {size});"
        if p != "ByMacro":
            text += f" static_assert({of}::kind_at[{i}] == {0 if struct else KINDS.get(p, 3)});"
    return text


def compiled(path: str, source: str, macros: dict[str, object]) -> bytes:
    """A program's machine code, in which its kernels' names are; fails with the compiler's log."""
    library, program, size = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None) == 0
    options = ["--gpu-architecture=sm_90" + "a" * ("HOPPER" in macros), "-std=c++17", "-default-device", "-w"]
    options += [f"-D{name}={value}" for name, value in macros.items()]
    given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = library.nvrtcCompileProgram(program, len(options), given)
    kind = "ProgramLog" if status else "CUBIN"
    getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{kind}")(program, text)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert not status, f"{macros}: {text.value.decode()}"
    return text.raw


@pytest.mark.slow
def test_declarations_are_the_kernels_own(tools):
    embed, signatures = tools
    path = next((p for p in candidates("nvrtc") if os.path.exists(p)), None)
    if path is None:
        pytest.skip("libnvrtc is not installed")
    found = embed.files(SOURCES)
    names = {file: {k.name for k in kernels} for file, kernels in embed.signatures(found).items()}
    left = set().union(*names.values())

    def whole(name: str, seen: set[str]) -> str:
        seen.add(name)
        text = signatures.plain(found[name])
        sizes = signatures.struct_sizes(signatures.plain(embed.included(found, name)) + text)
        text = signatures.KERNEL.sub(lambda kernel: stated(kernel, signatures.parameters(kernel, sizes)), text)
        return embed.INCLUDE.sub(
            lambda file: "" if file[1] in seen else whole(file[1], seen), text.replace("#pragma once", "")
        )

    for family, macros in [*OTHERS, *families()]:
        files: set[str] = set()
        text = whole(f"cuda/kernels/{family}.cuh", files)
        if left.isdisjoint(k for file in files for k in names.get(file, ())):
            continue  # with other macros they have the same parameters
        code = compiled(path, CHECKS + text, macros)
        left -= {name for name in left if f".text.{name}\0".encode() in code}
    # Their text is written for each group: tests/program/test_groups_on_cuda.py compiles them.
    left -= {"fused", "fused_strided", "fused_columns", "fused_rows"}
    assert not left, f"never compiled: {left}"
