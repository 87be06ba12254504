"""For Python programs that a program of ``python -m compat run`` starts: this folder stands first in their PYTHONPATH.

Another sitecustomize that they would have had runs first; then the scopes of the parent are enabled, where the child runs
on the same installation of Python. Other interpreters read this file too, so that it is written for all of them.
"""

import os
import sys


def _other(folder):
    """Runs the sitecustomize that comes without us, if there is one."""
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec(
        "sitecustomize", [p for p in sys.path if os.path.abspath(p) != folder]
    )
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _scopes():
    """Enables what the parent's environment says, unless it is another Python's."""
    text = os.environ.get("SHIM_TORCH_SCOPES")
    if not text or sys.version_info < (3, 10):
        return
    import json

    state = json.loads(text)
    if state["python"] != [sys.implementation.cache_tag, os.path.realpath(sys.prefix)]:
        return
    if state["folder"] not in sys.path:
        sys.path.append(state["folder"])
    from shim_torch_proxy import child

    child.inherit(state["scopes"])


_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _folder]
try:
    _other(_folder)
finally:
    _scopes()
