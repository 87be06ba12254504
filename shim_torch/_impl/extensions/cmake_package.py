"""CMake's package of our headers and libraries: what ``find_package(Torch)`` of a project finds (``torch.utils.cmake_prefix_path``)."""

from __future__ import annotations

import os
from pathlib import Path

from shim_torch._impl.extensions import headers, toolchain
from shim_torch._impl.native import _core, stand_ins

_CONFIG = """\
# Made by shim-torch {version}: what find_package(Torch) finds. Extensions are Python's; programs of C++ alone have no interpreter.
set(TORCH_FOUND TRUE)
set(Torch_FOUND TRUE)
set(TORCH_INSTALL_PREFIX "{prefix}")
set(TORCH_INCLUDE_DIRS {folders})
set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")
foreach(shim_library IN ITEMS {libraries})
  if(NOT TARGET ${{shim_library}})
    add_library(${{shim_library}} SHARED IMPORTED)
    set_target_properties(${{shim_library}} PROPERTIES
      IMPORTED_LOCATION "${{TORCH_INSTALL_PREFIX}}/lib/lib${{shim_library}}.so" IMPORTED_NO_SONAME FALSE
      IMPORTED_SONAME "lib${{shim_library}}.so" INTERFACE_INCLUDE_DIRECTORIES "${{TORCH_INCLUDE_DIRS}}"
      INTERFACE_COMPILE_FEATURES cxx_std_17 INTERFACE_LINK_OPTIONS "{waits}")
  endif()
endforeach()
set(TORCH_LIBRARY torch)
set(TORCH_LIBRARIES {libraries})
"""
_VERSION = """\
set(PACKAGE_VERSION "{torch}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""


def _texts() -> dict[str, str]:
    from shim_torch.torch_version import __version__
    from shim_torch.utils import cpp_extension

    names = ["torch", "torch_cpu", "c10"]
    if cpp_extension.CUDA_HOME is not None:
        names += ["torch_cuda", "c10_cuda"]
    values = {
        "version": _core.cxx_version,
        "prefix": stand_ins.folder().parent.as_posix(),
        "folders": " ".join(f'"{Path(f).as_posix()}"' for f in headers.folders()),
        "libraries": " ".join(names),
        "waits": ";".join(toolchain.WAITS),
    }
    torch = str(__version__).partition("+")[0]
    return {"TorchConfig.cmake": _CONFIG.format(**values), "TorchConfigVersion.cmake": _VERSION.format(torch=torch)}


def prefix() -> str:
    """The folder for CMAKE_PREFIX_PATH; the package is written there, in the user's own cache, when it is asked for."""
    folder = os.path.join(headers.made_folder(), "share", "cmake")
    place = os.path.join(folder, "Torch")
    os.makedirs(place, exist_ok=True)
    for name, text in _texts().items():
        path = os.path.join(place, name)
        if not os.path.exists(path) or Path(path).read_text(encoding="utf-8") != text:
            own = f"{path}.{os.getpid()}"
            Path(own).write_text(text, encoding="utf-8")
            os.replace(own, path)
    return folder
