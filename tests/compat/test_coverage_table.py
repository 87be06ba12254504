"""docs/coverage.md says what ``python -m compat coverage`` counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.cli import coverage

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"


def test_the_page_has_the_table():
    if not PAGE.exists():
        pytest.skip("needs the source tree")
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert rows == coverage.report(coverage.coverage()).splitlines(), "run python -m compat coverage and put its table there"
