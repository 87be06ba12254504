"""``torch.utils.benchmark.utils.compare``: measurements side by side."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from math import ceil, log10

from shim_torch.utils.benchmark.utils.common import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)  # fmt: skip

__all__ = ["Colorize", "Compare"]

_END, _BOLD = "\033[0m", "\033[1m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"


class Colorize(enum.Enum):
    """Which entries of a table are coloured: none, by column, or by row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table a label: a row for each number of threads, environment and sub-label, a column for each description.

    Measurements of the same task count as one. Errors: ValueError for what is no Measurement.
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Puts more measurements into the table."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Shows only the figures that the times support."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colours times by how near they are to the best of their column, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Shows the spread of measurements whose times are far from each other."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        return "\n".join(
            _Table([m for m in merged if m.task_spec.label == label], self).render()
            for label in ordered_unique(m.task_spec.label for m in merged)
        )


_Key = tuple[int, "str | None", str]


class _Table:
    def __init__(self, results: list[Measurement], asked: Compare) -> None:
        self.results, self.trim, self.colours = results, asked._trim_significant_figures, asked._colorize
        self.marks = asked._highlight_warnings
        self.unit, self.scale = select_unit(min(m.median for m in results))
        keys: list[_Key] = ordered_unique(self._row(m) for m in results)
        self.rows = sorted(keys, key=lambda key: (key[0], key[1] or ""))
        self.columns: list[str | None] = ordered_unique(m.task_spec.description for m in results)
        self.cells = {(self._row(m), m.task_spec.description): m for m in results}

    @staticmethod
    def _row(m: Measurement) -> _Key:
        return m.task_spec.num_threads, m.task_spec.env, m.as_row_name

    def _template(self, column: str | None) -> str:
        """The format of a column's times, with room for marks where any of them has one."""
        here = [m for (_, name), m in self.cells.items() if name == column]
        leading = [ceil(log10(m.median / self.scale)) for m in here]
        decimals = 1
        if self.trim:
            decimals = min(max(m.significant_figures - digits, 0) for m, digits in zip(here, leading, strict=True))
        width = max(leading) + decimals + (1 if decimals else 0)
        return f"{{:>{width}.{decimals}f}}{{:>{7 if self._marked(here) else 0}}}"

    def _marked(self, column: Iterable[Measurement]) -> bool:
        return self.marks and any(m.has_warnings for m in column)

    def _text(self, template: str, m: Measurement | None, column: str | None) -> str:
        if m is None:
            return " " * len(template.format(1.0, ""))
        value = m.median / self.scale
        if self.trim:
            value = trim_sigfig(value, m.significant_figures)
        mark = f" (! {m.iqr / m.median * 100:.0f}%)" if self.marks and m.has_warnings else ""
        return template.format(value, mark)

    def _names(self) -> list[str]:
        """The first column: the environment where it changes, if there are several, and the row's name."""
        several = len({env for _, env, _ in self.rows}) > 1
        width = max(len(str(env)) for _, env, _ in self.rows) if several else 0
        names, before = [], (-1, "")
        for threads, env, name in self.rows:
            if threads != before[0]:
                before = threads, ""
            shown = f"({env})" if several and env != before[1] else ""
            before = threads, env or ""
            names.append("  " + shown.ljust(width + 4) + name)
        return names

    def render(self) -> str:
        templates = [self._template(column) for column in self.columns]
        head = ["", *(column or "" for column in self.columns)]
        body = [
            [name, *(self._text(t, self.cells.get((row, c)), c) for t, c in zip(templates, self.columns, strict=True))]
            for name, row in zip(self._names(), self.rows, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(head, widths, strict=True))]
        overall, threads = len(lines[0]), -1
        for row, texts in zip(self.rows, body, strict=True):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
            cells = [text.center(width) for text, width in zip(texts[1:], widths[1:], strict=True)]
            coloured = [self._coloured(text, row, column) for text, column in zip(cells, self.columns, strict=True)]
            lines.append("  |  ".join([texts[0].ljust(widths[0]), *coloured]))
        title = f" {self.results[0].task_spec.label or ''} ".center(overall - 2, "-")
        meaning = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        words = f"Times are in {unit_to_english(self.unit)}s ({self.unit}).\n{meaning if self._marked(self.results) else ''}"
        return "\n".join([f"[{title}]", *lines, "", words])

    def _coloured(self, text: str, row: _Key, column: str | None) -> str:
        m = self.cells.get((row, column))
        if m is None or self.colours is Colorize.NONE:
            return text
        best = min(
            other.median
            for (place, name), other in self.cells.items()
            if (place == row if self.colours is Colorize.ROWWISE else name == column and place[0] == row[0])
        )
        if m.median <= max(best * 1.01, best + 100e-9):
            return _BEST + _BOLD + text + _END * 2
        if m.median <= best * 1.1:
            return _GOOD + _BOLD + text + _END * 2
        if m.median >= best * 5:
            return _VERY_BAD + _BOLD + text + _END * 2
        return _BAD + text + _END * 2 if m.median >= best * 2 else text
