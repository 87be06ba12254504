"""Isolated builds: what pip and build install for a ``pyproject.toml`` that requires torch, where ``compat run`` runs them.

They make an environment for each build, install there what the project's ``build-system`` requires, and start Python in
it with a PYTHONPATH of their own. A wheel ``torch`` that they find in a temporary folder is what they install then: metadata,
and a line for ``site`` that enables the scopes that the environment announces (:mod:`shim_torch_proxy.child`). Where nothing
is announced, the line does nothing.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from shim_torch_proxy import child
from shim_torch_proxy.cli import provide


def hook() -> str:
    """The line for ``site``. Our installation and what it needs (NumPy, pybind11) are searched last."""
    sites = [place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages")]
    places = [child.FOLDER, *map(os.path.abspath, sites)]
    return (
        f"import json, os, sys; s = json.loads(os.environ.get({child.VARIABLE!r}) or 'null'); "
        "s and s['python'][0] == sys.implementation.cache_tag and ("
        f"sys.path.extend(p for p in {places!r} if p not in sys.path), "
        "__import__('shim_torch_proxy.child').child.inherit(s['scopes']))\n"
    )


def wheel(folder: Path, version: str) -> Path:
    """Writes the wheel into ``folder``."""
    files = {f"torch-{version}.dist-info/{name}": text for name, text in provide.texts(version).items()}
    del files[f"torch-{version}.dist-info/INSTALLER"]  # the tool that installs it says so itself
    files[provide.HOOK] = hook()
    record = f"torch-{version}.dist-info/RECORD"
    made = folder / f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(map(provide.recorded, files, files.values())) + f"{record},,\n")
    return made


def announce(version: str | None) -> None:
    """Has pip find the wheel, by way of the environment, and no other torch; the folder goes when this process ends."""
    here = provide.installed(Path(sysconfig.get_path("purelib")))
    claimed = version or (here[0].name[len("torch-") : -len(".dist-info")] if here else provide.VERSION)
    folder = Path(tempfile.mkdtemp(prefix="shim-torch-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    wheel(folder, claimed)
    constraint = folder / "constraint.txt"
    constraint.write_text(f"torch=={claimed}\n", encoding="utf-8")
    # Newer pips constrain isolated builds by the last one alone.
    for name, place in (("FIND_LINKS", folder), ("CONSTRAINT", constraint), ("BUILD_CONSTRAINT", constraint)):
        os.environ[f"PIP_{name}"] = " ".join(filter(None, [os.environ.get(f"PIP_{name}"), place.as_uri()]))
