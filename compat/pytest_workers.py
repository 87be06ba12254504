"""A pytest plugin: the workers that pytest-xdist starts get the scopes of the process that started them.

``python -m compat run -m pytest -n 4 …`` names it in PYTEST_PLUGINS, which pytest reads before any conftest.
"""

from __future__ import annotations

import json
import os

from compat import hook
from compat.child import adopt

PLUGIN = __name__
VARIABLE = "SHIM_TORCH_SCOPES"


def announce() -> None:
    """Puts the scopes in force into the environment, for pytest's workers."""
    os.environ[VARIABLE] = json.dumps(hook.for_children())
    plugins = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    os.environ["PYTEST_PLUGINS"] = ",".join([*plugins, PLUGIN] if PLUGIN not in plugins else plugins)


if not hook.entries() and os.environ.get(VARIABLE):
    adopt([tuple(entry) for entry in json.loads(os.environ[VARIABLE])])
