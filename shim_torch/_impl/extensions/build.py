"""setuptools' part of ``torch.utils.cpp_extension``: CppExtension, CUDAExtension and the command BuildExtension.

What is built is linked to the stand-ins of ``native``, and loads as built wheels do.
"""

from __future__ import annotations

import os
import shutil
import warnings
from typing import Any

from shim_torch._impl.extensions import compiling, headers, toolchain
from shim_torch._impl.extensions.sources import check_headers, check_kind, is_cuda, paths_of
from shim_torch._impl.native import _core

__all__: list[str] = []


def extension(what: str, name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension that is linked to the stand-ins. Errors: NotImplementedError as ``check_headers``.

    ``dlink=True`` and ``dlink_libraries`` (CUDAExtension): device code of several sources (``-rdc=true``) is linked by nvcc.
    """
    check_kind(what, sources)
    import setuptools

    dlink, libraries = kwargs.pop("dlink", False), kwargs.pop("dlink_libraries", [])
    flags = kwargs.get("extra_compile_args")
    if dlink or libraries:
        by_compiler = flags if isinstance(flags, dict) else {"cxx": flags or [], "nvcc": flags or []}
        folders = [f"-L{folder}" for folder in kwargs.get("library_dirs") or ()]
        named = ["-dlink", *folders, *(f"-l{library}" for library in libraries)]
        kwargs["extra_compile_args"] = {**by_compiler, "nvcc_dlink": [*by_compiler.get("nvcc_dlink", []), *named]}
    kwargs["include_dirs"] = [*paths_of(kwargs.get("include_dirs")), *headers.folders()]
    names = toolchain.LIBRARIES if kwargs.get("py_limited_api") else (*toolchain.LIBRARIES, "torch_python")
    cuda = what == "CUDAExtension" or any(map(is_cuda, sources))
    kwargs["extra_link_args"] = [
        *(kwargs.get("extra_link_args") or ()),
        *toolchain.linked(names),
        *(toolchain.cuda_link_flags() if cuda else ()),
    ]
    if cuda:
        from shim_torch.utils import cpp_extension

        kwargs["include_dirs"] += cpp_extension.include_paths("cuda", torch_include_dirs=False)
    kwargs["language"] = "c++"
    made = setuptools.Extension(name, paths_of(sources), *args, **kwargs)
    made.shim_torch_kind = what  # type: ignore[attr-defined]
    return made


class _Compile:
    """``compiler.compile`` for one extension: a step a source, several at a time, CUDA's by nvcc; device code is linked last."""

    def __init__(self, compiler: Any, flags: dict[str, list[str]], name: str, ninja: str | None) -> None:
        self.compiler, self.flags, self.name, self.ninja = compiler, flags, name, ninja

    def __call__(
        self, sources: Any, output_dir: Any = None, macros: Any = None, include_dirs: Any = None, debug: Any = 0,
        extra_preargs: Any = None, extra_postargs: Any = None, depends: Any = None,
    ) -> list[str]:  # fmt: skip
        compiler = self.compiler
        _, output, _, pp, build = compiler._setup_compile(
            output_dir, macros, include_dirs, sources, depends, extra_postargs
        )
        common = [*compiler._get_cc_args(pp, debug, extra_preargs)]
        common.remove("-c")
        language = getattr(compiler, "compiler_so_cxx", None) if compiler.detect_language(sources) == "c++" else None
        plain = [
            *(language or compiler.compiler_so),
            *common,
            *toolchain.flags_of(self.flags.get("cxx", []), self.name),
        ]
        nvcc = []
        if any(map(is_cuda, sources)):
            nvcc = [*toolchain.nvcc(self.flags.get("nvcc", []), self.name), *common]
        steps = []
        for made in output:
            source, _ = build[made] if made in build else (None, None)
            if source is not None:
                os.makedirs(os.path.dirname(made) or ".", exist_ok=True)
                command = nvcc if is_cuda(source) else plain
                steps.append(compiling.compiler_step(command, os.path.abspath(source), os.path.abspath(made)))
        link = self.flags.get("nvcc_dlink")
        made = list(output)
        if link:
            target = os.path.join(os.path.dirname(os.path.abspath(output[0])), "dlink.o")
            objects = [os.path.abspath(o) for o in output]
            steps.append(compiling.Step(target, toolchain.dlink_step(link, objects, target), objects))
            made.append(target)
        folder = os.path.abspath(output_dir or ".")
        os.makedirs(folder, exist_ok=True)
        try:
            compiling.run(self.name, steps, folder, compiler.verbose, self.ninja)
        except RuntimeError as error:
            raise _compile_error()(str(error)) from None
        return made


def _compile_error() -> type[Exception]:
    try:
        from setuptools.errors import CompileError
    except ImportError:  # setuptools before 59.1
        from distutils.errors import CompileError
    return CompileError


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
            if self.use_ninja and shutil.which("ninja") is None:
                warnings.warn(
                    "Attempted to use ninja as the BuildExtension backend but it was not found. Building without it."
                )

        def build_extension(self, ext: Any) -> None:
            check_headers(getattr(ext, "shim_torch_kind", "BuildExtension"), ext.sources, ext.include_dirs)
            flags, name = ext.extra_compile_args, ext.name.rpartition(".")[2]
            same = {"cxx": list(flags or ()), "nvcc": list(flags or ())}
            by_compiler = {k: list(v) for k, v in flags.items()} if isinstance(flags, dict) else same
            ext.extra_compile_args = []
            compiler: Any = self.compiler
            endings = compiler.src_extensions
            compiler.src_extensions = [*endings, ".cu", ".cuh"]
            compiler.compile = _Compile(compiler, by_compiler, name, shutil.which("ninja") if self.use_ninja else None)
            try:
                super().build_extension(ext)
            finally:
                compiler.src_extensions = endings
                del compiler.compile

        def get_ext_filename(self, ext_name: str) -> str:
            path = super().get_ext_filename(ext_name)
            parts = path.split(".")
            return ".".join([*parts[:-2], parts[-1]]) if self.no_python_abi_suffix and len(parts) > 2 else path

    BuildExtension.__module__ = "torch.utils.cpp_extension"
    return BuildExtension


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
