"""torch.compile defers nothing while another thread of Python runs, and pytest-xdist's workers have one: there, the folder's tests
run in a process of their own, by test_in_one_process.py."""

from __future__ import annotations

import os
from pathlib import Path

RUNS_THE_OTHERS = "test_in_one_process.py"
IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ
collect_ignore = [
    path.name for path in Path(__file__).parent.glob("test_*.py") if (path.name == RUNS_THE_OTHERS) != IN_WORKER
]
