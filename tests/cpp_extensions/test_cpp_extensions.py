"""Extensions in source form: each feature's source builds against our headers and does what program.txt says.

program.txt is what PyTorch 2.13 prints for the same sources (``make test-reference`` compares).
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from cpp_extension_runs import run

from shim_torch._impl.extensions.cxx_operators import generate
from shim_torch._impl.extensions.cxx_schemas import collect

HERE = Path(__file__).resolve().parent
pytest.importorskip("pybind11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("c++") or shutil.which("g++")), reason="no C++ compiler"),
]


def test_features_print_what_pytorch_prints(tmp_path):
    done = run(str(HERE / "program.py"), str(tmp_path / "build"), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == (HERE / "program.txt").read_text().splitlines()


def test_a_library_that_ctypes_opens(tmp_path):
    done = run(str(HERE / "opened.py"), str(tmp_path), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "True (1, 3) torch.float32 True",
        "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]",
        "[7, 15, 11, 9, -1]",
    ]


def test_another_version_is_refused(tmp_path):
    source, program = tmp_path / "old.cpp", tmp_path / "old.py"
    source.write_text(
        'extern "C" const int shim_cxx_built_with_0_0_9;\nstatic const int* const volatile used = &shim_cxx_built_with_0_0_9;\n'
    )
    program.write_text(
        "from torch.utils import cpp_extension\n"
        f"cpp_extension.load('old', [{str(source)!r}], build_directory={str(tmp_path)!r}, is_python_module=False)\n"
    )
    done = run(str(program), cache=tmp_path)
    assert "built with shim-torch 0.0.9" in done.stderr and "0.1.0" in done.stderr, done.stderr


def test_a_missing_header_is_named_before_the_compiler_runs(tmp_path):
    source, program = tmp_path / "nothing.cpp", tmp_path / "nothing.py"
    source.write_text("#include <torch/extension.h>\n#include <torch/nn/module.h>\n")
    program.write_text(
        "from torch.utils import cpp_extension\n"
        f"cpp_extension.load('nothing', [{str(source)!r}], build_directory={str(tmp_path)!r})\n"
    )
    done = run(str(program), cache=tmp_path)
    assert "nothing.cpp includes <torch/nn/module.h>" in done.stderr, done.stderr


ABSENT = """
#include <torch/all.h>
struct Net : torch::nn::Module {};
at::Tensor one(at::Tensor x) { torch::nn::Linear layer(3, 4); return x; }
void two(at::Tensor x) { auto it = at::TensorIteratorConfig().add_output(x).build(); }
float three() { return at::vec::Vectorized<float>::loadu(nullptr)[0]; }
void four(torch::jit::script::Module m) {}
"""


def test_types_that_are_not_there_are_named(tmp_path):
    source, program = tmp_path / "absent.cpp", tmp_path / "absent.py"
    source.write_text(ABSENT)
    options = f"build_directory={str(tmp_path)!r}, extra_cflags=['-O0']"
    program.write_text(
        f"from torch.utils import cpp_extension\ncpp_extension.load('absent', [{str(source)!r}], {options})\n"
    )
    done = run(str(program), cache=tmp_path)
    assert "shim-torch does not have this type of PyTorch's C++ API" in done.stderr, done.stderr
    for name in (
        "nn::absent::Module",
        "nn::absent::Linear",
        "absent::TensorIteratorConfig",
        "absent::Vectorized<float>",
    ):
        assert name in done.stderr, done.stderr
    assert "torch::jit::absent::Module" in done.stderr, done.stderr


def test_a_function_leaves_the_compiler_no_choice():
    """Thousands of calls of an overloaded function were a third of the time of torch/extension.h."""
    made = generate(collect(["aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"]))[0]
    assert made.splitlines() == [
        "namespace shim {",
        "inline ShimCell cell_Scalar(const at::Scalar & v) { return cell(v); }",
        "inline ShimCell cell_Tensor(const at::Tensor & v) { return cell(v); }",
        "}  // namespace shim",
        "namespace at {",
        "inline at::Tensor add(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha = 1) "
        '{ static const ::shim::Op op{"aten::add", "Tensor"}; '
        "const ShimCell c[] = {::shim::cell_Tensor(self), ::shim::cell_Tensor(other), ::shim::cell_Scalar(alpha)}; "
        "return ::shim::call<at::Tensor>(op, c, 3); }",
        "inline at::Tensor Tensor::add(const at::Tensor & other, const at::Scalar & alpha) const "
        "{ return at::add(*this, other, alpha); }",
        "}  // namespace at",
    ]


def test_the_header_is_precompiled_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import glob, os, torch\n"
        "from torch.utils import cpp_extension\n"
        "for name in ('one', 'two'):\n"
        f"    folder = os.path.join({str(tmp_path)!r}, name)\n"
        "    os.mkdir(folder)\n"
        "    code = f'at::Tensor f(at::Tensor a) {{ return a + {len(folder)}; }}'\n"
        "    options = {'functions': ['f'], 'extra_cflags': ['-O0'], 'build_directory': folder, 'use_pch': True}\n"
        "    m = cpp_extension.load_inline(f'precompiled_{name}', code, **options)\n"
        "    print(int(m.f(torch.zeros(()))) == len(folder))\n"
        f"made = glob.glob({str(tmp_path)!r} + '/torch_extensions/include*/torch/extension.h.gch/*')\n"
        "print(len(made), os.path.getsize(made[0]) > 1e6)\n"
    )
    done = run(str(program), cache=tmp_path)
    assert done.stdout.split() == ["True", "True", "1", "True"], done.stdout + done.stderr


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

extension = CppExtension("packaged._C", ["bound.cpp"], extra_compile_args=["-O0"])
setup(
    name="packaged", version="1.2", packages=["packaged"], install_requires=["torch"],
    ext_modules=[extension], cmdclass={"build_ext": BuildExtension},
)
"""
BOUND = """
#include <torch/extension.h>
at::Tensor twice(at::Tensor x) { return x * 2; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }
"""


def test_pip_installs_a_project_whose_setup_imports_torch(tmp_path):
    pytest.importorskip("setuptools")
    if importlib.util.find_spec("setuptools.command.bdist_wheel") is None:
        pytest.importorskip("wheel")  # older setuptools take bdist_wheel from there
    project, site = tmp_path / "project", tmp_path / "site"
    (project / "packaged").mkdir(parents=True)
    (project / "packaged/__init__.py").write_text("import torch\nfrom packaged._C import twice\n")
    (project / "setup.py").write_text(SETUP)
    (project / "bound.cpp").write_text(BOUND)
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--target", str(site)]
    done = run("-m", "pip", "install", *options, str(project), cache=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(site)!r})\n"
        "import torch, packaged\nprint(packaged.twice(torch.ones(2)).tolist())\n"
    )
    done = run(str(program), cache=tmp_path)
    assert done.stdout.split() == ["[2.0,", "2.0]"], done.stderr
