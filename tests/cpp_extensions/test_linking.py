"""What extensions find when they are linked: OpenMP, threads that may call operators, kernels of other keys."""

from __future__ import annotations

import shutil

import pytest
from cpp_extension_runs import run

pytest.importorskip("pybind11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("c++") or shutil.which("g++")), reason="no C++ compiler"),
]

OPENMP = """
#include <omp.h>
#include <torch/library.h>
int64_t threads() {
  int64_t n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  n += omp_get_thread_num();
  return n;
}
TORCH_LIBRARY(shim_openmp, m) { m.def("threads", &threads); }
"""


def test_sources_link_to_openmp_without_naming_it(tmp_path):
    """PyTorch's libraries bring it along; a source that does not use it does not load it."""
    source, program = tmp_path / "threads.cpp", tmp_path / "threads.py"
    source.write_text(OPENMP)
    program.write_text(
        "import torch\nfrom torch.utils import cpp_extension\n"
        f"cpp_extension.load('threads', [{str(source)!r}], extra_cflags=['-O0', '-fopenmp'], is_python_module=False,\n"
        f"                   build_directory={str(tmp_path)!r})\n"
        "print(torch.ops.shim_openmp.threads())\n"
        "made = cpp_extension.load_inline('without', '', extra_cflags=['-O0'], is_python_module=False,\n"
        f"                                build_directory={str(tmp_path)!r})\n"
        f"print([b'libgomp' in open({str(tmp_path)!r} + f'/{{n}}.so', 'rb').read() for n in ('threads', 'without')])\n"
    )
    done = run(str(program), cache=tmp_path)
    assert done.stdout.splitlines() == ["3", "[True, False]"], done.stdout + done.stderr


THREADS = """
#include <torch/extension.h>
#include <future>
#include <thread>
at::Tensor joined(at::Tensor x) {
  at::Tensor y = at::zeros_like(x);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < x.size(0); ++i) threads.emplace_back([&, i] { y[i] = x[i] * 2; });
  for (auto& t : threads) t.join();
  return y;
}
at::Tensor awaited(at::Tensor x) {
  return std::async(std::launch::async, [x] { return x.sum(); }).get();
}
at::Tensor team(at::Tensor x) {
  at::Tensor y = at::zeros_like(x);
#pragma omp parallel for num_threads(3)
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] + 1;
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("joined", &joined);
  m.def("awaited", &awaited);
  m.def("team", &team);
  m.def("unlocked", &joined, py::call_guard<py::gil_scoped_release>());
}
"""


def test_threads_that_are_waited_for_call_operators(tmp_path):
    """A binding holds the GIL, which operators take: waiting for threads of its own lets go of it."""
    source, program = tmp_path / "threads.cpp", tmp_path / "threads.py"
    source.write_text(THREADS)
    program.write_text(
        "import faulthandler, torch\nfrom torch.utils import cpp_extension\n"
        f"m = cpp_extension.load('threads', [{str(source)!r}], extra_cflags=['-O0', '-fopenmp'],\n"
        f"                       build_directory={str(tmp_path)!r})\n"
        "faulthandler.dump_traceback_later(60, exit=True)\n"
        "x = torch.arange(6.0).reshape(3, 2)\n"
        "for f in (m.joined, m.awaited, m.team, m.unlocked):\n    print(f(x).tolist())\n"
    )
    done = run(str(program), cache=tmp_path)
    assert done.stdout.splitlines() == [
        "[[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]",
        "15.0",
        "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]",
        "[[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]",
    ], done.stdout + done.stderr


FUNCTIONAL = """
#include <torch/library.h>
#include <ATen/FunctionalTensorWrapper.h>
at::Tensor twice(const at::Tensor& x) { return x * 2; }
at::Tensor& twice_(at::Tensor& x) { return x.mul_(2); }
at::Tensor& functional(at::Tensor& x) {
  TORCH_INTERNAL_ASSERT(at::functionalization::impl::isFunctionalTensor(x));
  at::functionalization::impl::sync(x);
  at::AutoDispatchSkipFunctionalize guard;
  at::functionalization::impl::replace_(x, twice(at::functionalization::impl::from_functional_tensor(x)));
  at::functionalization::impl::commit_update(x);
  return x;
}
TORCH_LIBRARY(shim_functional, m) {
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)");
  m.def("functional(Tensor x) -> bool", [](const at::Tensor& x) { return at::functionalization::impl::isFunctionalTensor(x); });
}
TORCH_LIBRARY_IMPL(shim_functional, CPU, m) { m.impl("twice_", twice_); }
TORCH_LIBRARY_IMPL(shim_functional, Functionalize, m) { m.impl("twice_", functional); }
"""


def test_a_kernel_for_functional_tensors_is_taken_and_meets_none(tmp_path):
    source, program = tmp_path / "functional.cpp", tmp_path / "functional.py"
    source.write_text(FUNCTIONAL)
    program.write_text(
        "import torch\nfrom torch.utils import cpp_extension\n"
        f"cpp_extension.load('functional', [{str(source)!r}], extra_cflags=['-O0'], is_python_module=False,\n"
        f"                   build_directory={str(tmp_path)!r})\n"
        "ops, x = torch.ops.shim_functional, torch.ones(2)\n"
        "print(ops.twice_(x) is x, x.tolist(), ops.functional(x))\n"
        "print(torch.func.functionalize(lambda x: x + ops.functional(x))(x).tolist())\n"
        "try:\n    torch.func.functionalize(lambda x: ops.twice_(x.clone()))(x)\n"
        "except RuntimeError as error:\n    print(str(error)[:75])\n"
    )
    done = run(str(program), cache=tmp_path)
    assert done.stdout.splitlines() == [
        "True [2.0, 2.0] False",
        "[2.0, 2.0]",
        "Found a custom (non-ATen) operator whose output has alias annotations: shim",
    ], done.stdout + done.stderr
