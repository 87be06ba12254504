"""A plugin of pytest for ``libraries.py``: runs a sample of a suite in a fixed random order, and records each outcome.

``--keep N`` keeps N cases of each test function, spread over them. ``--only-ids FILE`` keeps those that the file names, one a
line. ``--record FILE`` gets a line of JSON for each test as soon as it ends, so that a run that is stopped tells what it did.

Where workers of pytest-xdist run the tests, the hooks of the suite's ``conftest.py`` files are called in the workers alone: some
look up, at each report, what they noted when the test began, which the process that only gathers reports has not seen.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep", type=int, default=0)
    parser.addoption("--only-ids", default="")
    parser.addoption("--record", default="")


def sampled(items: list[Any], keep: int) -> list[Any]:
    """``keep`` cases of each function, the same ones whenever the suite is the same."""
    families: dict[str, list[Any]] = {}
    for item in items:
        families.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = []
    for cases in families.values():
        step = max(1, -(-len(cases) // keep))
        chosen += cases[::step]
    return chosen


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """Workers of pytest-xdist must agree on the order: it is that of the digests of the files, then of the names."""
    kept = list(items)
    if config.getoption("--only-ids"):
        names = set(Path(config.getoption("--only-ids")).read_text().splitlines())
        kept = [item for item in kept if item.nodeid in names]
    elif config.getoption("--keep"):
        kept = sampled(kept, config.getoption("--keep"))
    items[:] = sorted(kept, key=lambda item: (_digest(item.nodeid.split("::")[0]), _digest(item.nodeid)))


def _digest(name: str) -> bytes:
    return hashlib.sha1(name.encode()).digest()


def reason(report: Any) -> str:
    """The last line that says what went wrong, cut short."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if crash is not None and lines else lines[-1] if lines else "")[:200]


class Recorder:
    """Writes outcomes: "passed", "failed", "skipped", "error" (of a fixture) or "collection" (a file that does not import)."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("a", buffering=1)

    def write(self, name: str, outcome: str, why: str) -> None:
        self.file.write(json.dumps({"id": name, "outcome": outcome, "why": why}) + "\n")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            expected = hasattr(report, "wasxfail") or report.outcome == "skipped"
            outcome = "skipped" if expected else report.outcome if report.when == "call" else "error"
            self.write(report.nodeid, outcome, "" if outcome == "passed" else reason(report))

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.write(report.nodeid, "collection", reason(report))


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(path))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the process that hands tests to workers gets their reports; it collects nothing itself."""
    plugins = session.config.pluginmanager
    if not plugins.hasplugin("dsession"):
        return
    for plugin in plugins.get_plugins():
        if Path(getattr(plugin, "__file__", None) or "").name == "conftest.py":
            plugins.unregister(plugin)
