"""Operators' schemas as the C++ functions need them: their arguments, what is written to, what is given back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

SCHEMA = re.compile(r"^~?(?:aten::)?([A-Za-z_]\w*)(?:\.(\w+))?\((.*)\) -> (.*)$", re.S)


class Argument(NamedTuple):
    """One of a schema: what stands before its name, and whether it is written to."""

    type: str
    name: str
    default: str | None
    written: bool
    keyword: bool


class Schema(NamedTuple):
    """A parsed one."""

    name: str
    overload: str
    arguments: list[Argument]
    returns: list[str]
    bound: tuple[str, ...] = ()  # the names of the table's own arguments, where they are others


def split(text: str) -> list[str]:
    """At commas outside brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c in "\"'"
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth and not quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def argument(text: str, keyword: bool) -> Argument:
    """Of ``Tensor(a!) self`` or ``int[2] stride=1``."""
    kind, _, rest = text.rpartition(" ") if "=" not in text else (*text.partition("=")[0].rpartition(" ")[:2], "")
    name, default = (rest, None) if "=" not in text else (text.partition("=")[0].split()[-1], text.partition("=")[2])
    return Argument(re.sub(r"\([a-z*!| ->]*\)", "", kind.strip()), name, default, "!" in kind, keyword)


def parse(text: str) -> Schema | None:
    """Of a schema's text; None of another."""
    found = SCHEMA.match(text.strip())
    if not found:
        return None
    name, overload, inner, returns = found.groups()
    given, keyword, arguments = split(inner), False, []
    for part in given:
        if part == "*":
            keyword = True
        else:
            arguments.append(argument(part, keyword))
    inner = returns[1:-1] if returns.startswith("(") else returns
    kinds = [re.sub(r"\([a-z*!| ->]*\)", "", r).split()[0] for r in split(inner)]
    return Schema(name, overload or "", arguments, kinds)


def collect(texts: Iterable[str]) -> dict[tuple[str, str], Schema]:
    """Schemas by (name, overload): the first of a name tells its function's parameters, the last how its call is bound."""
    found: dict[tuple[str, str], Schema] = {}
    for schema in filter(None, map(parse, texts)):
        first = found.setdefault((schema.name, schema.overload), schema)
        if len(schema.arguments) != len(first.arguments):
            found[schema.name, schema.overload] = first._replace(bound=tuple(a.name for a in schema.arguments))
    return found
