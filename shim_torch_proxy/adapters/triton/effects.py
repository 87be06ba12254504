"""What a compiled Triton kernel may do to memory, by its TTIR: which of its parameters it may write to, and whether it stays with them.

What is not understood counts as a write, so that a kernel may be said to write where it only reads, never the other way round.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")
_OPERATION = re.compile(r'^(?:(%[\w$.:, %-]+?) = )?"?([a-z_]+\.[\w.]+)"?')
_PARAMETER = re.compile(r"(%[\w$.-]+): ")
_CARRIED = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_PLACE = re.compile(r" loc\((?:[^()]|\([^()]*\))*\)$")

# Operations whose result is an address made of their operands' addresses: of the first of them, or of any.
_FIRST = {"tt.addptr", "tt.advance", "tt.make_tensor_ptr"}
_ANY = {"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast", "arith.select"}


def leaves_parameters(ttir: str) -> str | None:
    """Why the kernel may reach memory that is not among its parameters; None: it does not."""
    if "tt.int_to_ptr" in ttir or "!tt.ptr<!tt.ptr" in ttir:
        return "a Triton kernel makes addresses of numbers"
    for line in ttir.splitlines():
        if "tt.elementwise_inline_asm" in line and "pure = true" not in line:
            return "a Triton kernel has assembly that may write"
    return None


class _Groups:
    """Names that may stand for one address."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def find(self, name: str) -> str:
        """What stands for the group."""
        while name in self._of:
            name = self._of[name]
        return name

    def join(self, a: str, b: str) -> None:
        """From now on both are of one group."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self._of[a] = b


def _results(text: str | None) -> list[str]:
    """The names of an operation's results: of "%a:2" these are "%a#0" and "%a#1"."""
    found = []
    for part in (text or "").split(","):
        name, _, count = part.strip().partition(":")
        if name:
            found += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return found


def written_parameters(ttir: str) -> list[bool] | None:
    """For each parameter of the kernel in ``ttir`` whether it may be written to; None: all that are addresses may."""
    lines = [_PLACE.sub("", line.strip()) for line in ttir.splitlines()]
    headers = [line for line in lines if line.startswith("tt.func")]
    if len(headers) != 1 or any(line.startswith("^") and "!tt.ptr" in line for line in lines):
        return None
    parameters = _PARAMETER.findall(headers[0])
    groups = _Groups()
    owners: list[
        tuple[list[str], list[str]]
    ] = []  # of open regions: results of what they are of, and what a loop carries
    others: list[str] = []  # operands of what is no known way to make an address or to read
    for line in lines[lines.index(headers[0]) + 1 :]:
        opens = line.count("{") - line.count("}")
        found = _OPERATION.match(line)
        results = _results(found[1]) if found else []
        carried: list[tuple[str, str]] = []
        if found:
            operands = _NAME.findall(line[found.end() :])
            if found[2] == "scf.for" and "iter_args(" in line:
                carried = _CARRIED.findall(line[line.index("iter_args(") :])
                for (name, first), result in zip(carried, results, strict=True):
                    groups.join(name, first)
                    groups.join(result, name)
            elif found[2] == "scf.yield":
                if not owners or (owners[-1][0] and len(owners[-1][0]) != len(operands)):
                    return None
                for names in filter(None, owners[-1]):
                    for operand, name in zip(operands, names, strict=True):
                        groups.join(operand, name)
            elif found[2] in _FIRST or found[2] in _ANY:
                for operand in operands[:1] if found[2] in _FIRST else operands:
                    groups.join(results[0], operand)
            elif found[2] not in ("tt.load", "scf.for", "scf.if"):
                others += operands[:1] if found[2] == "tt.store" else operands
        else:
            others += _NAME.findall(line)
        if opens > 0:
            owners.append((results, [name for name, _ in carried]))
        elif opens < 0 and owners:
            owners.pop()
    touched = {groups.find(name) for name in others}
    return [groups.find(name) in touched for name in parameters]
