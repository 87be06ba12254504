"""Sources of extensions: which headers they may include, and those that ``load_inline`` writes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
from typing import Any

from shim_torch._impl.extensions import headers as our_headers

_DIRECTIVE = re.compile(
    r'^[ \t]*#[ \t]*(?:(?P<opens>if)|(?P<closes>endif)|include[ \t]*[<"](?P<header>(?:torch|ATen|c10|caffe2)/[^>"]+)[>"])',
    re.M,
)
ADVICE = (
    "a header of PyTorch's that shim-torch does not have. Sources compile with those that docs/cpp_extensions.md lists, with the "
    "headers of the stable ABI where an include folder has them, and without PyTorch; kernels can be written in Triton, or with "
    "cupy.RawKernel."
)


def _included(text: str) -> list[str]:
    """The headers of PyTorch's that a text includes whatever is defined; the compiler decides about those between #if and #endif."""
    found, depth = [], 0
    for match in _DIRECTIVE.finditer(text):
        depth += (match["opens"] is not None) - (match["closes"] is not None)
        if match["header"] and depth == 0:
            found.append(match["header"])
    return found


def paths_of(value: Any) -> list[str]:
    """A path, several, or None, as a list of strings."""
    return [os.fspath(v) for v in ([value] if isinstance(value, (str, os.PathLike)) else value or ())]


def check_headers(what: str, sources: Any, folders: Any, texts: Any = None) -> None:
    """NotImplementedError that names the header of PyTorch's that a source includes, whatever is defined, and no folder has."""
    for source in paths_of(sources):
        if texts is not None and source in texts:
            text = texts[source]
        else:
            with open(source, encoding="utf-8", errors="replace") as file:
                text = file.read()
        if not any(os.path.exists(os.path.join(f, "pybind11/pybind11.h")) for f in paths_of(folders)):
            check_pybind(what, source, text)
        for header in _included(text):
            if not any(os.path.exists(os.path.join(f, header)) for f in [*paths_of(folders), os.path.dirname(source)]):
                raise NotImplementedError(
                    f"torch.utils.cpp_extension.{what}: {os.path.basename(source)} includes <{header}>, {ADVICE}"
                )


def check_pybind(what: str, source: str, text: str) -> None:
    """ImportError where a source needs pybind11's headers and they are not installed."""
    asked = re.search(
        r'^[ \t]*#[ \t]*include[ \t]*[<"](torch/extension.h|torch/python.h|pybind11/[^>"]+)[>"]', text, re.M
    )
    if asked and importlib.util.find_spec("pybind11") is None:
        raise ImportError(
            f"torch.utils.cpp_extension.{what}: {os.path.basename(source)} includes <{asked[1]}>, which needs pybind11: pip install pybind11"
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


def bindings(functions: Any) -> list[str]:
    """``load_inline(functions=…)``: the module with a Python function for each name, of a list or ``{name: docstring}``.

    Errors: ValueError for what is neither.
    """
    if functions is None:
        return []
    functions = [functions] if isinstance(functions, str) else functions
    if isinstance(functions, (list, tuple)):
        functions = {name: name for name in functions}
    if not isinstance(functions, dict):
        raise ValueError(f"Expected 'functions' to be a list or dict, but was {type(functions)}")
    texts = {name: json.dumps(text) for name, text in functions.items()}
    rows = [f'  m.def("{name}", torch::wrap_pybind_function({name}), {text});' for name, text in texts.items()]
    return ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *rows, "}"]


def write_sources(
    folder: str, cpp_sources: Any, cuda_sources: Any, functions: Any, no_implicit_headers: bool
) -> list[str]:
    """Writes ``load_inline``'s sources, with the header and the bindings that PyTorch adds; their paths."""
    paths = []
    for name, given, headers in (
        ("main.cpp", cpp_sources, ["torch/extension.h"]),
        ("cuda.cu", cuda_sources, ["torch/types.h", "cuda.h", "cuda_runtime.h"]),
    ):
        texts = [given] if isinstance(given, str) else list(given or ())
        if not texts:
            continue
        given_headers = [] if no_implicit_headers else [f"#include <{h}>" for h in headers]
        text = "\n".join([*given_headers, *texts, *(bindings(functions) if name == "main.cpp" else ())])
        path = os.path.join(folder, name)
        check_headers("load_inline", [path], our_headers.folders(), {path: text})
        if not os.path.exists(path) or content_of(path) != text.encode():
            handle, own = tempfile.mkstemp(prefix=f".{name}-", dir=folder)
            with open(handle, "wb") as file:
                file.write(text.encode())
            os.replace(own, path)
        paths.append(path)
    return paths
