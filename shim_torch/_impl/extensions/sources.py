"""Sources of extensions: which headers they may include, and those that ``load_inline`` writes."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]((?:torch|ATen|c10|caffe2)/[^>"]+)[>"]', re.M)


def paths_of(value: Any) -> list[str]:
    """A path, several, or None, as a list of strings."""
    return [os.fspath(v) for v in ([value] if isinstance(value, (str, os.PathLike)) else value or ())]


def check_headers(what: str, sources: Any, folders: Any, texts: Any = None) -> None:
    """NotImplementedError that names the header of PyTorch's that a source includes and no folder has."""
    for source in paths_of(sources):
        if texts is not None and source in texts:
            text = texts[source]
        else:
            with open(source, encoding="utf-8", errors="replace") as file:
                text = file.read()
        for header in _INCLUDE.findall(text):
            if not any(os.path.exists(os.path.join(f, header)) for f in [*paths_of(folders), os.path.dirname(source)]):
                raise NotImplementedError(
                    f"torch.utils.cpp_extension.{what} is not supported by shim-torch for sources with PyTorch's C++ headers: "
                    f"{os.path.basename(source)} includes <{header}>. Sources that use the C functions of the stable ABI "
                    "compile (with the folder of its headers among the include folders, if they include them), and so "
                    "do sources without PyTorch; kernels can be written in Triton, or with cupy.RawKernel."
                )


def check_kind(what: str, sources: Any) -> None:
    """NotImplementedError for sources that are neither C++ nor CUDA."""
    for source in paths_of(sources):
        if source.endswith(".sycl"):
            raise NotImplementedError(
                f"torch.utils.cpp_extension.{what} is not supported by shim-torch for {os.path.basename(source)}: it compiles "
                "C++ and CUDA only; kernels can be written in Triton, or with cupy.RawKernel."
            )


def is_cuda(source: Any) -> bool:
    """By its name."""
    return os.fspath(source).endswith((".cu", ".cuh"))


def content_of(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def write_sources(
    folder: str, cpp_sources: Any, cuda_sources: Any, functions: Any, no_implicit_headers: bool
) -> list[str]:
    """Writes ``load_inline``'s sources, with the header and the bindings that PyTorch adds; their paths."""
    if functions is not None:
        raise NotImplementedError(
            "torch.utils.cpp_extension.load_inline(functions=...) is not supported by shim-torch: it has no pybind11 casters of "
            "tensors. Register operators through the stable ABI and pass is_python_module=False, no_implicit_headers=True."
        )
    paths = []
    for name, given, headers in (
        ("main.cpp", cpp_sources, ["torch/extension.h"]),
        ("cuda.cu", cuda_sources, ["torch/types.h", "cuda.h", "cuda_runtime.h"]),
    ):
        texts = [given] if isinstance(given, str) else list(given or ())
        if not texts:
            continue
        text = "\n".join([*([] if no_implicit_headers else [f"#include <{h}>" for h in headers]), *texts])
        path = os.path.join(folder, name)
        check_headers("load_inline", [path], (), {path: text})
        if not os.path.exists(path) or content_of(path) != text.encode():
            handle, own = tempfile.mkstemp(prefix=f".{name}-", dir=folder)
            with open(handle, "wb") as file:
                file.write(text.encode())
            os.replace(own, path)
        paths.append(path)
    return paths
