"""pytest-xdist's workers have a thread of their own. The folder's tests run without another thread, in one process (test_in_one_process.py);
those that say how calls are deferred run beside one too, in the workers."""

from __future__ import annotations

import os
from pathlib import Path

RUNS_THE_OTHERS = "test_in_one_process.py"
BOTH_WAYS = ("frontend", "functions", "guards", "known_backward", "backends", "whole_calls", "stretches", "threads")
HERE = [path.name for path in Path(__file__).parent.glob("test_*.py")]
IN_WORKERS = {RUNS_THE_OTHERS, *(f"test_{name}.py" for name in BOTH_WAYS)}
if "PYTEST_XDIST_WORKER" in os.environ:
    collect_ignore = [name for name in HERE if name not in IN_WORKERS]
else:
    collect_ignore = [RUNS_THE_OTHERS]
