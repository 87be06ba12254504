"""The folders of the C++ headers that extensions include, under PyTorch's names.

What is written by hand stands in ``shim_torch/include``. The functions of the operators are made of the operator table the first
time that they are asked for, in a folder of the user's own: a megabyte that few installations need, and never another table's.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import threading
from functools import lru_cache
from pathlib import Path

from shim_torch._impl.extensions import cxx_operators, cxx_schemas
from shim_torch._impl.native import _core

HOME = Path(__file__).resolve().parents[2]
DATA = HOME / "_impl/data"


def _schemas() -> list[str]:
    """Those of PyTorch's overloads that differ here or are defined when they are asked for, then the operator table's."""
    names = [f"aten::{name}" for name in _core.operator_names("aten")]
    texts = [_core.operator_schema(n, o)[3] for n in names for o in _core.operator_overloads(n)]
    return [*(DATA / "aten_overloads.txt").read_text(encoding="utf-8").splitlines(), *texts]


def _files() -> dict[str, str]:
    """What is made, by its path in the folder."""
    functions, methods, count = cxx_operators.generate(cxx_schemas.collect(_schemas()))
    stamp = re.sub(r"\W", "_", _core.cxx_version)
    made = {
        "shim/stamp.inc": f'#define SHIM_CXX_STAMP shim_cxx_built_with_{stamp}\n#define SHIM_CXX_VERSION "{_core.cxx_version}"\n',
        "shim/ops.inc": f"// {count} functions of operators.\n{functions}",
        "shim/methods.inc": methods,
    }
    for line in (DATA / "cxx_headers.txt").read_text(encoding="utf-8").splitlines():
        target, _, names = line.partition(": ")
        made.update(dict.fromkeys(names.split(), f"#pragma once\n#include <shim/{target}>\n"))
    operators = set(re.findall(r"^inline [^(]*?(\w+)\(", functions, re.M))
    made.update(dict.fromkeys((f"ATen/ops/{name}.h" for name in operators), "#pragma once\n#include <shim/torch.h>\n"))
    return made


@lru_cache(None)
def _generated() -> str:
    """The folder of what is made, for this version and this build of the core."""
    from shim_torch._impl.extensions.build import private_folder
    from shim_torch.utils.cpp_extension import get_default_build_root

    core = os.stat(_core.__file__)
    said = [_core.cxx_version, core.st_size, core.st_mtime_ns]
    said += [
        Path(f).read_bytes() for f in (cxx_operators.__file__, cxx_schemas.__file__, __file__, DATA / "cxx_headers.txt")
    ]
    digest = hashlib.sha256(repr(said).encode()).hexdigest()[:16]
    folder = private_folder(
        os.path.join(private_folder(get_default_build_root()), f"include-{_core.cxx_version}-{digest}")
    )
    done = os.path.join(folder, "complete")
    if not os.path.exists(done):
        for name, text in {**_files(), "complete": ""}.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            own = f"{path}.{os.getpid()}.{threading.get_ident()}"
            with open(own, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(own, path)
    return folder


def made_folder() -> str:
    """The folder of what is made."""
    return _generated()


def folders() -> list[str]:
    """Ours, what is made, and pybind11's where it is installed."""
    spec = importlib.util.find_spec("pybind11")
    places = spec.submodule_search_locations if spec else None
    pybind = [os.path.join(places[0], "include")] if places else []
    return [str(HOME / "include"), _generated(), *pybind]
