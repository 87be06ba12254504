"""``torch.utils.cpp_extension.load`` and ``load_inline``: builds a library in a folder of the user's, unless it is there, and loads it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import sysconfig
import tempfile
from typing import Any

from shim_torch._impl.extensions import compiling, headers, toolchain
from shim_torch._impl.extensions.compiling import Step
from shim_torch._impl.extensions.slow_work import slow_work
from shim_torch._impl.extensions.sources import check_headers, check_kind, content_of, is_cuda, paths_of


def _searched(includes: Any, with_cuda: bool) -> list[str]:
    from shim_torch.utils import cpp_extension

    folders = [
        *paths_of(includes),
        *headers.folders(),
        *(cpp_extension.include_paths("cuda", torch_include_dirs=False) if with_cuda else ()),
        sysconfig.get_paths()["include"],
    ]
    return [f"-I{folder}" for folder in folders]


def _compiler() -> list[str]:
    from shim_torch.utils import cpp_extension

    return [*shlex.split(cpp_extension.get_cxx_compiler()), "-fPIC"]


def _steps(
    name: str, sources: Any, target: str, cflags: Any, ldflags: Any, includes: Any, cuda_cflags: Any, with_cuda: bool,
    standalone: bool,
) -> list[Step]:  # fmt: skip
    """What makes ``target``: a compiler for each source, then the linker."""
    folders, folder = _searched(includes, with_cuda), os.path.dirname(target)
    nvcc = toolchain.nvcc(list(cuda_cflags or ()), name) if any(map(is_cuda, sources)) else []
    compiler = [*_compiler(), *toolchain.flags_of(list(cflags or ()), name)]
    steps = []
    for number, source in enumerate(sources):
        stem = os.path.splitext(os.path.basename(source))[0]
        made = os.path.join(folder, f"{number}-{stem}{'.cuda' if is_cuda(source) else ''}.o")
        command = nvcc if is_cuda(source) else compiler
        steps.append(compiling.compiler_step([*command, *folders], os.path.abspath(source), made))
    objects = [step.target for step in steps]
    libraries = toolchain.LIBRARIES if standalone else (*toolchain.LIBRARIES, "torch_python")
    link = [
        *_compiler(), *(() if standalone else ("-shared",)), *objects, "-o", target, *toolchain.linked(libraries),
        *(toolchain.cuda_link_flags() if with_cuda else ()), *(ldflags or ()),
    ]  # fmt: skip
    return [*steps, Step(target, link, objects)]


def compile_and_load(
    what: str, name: str, sources: Any, folder: str, cflags: Any, ldflags: Any, includes: Any, verbose: bool,
    is_python_module: bool, is_standalone: bool = False, cuda_cflags: Any = None, with_cuda: bool | None = None,
) -> Any:  # fmt: skip
    """Builds ``folder/name.so``, unless it is as the sources, the headers and flags are, and loads it.

    CUDA sources are compiled by nvcc and the rest by the C++ compiler, several at a time ($MAX_JOBS at most).

    Returns the module, or (``is_python_module=False``) the library's path. Errors: RuntimeError with the compiler's text.
    """
    if is_standalone:
        raise NotImplementedError(
            f"torch.utils.cpp_extension.{what}(is_standalone=True) is not supported by shim-torch"
        )
    sources = paths_of(sources)
    check_kind(what, sources)
    cuda = any(map(is_cuda, sources)) if with_cuda is None else with_cuda
    check_headers(what, sources, [*paths_of(includes), *headers.folders()])
    target = os.path.join(folder, f"{name}.so")

    def steps(made: str) -> list[Step]:
        return _steps(name, sources, made, cflags, ldflags, includes, cuda_cflags, cuda, is_standalone)

    digest = hashlib.sha256(repr(steps(target)).encode())
    for source in sources:
        digest.update(content_of(source))
    stamp = os.path.join(folder, f"{name}.built")
    if not _is_built(target, stamp, digest.hexdigest()):
        _build(name, steps, len(sources), target, stamp, digest.hexdigest(), verbose)
    return import_library(name, target, is_python_module)


def _is_built(target: str, stamp: str, digest: str) -> bool:
    """Whether the library was built of the same, nothing that was read then has changed, nor has it."""
    try:
        first, library, read, *paths = content_of(stamp).decode().splitlines()
        return (
            first == digest
            and library == hashlib.sha256(content_of(target)).hexdigest()
            and read == compiling.digest_of(paths, content_of)
        )
    except (OSError, ValueError):
        return False


def _build(name: str, steps: Any, count: int, target: str, stamp: str, digest: str, verbose: bool) -> None:
    """Compiles in a folder of this process's own, so that others only ever see a whole library."""
    own_folder = tempfile.TemporaryDirectory(prefix=f".{name}-", dir=os.path.dirname(target))
    with (
        own_folder as own,
        slow_work(f"compiling extension {name!r} ({count} {'source' if count == 1 else 'sources'})"),
    ):
        made, built = os.path.join(own, os.path.basename(target)), os.path.join(own, os.path.basename(stamp))
        todo = steps(made)
        compiling.run(name, todo, own, verbose, shutil.which("ninja"))
        read = [path for path in compiling.files_read(todo) if not path.startswith(own)]
        library = hashlib.sha256(content_of(made)).hexdigest()
        with open(built, "w", encoding="utf-8") as file:
            file.write("\n".join([digest, library, compiling.digest_of(read, content_of), *read]))
        os.replace(made, target)
        os.replace(built, stamp)


def precompiled(cflags: Any) -> None:
    """``load_inline(use_pch=True)``: torch/extension.h compiled with these flags, where the compiler (GCC) looks for it."""
    compiler = [*_compiler(), *toolchain.flags_of(list(cflags or ()), "")]
    compiler = [*(f for f in compiler if not f.startswith("-DTORCH_EXTENSION_NAME")), *_searched(None, False)]
    place = next(f for f in headers.folders() if os.path.exists(os.path.join(f, "torch/extension.h")))
    header = os.path.join(place, "torch/extension.h")
    folder = header + ".gch"
    made = os.path.join(folder, hashlib.sha256(repr(compiler).encode()).hexdigest()[:16])
    if os.path.exists(made):
        return
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pch-", dir=place) as own, slow_work("compiling torch/extension.h"):
        new = os.path.join(own, "made")
        compiling.run(
            "torch/extension.h", [Step(new, [*compiler, "-x", "c++-header", header, "-o", new])], own, False, None
        )
        os.replace(new, made)


def import_library(name: str, path: str, is_python_module: bool) -> Any:
    """Loads a library: as the Python module ``name``, or for its operators (its path is given back)."""
    from shim_torch._impl.extensions import load

    if not is_python_module:
        load.load(path)
        return path
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no extension module", path=path)
    with load.importing(path):
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
