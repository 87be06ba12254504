"""The plugin ``-p compiled_runs``: each test's function runs compiled, twice, so that what it calls is deferred the second time."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest

from shim_torch import Tensor
from shim_torch._impl.compile import calls, settings
from shim_torch._impl.native import _core

BACKEND = os.environ.get("COMPILED_BACKEND", "eager")  # "inductor": as programs


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Runs the test's function within a compiled call, a second time with what the first one taught."""
    if pyfuncitem.get_closest_marker("not_compiled") or _core.trace_active():
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    compiled = calls.Compiled(pyfuncitem.obj, settings.checked(BACKEND, None, None, False, None))
    compiled(**{n: copy.deepcopy(v) if isinstance(v, Tensor) else v for n, v in arguments.items()})
    if "tmp_path" in names:  # what the first run wrote may be in the second's way
        return True
    compiled(**arguments)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was deferred."""
    terminalreporter.write_line(f"compiled: {dict(calls.counts)}")
