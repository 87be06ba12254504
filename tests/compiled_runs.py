"""The plugin ``-p compiled_runs``: each test's function runs compiled, four times: what it calls is deferred from the second time on, and
a backward pass over a graph that is known is repeated from the third."""

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
    """Runs the test's function within compiled calls, later ones with what the first ones taught."""
    if pyfuncitem.get_closest_marker("not_compiled") or _core.trace_active():
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    compiled = calls.Compiled(pyfuncitem.obj, settings.checked(BACKEND, None, None, False, None))
    times = 1 if "tmp_path" in names else 4  # what the first run wrote may be in the second's way
    for last in [False] * (times - 1) + [True]:
        copied = {n: v if last or not isinstance(v, Tensor) else copy.deepcopy(v) for n, v in arguments.items()}
        compiled(**copied)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was deferred."""
    terminalreporter.write_line(f"compiled: {dict(calls.counts)}")
