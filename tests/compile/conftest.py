"""torch.compile defers nothing while another thread of Python runs, and pytest-xdist's workers have one: there, the folder's tests
run in a process of their own, by test_in_one_process.py."""

from __future__ import annotations

import os

IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ
collect_ignore_glob = ["test_[!i]*.py"] if IN_WORKER else ["test_in_one_process.py"]
