"""What stands where in the tree and what imports what, read from the sources; test_house.py checks it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPL = "shim_torch._impl"


@cache
def modules() -> dict[str, Path]:
    """Our Python modules by name."""
    found = {}
    for package in ("shim_torch", "shim_torch_linear", "shim_torch_proxy", "compat"):
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def statements(nodes: Iterable[ast.AST], lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Import statements, and whether they run only when a function is called. What only type checkers read is left out."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, lazy
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from statements(ast.iter_child_nodes(node), inside)


@cache
def imports(name: str) -> frozenset[tuple[str, bool]]:
    """(module, whether lazily) that a module of ours imports: ours by their files, others by their full names."""
    package = name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node, lazy in statements(tree(modules()[name]).body):
        if isinstance(node, ast.Import):
            found.update((alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add((inner if inner in modules() else source, lazy))
    return frozenset(found - {(name, True), (name, False)})


def largest_circle(lazy_too: bool) -> int:
    """How many modules hang together in a circle of imports."""
    edges = {n: {m for m, lazy in imports(n) if m in modules() and (lazy_too or not lazy)} for n in modules()}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    largest = 0

    def visit(start: str) -> None:  # Tarjan's algorithm
        nonlocal largest
        work = [(start, iter(edges[start]))]
        order[start] = low[start] = len(order)
        stack.append(start)
        while work:
            name, rest = work[-1]
            for to in rest:
                if to not in order:
                    order[to] = low[to] = len(order)
                    stack.append(to)
                    work.append((to, iter(edges[to])))
                    break
                if to in stack:
                    low[name] = min(low[name], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    circle = stack[stack.index(name) :]
                    del stack[stack.index(name) :]
                    largest = max(largest, len(circle) if len(circle) > 1 else 0)

    for name in edges:
        if name not in order:
            visit(name)
    return largest


def under(name: str, *packages: str) -> bool:
    return any(name == p or name.startswith(f"{p}.") for p in packages)
