"""Every case here against the stored answers of PyTorch (``make test-reference`` writes them, see _peer.py)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _peer import families
from _report import differences, group, known

ANSWERS = os.environ.get("SHIM_TORCH_REFERENCE_ANSWERS")


@pytest.mark.skipif(not ANSWERS, reason="no answers of PyTorch: run make test-reference")
@pytest.mark.parametrize("family", families())
def test_family(family):
    allowed = known()
    found = differences(Path(ANSWERS), family)
    worse = {name: cases for name, cases in found.items() if len(cases) > allowed.get((group(family), name), 0)}
    shown = "\n".join(f"{name}: {len(cases)} differ\n    " + "\n    ".join(cases[:10]) for name, cases in worse.items())
    assert not worse, shown
