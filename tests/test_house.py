"""The structure of the tree: what stands where, and what imports what. Each bound is today's number and only falls.

The goal of each is 0 unless it says another; what stays above it for a reason is in EXCEPTIONS.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from house import IMPL, ROOT, imports, largest_circle, modules, tree, under

# What a check counts -> the most that it may count.
BOUNDS = {
    "files that PyTorch lacks": 0,
    "families that import another": 0,
    "records that import the surface": 0,
    "arrays that import records": 0,
    "files that import CuPy, beside arrays": 0,
    "modules of _impl that import compat": 0,
    "largest circle of eager imports (goal 4)": 2,
    "largest circle of imports, lazy ones too (goal 20)": 12,
    "lists of operators' names in Python": 1,
    "lists of operators' names in C++": 0,
    "files with Python.h outside native/src/python": 0,
    "files with CUDA sources in string literals": 0,
    "folders of native/src in circles of includes": 0,
    "500 lines each of native/src/python (goal 24)": 24,
    "files of more than 300 lines": 0,
    "functions of more than 60 lines": 0,
    "test files of more than 300 lines": 0,
    "test functions of more than 60 lines": 0,
    "families without a test file": 0,
    "public definitions without docstrings": 0,
}

# Files that no module of PyTorch has the name of, with reasons.
IMPL_ROWS = "shim_torch/_impl/data/records.py"  # a table, which tools/records.py writes
EXCEPTIONS = {
    "shim_torch/testing/_internal/__init__.py": "PyTorch has it; the tables leave out its test suites",
    "shim_torch/testing/_internal/common_cuda.py": "as above",
    "shim_torch/testing/_internal/common_device_type.py": "as above",
    "shim_torch/testing/_internal/common_utils.py": "as above",
    "shim_torch/testing/_internal/composite_compliance.py": "as above",
    "shim_torch/testing/_internal/optests.py": "as above",
}

# Lists of names that are operators' too, and why no record has them.
LISTS = {
    "shim_torch/_impl/distributed/dispatch.py:_SIZED": "which argument of ATen's operators below autograd is a size, of no records",
    "shim_torch/_impl/distributed/sharding_rules.py:RULES": "operators below autograd beside the functions that are their rules",
    "shim_torch/_impl/distributed/sharding_rules.py:_CARRIES": "as above",
    "shim_torch/functional.py:__all__": "PyTorch's torch.functional.__all__",
    "shim_torch/masked/maskedtensor/binary.py:BINARY_NAMES": "a public name of PyTorch's module: what MaskedTensor takes",
    "shim_torch/masked/maskedtensor/reductions.py:REDUCE_NAMES": "as above",
    "shim_torch/masked/maskedtensor/unary.py:UNARY_NAMES": "as above",
    "shim_torch/masked/maskedtensor/unary.py:UNARY_NAMES_UNSUPPORTED": "as above",
    "shim_torch_proxy/adapters/triton/mends/symbols.py:_MATH": "functions of libdevice, which Triton's kernels call",
    "shim_torch_proxy/adapters/triton/mends/symbols.py:_ARITHMETIC": "as above",
}

pytestmark = pytest.mark.skipif(not (ROOT / "shim_torch" / "__init__.py").exists(), reason="there is no source tree")


def check(what: str, found: Iterable[object] | int) -> None:
    """Fails where more was found than the bound, and where fewer: then the bound falls."""
    names = found if isinstance(found, int) else sorted(map(str, found))
    number = names if isinstance(names, int) else len(names)
    bound = BOUNDS[what]
    assert number <= bound, f"{what}: {number}, at most {bound} may be: {names}"
    assert number == bound, f"{what}: {number}; BOUNDS says {bound}, which can fall now"


def test_surface_has_pytorchs_modules_only():
    from shim_torch._impl.surface.missing import has

    files = [
        f
        for name, f in modules().items()
        if under(name, "shim_torch") and not under(name, IMPL) and name != "shim_torch"
    ]
    lacking = {str(f.relative_to(ROOT)) for f in files if not has(".".join(["torch", *module_of(f)]))}
    assert not EXCEPTIONS.keys() - lacking, "an exception that is none"
    check("files that PyTorch lacks", lacking - EXCEPTIONS.keys())


def module_of(file: Path) -> tuple[str, ...]:
    parts = file.relative_to(ROOT / "shim_torch").with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def test_layers():
    records = f"{IMPL}.records"
    families, surface, arrays, cupy, upward = set(), set(), set(), set(), set()
    for name in modules():
        for to, _ in imports(name):
            if under(name, records) and not under(name, f"{records}.shared"):
                if under(to, records) and to != records and not under(to, f"{records}.shared"):
                    families.add(f"{name} -> {to}")
                if under(to, "shim_torch") and not under(to, IMPL):
                    surface.add(f"{name} -> {to}")
            if under(name, f"{IMPL}.arrays") and under(to, records):
                arrays.add(f"{name} -> {to}")
            if to.partition(".")[0] in ("cupy", "cupyx", "cupy_backends") and not under(name, f"{IMPL}.arrays"):
                cupy.add(name)
            if under(name, IMPL) and (under(to, "shim_torch_proxy") or under(to, "compat")):
                upward.add(name)
    check("families that import another", families)
    check("records that import the surface", surface)
    check("arrays that import records", arrays)
    check("files that import CuPy, beside arrays", cupy)
    check("modules of _impl that import compat", upward)


def test_circles():
    check("largest circle of eager imports (goal 4)", largest_circle(lazy_too=False))
    check("largest circle of imports, lazy ones too (goal 20)", largest_circle(lazy_too=True))


@cache
def operators() -> frozenset[str]:
    """The names of operators that no ordinary word is."""
    import shim_torch
    from shim_torch._impl.table.operators import records

    found = {record.schema.partition("(")[0].partition(".")[0] for record in records().values()}
    return (
        frozenset(found)
        - set(dir(shim_torch.nn))
        - set("all any set view size type copy to data sum max min item".split())
    )


def names_in(texts: Iterable[str]) -> int:
    words = [word.removeprefix("aten::").removeprefix("_").removesuffix("_") for text in texts for word in text.split()]
    known = [w for w in words if w in operators()]
    return len(known) if len(known) >= max(4, 0.6 * len(words)) else 0


def strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for item in node.elts:
            yield from strings(item)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            if key is not None:
                yield from strings(key)
    elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
        for item in [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]:
            yield from strings(item)


def test_lists_of_operators():
    """Names of four or more operators side by side, outside of the records: a fact that a record should have."""
    python = set()
    for name, file in modules().items():
        if under(name, f"{IMPL}.records", f"{IMPL}.data"):
            continue
        for node in tree(file).body:
            if (
                isinstance(node, (ast.Assign, ast.AnnAssign))
                and node.value is not None
                and names_in(strings(node.value))
            ):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                python.add(f"{file.relative_to(ROOT)}:{ast.unparse(target)}")
    cpp = set()
    for file in sorted((ROOT / "native" / "src").rglob("*.cpp")):
        for block in re.finditer(r"[={(]\s*\{?((?:\s*\{?\"[^\"\n]+\"[^\"]{0,40}?,?){4,})", file.read_text()):
            if re.search(r"\w<[\w:, ]+>\(?\"|\",\s*[\w:]+<|register_kernel<", block.group()):
                continue  # names beside their C++ functions: how kernels are registered
            if names_in(re.findall(r"\"([^\"\n]+)\"", block.group(1))):
                cpp.add(f"{file.relative_to(ROOT)}:{file.read_text()[: block.start()].count(chr(10)) + 1}")
    assert not LISTS.keys() - python, "an exception that is none"
    check("lists of operators' names in Python", python - LISTS.keys())
    check("lists of operators' names in C++", cpp)


def sources() -> list[Path]:
    return [f for f in sorted((ROOT / "native" / "src").rglob("*")) if f.is_file()]


def code_of(file: Path) -> str:
    """Without comments and texts, which may name what is Python's; paths of includes stay."""
    return re.sub(r'//.*|(?<!include )"(?:[^"\\\n]|\\.)*"', "", file.read_text())


def test_includes():
    source = ROOT / "native" / "src"
    python, edges = set(), set()
    for file in sources():
        folder = file.relative_to(source).parts[0]
        if folder != "python" and re.search(r"\b_?Py[A-Z_]\w*\b|Python\.h|include \"python/", code_of(file)):
            python.add(file.relative_to(ROOT))
        for include in re.findall(r'#include [<"]([^>"]+)[>"]', file.read_text()):
            to = include.partition("/")[0]
            if to != folder and (source / to).is_dir():
                edges.add((folder, to))
    reach = set(edges)
    while more := {(a, d) for a, b in reach for c, d in edges if b == c} - reach:
        reach |= more
    check("files with Python.h outside native/src/python", python)
    check("folders of native/src in circles of includes", {a for a, b in reach if a == b})
    lines = sum(len(f.read_text().splitlines()) for f in sources() if f.relative_to(source).parts[0] == "python")
    check("500 lines each of native/src/python (goal 24)", -(-lines // 500))


def test_kernels_are_files():
    """CUDA C++ stands in native/src/cuda/kernels, where an editor and the compiler's messages find it."""
    found = {f.relative_to(ROOT) for f in sources() if f.suffix != ".cuh" and "__global__" in f.read_text()}
    check("files with CUDA sources in string literals", found)


def test_lengths():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("no repository")
    files = [
        ROOT / f for f in tracked.stdout.split() if f.endswith((".py", ".cpp", ".h", ".cuh")) and (ROOT / f).exists()
    ]
    for kind, tests in (("", False), ("test ", True)):
        mine = [f for f in files if f.is_relative_to(ROOT / "tests") == tests and f != ROOT / IMPL_ROWS]
        long = {f.relative_to(ROOT) for f in mine if len(f.read_text().splitlines()) > 300}
        check(f"{kind}files of more than 300 lines", long)
        functions = {
            f"{file.relative_to(ROOT)}:{node.name}"
            for file in mine
            if file.suffix == ".py"
            for node in ast.walk(tree(file))
            if isinstance(node, ast.FunctionDef) and node.end_lineno and node.end_lineno - node.lineno >= 60
        }
        check(f"{kind}functions of more than 60 lines", functions)


def test_families_have_tests():
    """In the folder of its kind; what only CUDA runs, among the tests that need a GPU."""
    tests = ROOT / "tests"
    families = [n for n, f in modules().items() if under(n, f"{IMPL}.records") and f.name != "__init__.py"]
    families = [n for n in families if not under(n, f"{IMPL}.records.shared")]
    without = set()
    for name in families:
        kind, family = name.split(".")[-2:]
        places = (tests / "shim_torch" / "ops" / kind, tests / "gpu")
        if not any((place / f"test_{family}.py").exists() for place in places):
            without.add(f"{kind}.{family}")
    check("families without a test file", without)


def without_docstrings(nodes: Iterable[ast.AST], prefix: str = "") -> Iterator[str]:
    """Public functions, classes and their public methods that have no docstring; not setters, nor overloads for type checkers."""
    for node in nodes:
        if isinstance(node, (ast.If, ast.Try)):
            yield from without_docstrings(ast.iter_child_nodes(node), prefix)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            marks = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
            if not ast.get_docstring(node) and not marks & {"setter", "deleter", "overload"}:
                yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from without_docstrings(node.body, f"{prefix}{node.name}.")


def test_public_definitions_have_docstrings():
    lacking = {f"{name}.{lack}" for name, file in modules().items() for lack in without_docstrings(tree(file).body)}
    check("public definitions without docstrings", lacking)


def test_what_pytorch_lacks_is_absent():
    program = """
from compat import enable_torch_proxy
enable_torch_proxy(scope={"__main__"})
import torch, torch.backends, torch.optim
assert not hasattr(torch, "_impl") and not hasattr(torch.backends, "cupy") and not hasattr(torch.optim, "more")
for name in ("torch._impl", "torch._impl.records", "torch.optim.more", "torch.ops.arithmetic", "torch.nn.fused", "torch._elf", "torch._not_built"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert str(error).startswith(f"No module named '{name}"), error
    else:
        raise AssertionError(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT / "tests")
    assert done.returncode == 0, done.stderr
