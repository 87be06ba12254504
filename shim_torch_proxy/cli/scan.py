"""``python -m compat scan``: the torch names and C functions that a package uses, and those that are missing here."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

from shim_torch_proxy.cli import program


def sources(target: str) -> Iterator[tuple[str, str]]:
    """(file, text) of every Python file of a wheel, sdist, folder, file or importable package, which is not imported.

    Errors: FileNotFoundError when ``target`` is none of these.
    """
    from shim_torch_proxy.cli import binaries

    if os.path.isfile(target) and zipfile.is_zipfile(target):
        with zipfile.ZipFile(target) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".py"):
                    yield name, archive.read(name).decode("utf-8", "replace")
        return
    if os.path.isfile(target) and target.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")):
        yield from _of_tar(target)
        return
    roots = [target] if os.path.exists(target) else []
    roots = roots or places(target)
    if not roots:
        raise FileNotFoundError(f"{target!r} is no file, folder, wheel or package; install it or give its path")
    for root in roots:
        if os.path.isfile(root) and (binaries.is_shared_object(root) or not is_source(root)):
            continue
        files = [root] if os.path.isfile(root) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name.endswith(".py")
        )  # fmt: skip
        for path in files:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield path, file.read()


def _of_tar(path: str) -> Iterator[tuple[str, str]]:
    import tarfile

    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() and member.name.endswith(".py") else None
                if file is not None:
                    yield member.name, file.read().decode("utf-8", "replace")
    except (tarfile.TarError, EOFError, OSError):
        return  # what it holds can't be told: nothing to scan


def is_source(path: str) -> bool:
    """Whether a file is Python's: by its ending; without one by its first line, or whether Python can read it."""
    ending = os.path.splitext(path)[1]
    if ending in (".py", ".pyi", ".pyw"):
        return True
    with open(path, "rb") as file:
        text = file.read()
    if text.startswith(b"#!"):
        return b"python" in text.split(b"\n", 1)[0]
    try:
        return not ending and bool(ast.parse(text).body)
    except (SyntaxError, ValueError):
        return False


def places(name: str) -> list[str]:
    """The files or folders of a package, a sub-package or a distribution; none of them is imported."""
    top, _, rest = name.partition(".")
    spec = importlib.util.find_spec(top) if name and all(part.isidentifier() for part in name.split(".")) else None
    for part in rest.split(".") if rest else ():
        folders = spec.submodule_search_locations if spec is not None else None
        spec = importlib.machinery.PathFinder.find_spec(part, list(folders)) if folders else None
    if spec is not None:
        return list(spec.submodule_search_locations or ([spec.origin] if spec.origin else []))
    wanted = re.sub(r"[-_.]+", "-", name).lower()
    held = importlib.metadata.packages_distributions().items()
    packages = [p for p, owners in held if wanted in [re.sub(r"[-_.]+", "-", o).lower() for o in owners]]
    return [place for p in packages if p.isidentifier() and p != name for place in places(p)]


def names_in(tree: ast.AST) -> Counter[str]:
    """Dotted torch names of one file, with the aliases its imports give them."""
    aliases: dict[str, str] = {}
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name == "torch" or item.name.startswith("torch."):
                    aliases[item.asname or "torch"] = item.name if item.asname else "torch"
                    found[item.name] += 1
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module == "torch" or node.module.startswith("torch."):
                for item in node.names:
                    full = node.module if item.name == "*" else f"{node.module}.{item.name}"
                    aliases[item.asname or item.name] = full
                    found[full] += 1
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            parts, base = [node.attr], node.value
            while isinstance(base, ast.Attribute):
                parts.append(base.attr)
                base = base.value
            if isinstance(base, ast.Name) and base.id in aliases:
                found[".".join([aliases[base.id], *reversed(parts)])] += 1
    return found


def only_a_name(value: Any) -> bool:
    """Whether ``value`` can be imported but not used. Its own attributes are looked at, so that none is computed."""
    return "__not_built__" in getattr(value, "__dict__", ())


def status(name: str) -> tuple[str, str]:
    """(the part of ``name`` that belongs to torch, "ok" or "missing")."""
    from shim_torch_proxy import modules

    value: Any = modules.get("torch")
    dotted = "torch"
    for part in name.split(".")[1:]:
        dotted += f".{part}"
        try:
            value = getattr(value, part)
            if only_a_name(value):  # it can be imported, and says that it is not there when it is used
                return dotted, "missing"
        except (AttributeError, NotImplementedError):
            if dotted.startswith("torch.ops."):
                return "torch.ops", "ok"  # filled by the library itself
            if not isinstance(value, type(sys)) or not modules.exists(dotted):
                return dotted, "missing"
            value = modules.get(dotted)
        if not isinstance(value, type(sys)):
            return dotted, "ok"  # attributes of classes and values are theirs
    return dotted, "ok"


def scan(target: str) -> dict[str, Any]:
    """``{"target", "files", "names": {name: {"uses", "status"}}, "missing": […], "binaries": […]}``."""
    from shim_torch_proxy.cli import binaries

    uses: Counter[str] = Counter()
    files = unreadable = 0
    for _, text in sources(target):
        files += 1
        if "torch" not in text:
            continue
        try:
            uses += names_in(ast.parse(text))
        except (SyntaxError, ValueError):
            unreadable += 1
    table: dict[str, dict[str, Any]] = {}
    for name, count in uses.items():
        short, state = status(name)
        row = table.setdefault(short, {"uses": 0, "status": state})
        row["uses"] += count
    missing = sorted(name for name, row in table.items() if row["status"] == "missing")
    found = binaries.scan(target)
    if not files and not found:
        raise FileNotFoundError(f"{target!r} has neither Python files nor shared objects")
    return {
        "target": target,
        "files": files,
        "unreadable": unreadable,
        "names": table,
        "missing": missing,
        "binaries": found,
    }


def main(target: str, as_json: bool) -> int:
    """Prints the table; 0 when nothing is missing, 1 otherwise, 2 when there is nothing to scan."""
    from shim_torch_proxy.cli import binaries

    try:
        result = scan(target)
    except FileNotFoundError as error:
        print(f"{program()} scan: {error}", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(result, indent=1, sort_keys=True))
    else:
        for name, row in sorted(result["names"].items(), key=lambda item: (item[1]["status"], -item[1]["uses"])):
            print(f"{row['status']:8} {row['uses']:6}  {name}")
        for line in binaries.lines(result["binaries"]):
            print(line)
        unread = f", {result['unreadable']} that Python cannot parse" if result["unreadable"] else ""
        print(f"{result['files']} files, {len(result['names'])} names, {len(result['missing'])} missing{unread}")
    bad = any(row["missing"] or row["kind"] == "C++ ABI" for row in result["binaries"])
    return 1 if result["missing"] or bad else 0
