"""CUDA sources of extensions: our headers compile where PyTorch's names are used (cuda_program.py runs them, on a GPU)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch.utils import cpp_extension

HERE = Path(__file__).resolve().parent
pytest.importorskip("pybind11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        cpp_extension.CUDA_HOME is None or not os.path.exists(f"{cpp_extension.CUDA_HOME}/bin/nvcc"),
        reason="needs nvcc",
    ),
]
SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="built", ext_modules=[CUDAExtension(**{extension!r})], cmdclass={{"build_ext": BuildExtension}})
"""


def built(folder: Path, **extension) -> subprocess.CompletedProcess[str]:
    (folder / "setup.py").write_text(SETUP.format(extension=extension))
    root = str(HERE.parents[1])
    here = [root] if (Path(root) / "shim_torch/_impl/native/lib").exists() else []
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *here]))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TORCH_CUDA_ARCH_LIST": "9.0",
    }
    command = [sys.executable, "-m", "compat", "run", "setup.py", "build_ext", "--inplace"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_headers_compile(tmp_path):
    for source in ("cuda_module.cpp", "cuda.cu"):
        shutil.copy(HERE / source, tmp_path)
    flags = {"cxx": ["-O0"], "nvcc": ["-O1"]}
    done = built(tmp_path, name="features", sources=["cuda_module.cpp", "cuda.cu"], extra_compile_args=flags)
    assert done.returncode == 0, done.stdout + done.stderr
    (library,) = tmp_path.glob("features*.so")
    code = library.read_bytes()
    assert all(name in code for name in (b".nv_fatbin", b"sum_atomically", b"shim_cxx_generator", b"PyInit_features"))


def test_device_code_of_several_sources(tmp_path):
    (tmp_path / "one.cu").write_text(
        "extern __device__ int two(int);\n"
        "__global__ void kernel(int* x) { *x = two(*x); }\n"
        'extern "C" void launch(int* x) { kernel<<<1, 1>>>(x); }\n'
    )
    (tmp_path / "two.cu").write_text("__device__ int two(int x) { return 2 * x; }\n")
    extension = {
        "name": "linked",
        "sources": ["one.cu", "two.cu"],
        "dlink": True,
        "extra_compile_args": {"cxx": [], "nvcc": ["-rdc=true"]},
    }
    done = built(tmp_path, **extension)
    assert done.returncode == 0, done.stdout + done.stderr
    (library,) = tmp_path.glob("linked*.so")
    (made,) = tmp_path.glob("build/**/dlink.o")
    assert b"launch" in library.read_bytes() and made.stat().st_size > 0
    symbols = subprocess.run(["nm", "-u", str(library)], capture_output=True, text=True).stdout
    assert "__cudaRegisterLinkedBinary" not in symbols, symbols
