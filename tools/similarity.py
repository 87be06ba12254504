#!/usr/bin/env python3
"""How close our functions stand to same-named functions of other projects: a check that code was written, not retyped.

    similarity.py REFERENCE [REFERENCE …] [--project DIR] [--least 0.7] [--tokens 60] [--only PATH …] [--listed FILE]

A REFERENCE is a folder of Python sources, for example the `torch` folder in the site-packages of the environment with a real
PyTorch, or the sources of a release. Compared are bodies alone: docstrings, annotations, signatures and the arguments of
`raise` are left out, local names are made one, attribute and keyword names kept. The figure is the share of our body's tokens in
runs of four or more that the other body has in the same order. Against PyTorch 2.13, at 0.7: JAX 2 functions of 612, tinygrad none of
230. Short delegations that the interface forces reach it too: look before you judge, and list them with a reason in --listed
(`path:function  reason`). Exits 1 where a function that is not listed reaches --least, and where a listed one no longer does.
"""

import argparse
import ast
import collections
import copy
import difflib
import io
import keyword
import os
import sys
import tokenize
import warnings

KEYWORDS = set(keyword.kwlist)
LAYOUT = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


class _Bare(ast.NodeTransformer):
    """Takes annotations, docstrings and the texts of errors away."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            a.annotation = None
        node.returns, node.body = None, _without_docstring(node.body) or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.Assign([node.target], node.value), node) if node.value else ast.Pass()

    def visit_Raise(self, node):
        return ast.Raise(ast.Name("ERROR", ast.Load()), None)


def _without_docstring(body):
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def body_tokens(node):
    """The tokens of a function's body, local names as one."""
    statements = [_Bare().visit(s) for s in _without_docstring(copy.deepcopy(node).body)]
    text = "\n".join(ast.unparse(ast.fix_missing_locations(s)) for s in statements)
    found, before = [], ""
    for t in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
        if t.type in LAYOUT:
            continue
        s = t.string
        if t.type == tokenize.STRING or tokenize.tok_name[t.type].startswith("FSTRING"):
            s = "S"
        elif t.type == tokenize.NAME and s not in KEYWORDS and before != ".":
            s = "I"
        found.append(s)
        before = t.string
    return found


def functions(path):
    """(qualified name, node) of every function of a file."""
    with open(path, encoding="utf8", errors="replace") as f:
        try:
            tree = ast.parse(f.read())
        except (SyntaxError, ValueError, RecursionError):
            return
    stack = [(tree, ())]
    while stack:
        node, names = stack.pop()
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = (*names, child.name)
                if not isinstance(child, ast.ClassDef):
                    yield ".".join(inner), child
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.Try, ast.With)):
                stack.append((child, inner))


def sources(root):
    """The paths of the Python files under ``root``, or ``root`` where it is a file."""
    if os.path.isfile(root):
        yield root
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith(".py"))


def options():
    """The command line's settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("references", nargs="+")
    parser.add_argument("--project", default=".")
    parser.add_argument("--least", type=float, default=0.7)
    parser.add_argument("--tokens", type=int, default=60, help="bodies shorter than this are left out")
    parser.add_argument(
        "--only",
        nargs="*",
        default=["compat", "shim_torch_proxy", "shim_torch", "shim_torch_linear", "native"],
        help="paths of the project",
    )
    parser.add_argument("--listed", help="a file of `path:function  reason`: functions that may reach --least")
    return parser.parse_args()


def main():
    """Compares functions with those of the same name in the references, and prints those that reach ``--least``.

    Returns whether one is not listed, or a listed one no longer reaches it.
    """
    o = options()
    warnings.filterwarnings("ignore")
    theirs = collections.defaultdict(list)
    for root in o.references:
        for path in sources(root):
            for name, node in functions(path):
                theirs[name.rpartition(".")[2]].append((name, os.path.relpath(path, root), node))
    print(f"{sum(map(len, theirs.values()))} functions to compare with", file=sys.stderr)
    made, found, compared = {}, [], 0
    for place in o.only:
        for path in sources(os.path.join(o.project, place)):
            short = os.path.relpath(path, o.project)
            for name, node in functions(path):
                own = body_tokens(node)
                if len(own) < o.tokens:
                    continue
                candidates = theirs.get(name.rpartition(".")[2], [])
                if len(candidates) > 60:  # __init__, forward…: those of the same class or file
                    holder, tail = name.rpartition(".")[0].rpartition(".")[2], short.partition("/")[2]
                    candidates = [
                        c for c in candidates if (holder and holder in c[0].split(".")) or c[1].endswith(tail)
                    ][:80]
                best = (0.0, "", "", 0)
                for their_name, their_path, their_node in candidates:
                    if id(their_node) not in made:
                        made[id(their_node)] = body_tokens(their_node)
                    other = made[id(their_node)]
                    if not other or len(other) > 6 * len(own) + 200:
                        continue
                    blocks = difflib.SequenceMatcher(None, own, other, autojunk=False).get_matching_blocks()
                    share = sum(b.size for b in blocks if b.size >= 4) / len(own)
                    best = max(best, (share, their_name, their_path, their_node.lineno))
                compared += bool(candidates)
                if best[0] >= o.least:
                    found.append((best, short, name, node.lineno, node.end_lineno, len(own)))
    listed = listed_in(o.listed) if o.listed else set()
    fresh = [row for row in found if f"{row[1]}:{row[2]}" not in listed]
    for best, short, name, first, last, size in sorted(fresh, key=lambda r: (r[1], r[3])):
        print(f"{best[0]:.2f}  {size:4d} tokens  {short}:{first}-{last}  {name}  <-  {best[2]}:{best[3]}")
    stale = listed - {f"{row[1]}:{row[2]}" for row in found}
    for entry in sorted(stale):
        print(f"{o.listed}: {entry} does not reach {o.least} any more: take its line out")
    print(
        f"{len(found)} of {compared} functions with a namesake reach {o.least}, {len(fresh)} of them not listed",
        file=sys.stderr,
    )
    return bool(fresh or stale)


def listed_in(path):
    """The functions that a file of ``path:function  reason`` names. ValueError for one without a reason."""
    entries = set()
    with open(path, encoding="utf8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                entry, _, reason = line.strip().partition("  ")
                if not reason.strip():
                    raise ValueError(f"{path}: {entry} has no reason")
                entries.add(entry)
    return entries


if __name__ == "__main__":
    sys.exit(main())
