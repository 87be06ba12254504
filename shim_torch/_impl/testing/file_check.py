"""``torch.testing.FileCheck``: checks that texts hold certain pieces in a certain order."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["FileCheck"]

_LINE = re.compile(
    r"#\s*(CHECK(?:-NOT|-NEXT|-SAME|-DAG|-REGEX|-SOURCE-HIGHLIGHTED|-COUNT-(?:EXACTLY-)?\d+)?):\s*(.*?)\s*$", re.M
)


def _shown(text: str, start: int, length: int) -> str:
    """The text with a mark under a place of it."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    length = min(length, end - start)
    return f"{text[:end]}\n{' ' * (start - begin)}{'~' * length} <--- HERE\n{text[end + 1 :]}".rstrip("\n") + "\n"


class FileCheck:
    """Checks are added one after another and run on a text: ``FileCheck().check("a").check_not("b").run(text)``."""

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, int]] = []  # (kind, what, how often)

    def _add(self, kind: str, text: str, count: int = 1) -> FileCheck:
        self._checks.append((kind, text, count))
        return self

    def check(self, text: str) -> FileCheck:
        """The text comes next, after all that was found before."""
        return self._add("CHECK", text)

    def check_not(self, text: str) -> FileCheck:
        """The text does not come before what is found next."""
        return self._add("CHECK-NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """The text comes on the same line."""
        return self._add("CHECK-SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """The text comes on the next line."""
        return self._add("CHECK-NEXT", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes so many times, with ``exactly`` not once more."""
        self._add("CHECK-COUNT", text, count)
        return self._add("CHECK-NOT", text) if exactly else self

    def check_dag(self, text: str) -> FileCheck:
        """The text comes; several of these in a row come in any order."""
        return self._add("CHECK-DAG", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """The text comes, marked by tildes on the line below."""
        return self._add("CHECK-SOURCE-HIGHLIGHTED", text)

    def check_regex(self, text: str) -> FileCheck:
        """A match of the regular expression comes next."""
        return self._add("CHECK-REGEX", text)

    def _parse(self, text: str) -> None:
        for kind, what in _LINE.findall(text):
            count = re.match(r"CHECK-COUNT-(EXACTLY-)?(\d+)", kind)
            if count is not None:
                self.check_count(what, int(count[2]), bool(count[1]))
            else:
                self._add(kind, what)

    def run(self, *texts: str) -> None:
        """Checks a text; of two, the first holds checks as comments (``# CHECK: a``). Errors: RuntimeError."""
        if len(texts) == 2:
            self._parse(texts[0])
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        text, at, nots, i = str(texts[-1]), 0, [], 0
        while i < len(self._checks):
            kind, what, count = self._checks[i]
            if kind == "CHECK-NOT":
                nots.append(what)
                i += 1
                continue
            group = [(what, kind)]
            while kind == "CHECK-DAG" and i + 1 < len(self._checks) and self._checks[i + 1][0] == "CHECK-DAG":
                i += 1
                group.append((self._checks[i][1], kind))
            found = [self._find(text, piece, name, count, at) for piece, name in group]
            self._refuse(text, nots, at, min(start for start, _ in found))
            nots, at = [], max(end for _, end in found)
            i += 1
        self._refuse(text, nots, at, len(text))

    @staticmethod
    def _missing(text: str, what: str, source: str, at: int, length: int) -> RuntimeError:
        shown = _shown(text, at, length) if length else text.rstrip("\n") + "\n"
        kind = "regex " if source == "CHECK-REGEX" else ""
        shown = "" if kind else shown
        return RuntimeError(
            f'Expected to find {kind}"{what}" but did not find it\nSearched string:\n{shown}From {source}: {what}\n'
        )

    @staticmethod
    def _refuse(text: str, nots: list[Any], start: int, end: int, source: str = "CHECK-NOT") -> None:
        for what in nots:
            at = text.find(what, start, end)
            if at >= 0:
                shown = _shown(text, at, len(what))
                raise RuntimeError(f'Expected to not find "{what}" but found it\n{shown}From {source}: {what}\n')

    def _find(self, text: str, what: str, kind: str, count: int, at: int) -> tuple[int, int]:
        if kind == "CHECK-REGEX":
            match = re.compile(what).search(text, at)
            if match is None:
                raise self._missing(text, what, kind, at, 0)
            return match.span()
        if kind == "CHECK-NEXT":
            at = text.find("\n", at) + 1 or len(text)
        start = first = text.find(what, at)
        for _ in range(count - 1):
            start = text.find(what, start + len(what)) if start >= 0 else start
        if start < 0:
            source = f"{kind}-{count}" if kind == "CHECK-COUNT" else kind
            raise self._missing(text, what, source, at, len(what) if kind in ("CHECK", "CHECK-DAG") else 0)
        if kind in ("CHECK-SAME", "CHECK-NEXT") and "\n" in text[at:start]:
            raise RuntimeError(f'Expected to not find "\\n" but found it\n{text.rstrip()}\nFrom {kind}: {what}\n')
        if kind == "CHECK-SOURCE-HIGHLIGHTED":
            self._highlighted(text, what, start)
        return first, start + len(what)

    def _highlighted(self, text: str, what: str, start: int) -> None:
        column = start - (text.rfind("\n", 0, start) + 1)
        below = text.find("\n", start) + 1
        marks = text[below + column : below + column + len(what)]
        if not below or marks != "~" * len(what):
            raise RuntimeError(f'Expected to find "{"~" * len(what)}" but did not find it\nSearched string:\n{text}\n')
