"""``find_package(Torch)``: a library of operators that CMake builds against our headers, and loads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")]
LISTS = """
cmake_minimum_required(VERSION 3.18)
project(found CXX)
find_package(Torch 2.0 REQUIRED)
find_library(TORCH_PYTHON_LIBRARY torch_python PATHS "${TORCH_INSTALL_PREFIX}/lib" NO_DEFAULT_PATH REQUIRED)
add_library(found SHARED found.cpp)
target_include_directories(found PRIVATE ${TORCH_INCLUDE_DIRS})
target_compile_options(found PRIVATE ${TORCH_CXX_FLAGS} -O0)
target_link_libraries(found PRIVATE "${TORCH_LIBRARIES}" ${TORCH_PYTHON_LIBRARY})
"""
SOURCE = """
#include <torch/library.h>
#include <thread>
#include <ATen/ops/add.h>
at::Tensor plus(const at::Tensor& x, int64_t n) {
  at::Tensor sum;
  std::thread([&] { sum = at::add(x, n); }).join();
  return sum;
}
TORCH_LIBRARY(shim_cmake_test, m) { m.def("plus(Tensor x, int n) -> Tensor", &plus); }
"""
PROGRAM = """
import subprocess, sys
import torch
folder = sys.argv[1]
options = ["-DCMAKE_PREFIX_PATH=" + torch.utils.cmake_prefix_path, "-S", folder, "-B", folder + "/build"]
subprocess.run(["cmake", *options], check=True)
subprocess.run(["cmake", "--build", folder + "/build"], check=True)
torch.ops.load_library(folder + "/build/libfound.so")
print(torch.ops.shim_cmake_test.plus(torch.ones(2), 3).tolist())
print(b"__wrap__ZNSt6thread4joinEv" in open(folder + "/build/libfound.so", "rb").read())  # lets go of the GIL
"""


def test_a_library_that_cmake_builds(tmp_path):
    for name, text in (("CMakeLists.txt", LISTS), ("found.cpp", SOURCE), ("program.py", PROGRAM)):
        (tmp_path / name).write_text(text)
    root = str(Path(__file__).resolve().parents[2])
    here = [root] if (Path(root) / "shim_torch/_impl/native/lib").exists() else []
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *here]))
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "shim_torch_proxy", "run", str(tmp_path / "program.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-2:] == ["[4.0, 4.0]", "True"]
