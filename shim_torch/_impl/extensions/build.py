"""Compiles C++ and CUDA extensions: with our C++ headers, under PyTorch's names, or with the C functions of its stable ABI.

What is built is linked to the stand-ins of ``native``, and loads as built wheels do.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.extensions import headers
from shim_torch._impl.extensions.slow_work import slow_work
from shim_torch._impl.extensions.sources import check_headers, check_kind, content_of, is_cuda, paths_of
from shim_torch._impl.native import _core, stand_ins

__all__: list[str] = []

LIBRARIES = ("c10", "torch", "torch_cpu")


def _linked(libraries: Any) -> list[str]:
    """The linker's arguments: the stand-ins define nothing, but name what is to be loaded first."""
    return ["-Wl,--no-as-needed", f"-L{stand_ins.folder()}", *(f"-l{library}" for library in libraries)]


def _nvcc(flags: list[str], name: str) -> list[str]:
    """nvcc with what PyTorch gives it. Errors: OSError without a CUDA toolkit."""
    from shim_torch.utils import cpp_extension

    archs = cpp_extension._get_cuda_arch_flags(flags)
    own = os.environ.get("PYTORCH_NVCC")
    compiler = shlex.split(own) if own else [cpp_extension._join_cuda_home("bin", "nvcc")]
    return [*compiler, *cpp_extension.COMMON_NVCC_FLAGS, "--compiler-options", "-fPIC", *archs, *_flags(flags, name)]


def _cuda_libraries() -> list[str]:
    from shim_torch.utils import cpp_extension

    return [*(f"-L{folder}" for folder in cpp_extension.library_paths("cuda", torch_include_dirs=False)), "-lcudart"]


def extension(what: str, name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension that is linked to the stand-ins. Errors: NotImplementedError as ``check_headers``."""
    check_kind(what, sources)
    import setuptools

    kwargs["include_dirs"] = [*paths_of(kwargs.get("include_dirs")), *headers.folders()]
    names = LIBRARIES if kwargs.get("py_limited_api") else (*LIBRARIES, "torch_python")
    cuda = what == "CUDAExtension" or any(map(is_cuda, sources))
    kwargs["extra_link_args"] = [
        *kwargs.get("extra_link_args", ()),
        *_linked(names),
        *(_cuda_libraries() if cuda else ()),
    ]
    if cuda:
        from shim_torch.utils import cpp_extension

        kwargs["include_dirs"] += cpp_extension.include_paths("cuda", torch_include_dirs=False)
    kwargs["language"] = "c++"
    made = setuptools.Extension(name, sources, *args, **kwargs)
    made.shim_torch_kind = what  # type: ignore[attr-defined]
    return made


def build_extension_class() -> type:
    """``BuildExtension``, setuptools' command: flags of each compiler, TORCH_EXTENSION_NAME and C++20 are added; nvcc for CUDA."""
    from setuptools.command.build_ext import build_ext

    class BuildExtension(build_ext):
        """The setuptools command that builds ``CppExtension`` and ``CUDAExtension``."""

        @classmethod
        def with_options(cls, **options: Any) -> Any:
            class cls_with_options(cls):  # type: ignore[misc,valid-type]
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    super().__init__(*args, **{**kwargs, **options})

            return cls_with_options

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
            self.use_ninja = kwargs.pop("use_ninja", True)
            super().__init__(*args, **kwargs)

        def build_extension(self, ext: Any) -> None:
            check_headers(getattr(ext, "shim_torch_kind", "BuildExtension"), ext.sources, ext.include_dirs)
            flags, name = ext.extra_compile_args, ext.name.rpartition(".")[2]
            by_compiler = flags if isinstance(flags, dict) else {"cxx": flags or (), "nvcc": flags or ()}
            ext.extra_compile_args = _flags(list(by_compiler.get("cxx", ())), name)
            with self._nvcc_for_cuda(ext, list(by_compiler.get("nvcc", ())), name):
                super().build_extension(ext)

        @contextmanager
        def _nvcc_for_cuda(self, ext: Any, flags: list[str], name: str) -> Any:
            """Within, the compiler takes .cu files too, and hands them to nvcc."""
            if not any(map(is_cuda, ext.sources)):
                yield
                return
            compiler: Any = self.compiler
            plain, endings = compiler._compile, compiler.src_extensions
            nvcc = _nvcc(flags, name)

            def compile_one(obj: str, src: str, ext_: str, cc_args: Any, extra: Any, pp_opts: Any) -> None:
                if not is_cuda(src):
                    return plain(obj, src, ext_, cc_args, extra, pp_opts)
                compiler.spawn([*nvcc, *cc_args, src, "-o", obj, *pp_opts])

            compiler._compile = compile_one
            compiler.src_extensions = [*endings, ".cu", ".cuh"]
            try:
                yield
            finally:
                compiler.src_extensions = endings
                del compiler._compile

        def get_ext_filename(self, ext_name: str) -> str:
            path = super().get_ext_filename(ext_name)
            parts = path.split(".")
            return ".".join([*parts[:-2], parts[-1]]) if self.no_python_abi_suffix and len(parts) > 2 else path

    BuildExtension.__module__ = "torch.utils.cpp_extension"
    return BuildExtension


def _flags(flags: list[str], name: str) -> list[str]:
    standard = [] if any(f.startswith("-std=") for f in flags) else ["-std=c++20"]
    return [*flags, "-DTORCH_API_INCLUDE_EXTENSION_H", f"-DTORCH_EXTENSION_NAME={name}", *standard]


def _commands(
    name: str, sources: Any, target: str, cflags: Any, ldflags: Any, includes: Any, cuda_cflags: Any, with_cuda: bool | None
) -> list[list[str]]:  # fmt: skip
    """The calls of the compilers that make the library ``target``: nvcc for each CUDA source, then the C++ compiler."""
    from shim_torch.utils import cpp_extension

    cuda = [s for s in sources if is_cuda(s)]
    with_cuda = bool(cuda) if with_cuda is None else with_cuda
    searched = [
        *paths_of(includes),
        *headers.folders(),
        *(cpp_extension.include_paths("cuda", torch_include_dirs=False) if with_cuda else ()),
        sysconfig.get_paths()["include"],
    ]
    folders = [f"-I{f}" for f in searched]
    objects = [
        os.path.join(os.path.dirname(target), f"{os.path.splitext(os.path.basename(s))[0]}.cuda.o") for s in cuda
    ]
    nvcc = _nvcc(list(cuda_cflags or ()), name) if cuda else []
    commands = [[*nvcc, *folders, "-c", source, "-o", made] for source, made in zip(cuda, objects, strict=True)]
    commands.append([
        *shlex.split(cpp_extension.get_cxx_compiler()), "-shared", "-fPIC", *_flags(list(cflags or ()), name), *folders,
        *(s for s in sources if not is_cuda(s)), *objects, "-o", target, *_linked((*LIBRARIES, "torch_python")),
        *(_cuda_libraries() if with_cuda else ()), *(ldflags or ()),
    ])  # fmt: skip
    return commands


def compile_and_load(
    what: str, name: str, sources: Any, folder: str, cflags: Any, ldflags: Any, includes: Any, verbose: bool,
    is_python_module: bool, is_standalone: bool = False, cuda_cflags: Any = None, with_cuda: bool | None = None,
) -> Any:  # fmt: skip
    """Builds ``folder/name.so``, unless it is as the sources and flags are, and loads it.

    CUDA sources are compiled by nvcc, one by one, and the rest by the C++ compiler.

    Returns the module, or (``is_python_module=False``) the library's path. Errors: RuntimeError with the compiler's text.
    """
    if is_standalone:
        raise NotImplementedError(
            f"torch.utils.cpp_extension.{what}(is_standalone=True) is not supported by shim-torch"
        )
    sources = paths_of(sources)
    check_kind(what, sources)
    check_headers(what, sources, [*paths_of(includes), *headers.folders()])
    target = os.path.join(folder, f"{name}.so")

    def commands(made: str) -> list[list[str]]:
        return _commands(name, sources, made, cflags, ldflags, includes, cuda_cflags, with_cuda)

    digest = hashlib.sha256(repr(commands(target)).encode())
    for source in sources:
        digest.update(content_of(source))
    stamp = os.path.join(folder, f"{name}.built")
    if not _is_built(target, stamp, digest.hexdigest()):
        steps = [*(os.path.basename(s) for s in sources if is_cuda(s)), "C++ and linking"]
        _build(name, commands, steps, target, stamp, digest.hexdigest(), verbose)
    return import_library(name, target, is_python_module)


def _is_built(target: str, stamp: str, digest: str) -> bool:
    """Whether the library was built of the same, and has not changed since."""
    try:
        return content_of(stamp).decode().split() == [digest, hashlib.sha256(content_of(target)).hexdigest()]
    except (OSError, UnicodeDecodeError):
        return False


def _build(name: str, commands: Any, steps: list[str], target: str, stamp: str, digest: str, verbose: bool) -> None:
    """Compiles in a folder of this process's own, so that others only ever see a whole library."""
    own_folder = tempfile.TemporaryDirectory(prefix=f".{name}-", dir=os.path.dirname(target))
    with own_folder as own, slow_work(f"compiling extension {name!r}") as say:
        made, built = os.path.join(own, os.path.basename(target)), os.path.join(own, os.path.basename(stamp))
        for number, (command, step) in enumerate(zip(commands(made), steps, strict=True), 1):
            say(f"compiling extension {name!r}: {step} ({number} of {len(steps)})")
            if verbose:
                print(shlex.join(command), file=sys.stderr)
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"Error building extension '{name}': {done.stdout}{done.stderr}")
        with open(built, "w", encoding="utf-8") as file:
            file.write(f"{digest} {hashlib.sha256(content_of(made)).hexdigest()}")
        os.replace(made, target)
        os.replace(built, stamp)


def private_folder(path: str) -> str:
    """The folder, made with mode 700 or, where others may write to it, given that mode.

    Errors: RuntimeError where it is another user's: what is in it would be run.
    """
    why = _core.private_folder(path)
    if why:
        raise RuntimeError(
            f"Extensions are built in folders that nobody else may write to: {why}. Set TORCH_EXTENSIONS_DIR."
        )
    return path


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
