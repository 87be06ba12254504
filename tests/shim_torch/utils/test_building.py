"""Extensions compiled from C++ source: through the C functions of the stable ABI, and errors for other headers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from shim_torch._impl import native
from shim_torch.utils import cpp_extension

INSTALLED = str(Path(native.__file__).parents[3])  # the source tree may have no compiled core
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")

SOURCE = """
#include <cstdint>
extern "C" {
typedef void* Library;
typedef void (*Kernel)(uint64_t*, uint64_t, uint64_t);
int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_def(Library, const char*);
int32_t torch_library_impl(Library, const char*, Kernel, uint64_t);
}
static void times(uint64_t* stack, uint64_t, uint64_t) { stack[0] *= FACTOR; }
static const int registered = [] {
  Library library;
  aoti_torch_library_init_def(NAMESPACE, __FILE__, __LINE__, &library);
  return aoti_torch_library_def(library, "times(int x) -> int") + torch_library_impl(library, "times", times, 0);
}();
"""
MODULE = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "built", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
#define INIT(name) PyInit_##name
#define INIT_OF(name) INIT(name)
PyMODINIT_FUNC INIT_OF(TORCH_EXTENSION_NAME)(void) { return PyModule_Create(&definition); }
"""


def test_inline_and_built_again_when_it_changes(tmp_path):
    options = {"no_implicit_headers": True, "is_python_module": False, "build_directory": str(tmp_path)}
    path = cpp_extension.load_inline("one", SOURCE, extra_cflags=["-DFACTOR=3", '-DNAMESPACE="built_one"'], **options)
    assert torch.ops.built_one.times(14) == 42
    built = os.stat(path).st_mtime_ns
    cpp_extension.load_inline("one", SOURCE, extra_cflags=["-DFACTOR=3", '-DNAMESPACE="built_one"'], **options)
    assert os.stat(path).st_mtime_ns == built
    cpp_extension.load_inline("two", SOURCE, extra_cflags=["-DFACTOR=5", '-DNAMESPACE="built_two"'], **options)
    assert torch.ops.built_two.times(2) == 10


def test_a_python_module_from_files(tmp_path):
    source = tmp_path / "module.cpp"
    source.write_text(SOURCE + MODULE)
    flags = ["-DFACTOR=2", '-DNAMESPACE="built_module"']
    module = cpp_extension.load("built_module", [str(source)], extra_cflags=flags, build_directory=str(tmp_path))
    assert module.__file__ == str(tmp_path / "built_module.so") and torch.ops.built_module.times(4) == 8


def test_built_again_when_a_header_changes(tmp_path):
    header, source = tmp_path / "factor.h", tmp_path / "source.cpp"
    source.write_text('#include "factor.h"\nextern "C" int shim_factor() { return FACTOR; }\n')
    for number in (3, 3, 4):
        header.write_text(f"#define FACTOR {number}\n")
        before = (tmp_path / "headed.so").stat().st_mtime_ns if (tmp_path / "headed.so").exists() else None
        options = {"build_directory": str(tmp_path), "is_python_module": False}
        path = Path(cpp_extension.load("headed", [str(source)], **options))
        assert (path.stat().st_mtime_ns == before) == (number == 3 and before is not None)
    assert any(b"factor.h" in line for line in (tmp_path / "headed.built").read_bytes().splitlines())


def test_headers_of_other_systems(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("#ifdef USE_ROCM\n#include <c10/hip/HIPStream.h>\n#endif\nint x;\n")
    options = {"build_directory": str(tmp_path), "is_python_module": False}
    assert cpp_extension.load("conditional", str(source), **options) == str(tmp_path / "conditional.so")
    with pytest.raises(RuntimeError, match=r"(?s)No such file.*<c10/hip/HIPStream.h> is a header of PyTorch's that"):
        cpp_extension.load("conditional", str(source), extra_cflags=["-DUSE_ROCM"], **options)


@pytest.mark.parametrize("ninja", [True, False])
def test_several_sources(tmp_path, monkeypatch, ninja):
    if ninja and shutil.which("ninja") is None:
        pytest.skip("needs ninja")
    if not ninja:
        monkeypatch.setattr(shutil, "which", lambda name, which=shutil.which: None if name == "ninja" else which(name))
    (tmp_path / "with space").mkdir()
    for name in ("one", "two", "three"):
        (tmp_path / "with space" / f"{name}.cpp").write_text(f'extern "C" int shim_{name}() {{ return 1; }}\n')
    sources = [str(tmp_path / "with space" / f"{name}.cpp") for name in ("one", "two", "three")]
    options = {"build_directory": str(tmp_path / "with space"), "is_python_module": False}
    monkeypatch.setenv("MAX_JOBS", "2")
    path = cpp_extension.load("several", sources, **options)
    code = Path(path).read_bytes()
    assert all(name in code for name in (b"shim_one", b"shim_two", b"shim_three"))
    Path(sources[1]).write_text("nonsense")
    with pytest.raises(RuntimeError, match="(?s)Error building extension 'several'.*nonsense"):
        cpp_extension.load("several", sources, **options)


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="Expected 'functions' to be a list or dict"):
        cpp_extension.load_inline("x", "int f();", functions=3, build_directory=str(tmp_path))
    source = tmp_path / "a.cpp"
    source.write_text("#include <torch/nn/module.h>\n")
    with pytest.raises(NotImplementedError, match=r"a.cpp includes <torch/nn/module.h>"):
        cpp_extension.load("x", str(source), build_directory=str(tmp_path))
    source.write_text("nonsense")
    with pytest.raises(RuntimeError, match="(?s)Error building extension 'x'.*nonsense"):
        cpp_extension.load("x", str(source), build_directory=str(tmp_path))
    with pytest.raises(NotImplementedError, match=r"CppExtension is not supported.*for a.sycl"):
        cpp_extension.CppExtension("x", ["a.sycl"])
    assert all(os.path.isdir(f) for f in cpp_extension.include_paths("cpu"))


needs_nvcc = pytest.mark.skipif(
    cpp_extension.CUDA_HOME is None or not os.path.exists(f"{cpp_extension.CUDA_HOME}/bin/nvcc"), reason="needs nvcc"
)
KERNEL = """
#include <cuda_runtime.h>
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
extern "C" int kernel_attributes(cudaFuncAttributes* a) { return cudaFuncGetAttributes(a, scale); }
"""


@needs_nvcc
def test_cuda_sources_are_compiled_by_nvcc(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX")
    flags = ["-DFACTOR=4", '-DNAMESPACE="built_with_cuda"']
    options = {
        "no_implicit_headers": True,
        "is_python_module": False,
        "build_directory": str(tmp_path),
        "extra_cflags": flags,
    }
    path = cpp_extension.load_inline("with_cuda", SOURCE, KERNEL, **options)
    assert torch.ops.built_with_cuda.times(5) == 20
    code = Path(path).read_bytes()
    assert b"kernel_attributes" in code and b".nv_fatbin" in code and b"libcudart.so" in code
    with pytest.raises(RuntimeError, match="Error building extension 'bad'"):
        cpp_extension.load_inline("bad", SOURCE, "__global__ nonsense", **options)


@needs_nvcc
def test_setuptools_builds_cuda_sources(tmp_path):
    pytest.importorskip("setuptools")
    (tmp_path / "setup.py").write_text(SETUP.replace("CppExtension", "CUDAExtension").replace("ops.cpp", 'ops.cpp", "kernel.cu').replace(
        '"cxx": [', '"nvcc": ["-O1", "-arch=sm_90"], "cxx": ['))  # fmt: skip
    (tmp_path / "built_by_setup").mkdir()
    (tmp_path / "ops.cpp").write_text(SOURCE + MODULE)
    (tmp_path / "kernel.cu").write_text(KERNEL)
    command = [sys.executable, "-m", "compat", "run", "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": INSTALLED}, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert b".nv_fatbin" in (tmp_path / "built_by_setup" / "_C.so").read_bytes()


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

flags = {"cxx": ["-O1", "-DFACTOR=7", '-DNAMESPACE="built_by_setup"']}
setup(
    name="built_by_setup",
    ext_modules=[CppExtension("built_by_setup._C", ["ops.cpp"], extra_compile_args=flags, py_limited_api=True)],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
"""


def test_setuptools_builds_in_place(tmp_path):
    (tmp_path / "built_by_setup").mkdir()
    (tmp_path / "built_by_setup" / "__init__.py").write_text("import torch\nfrom . import _C\n")
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "ops.cpp").write_text(SOURCE + MODULE)
    environment = {**os.environ, "PYTHONPATH": INSTALLED}

    def run(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    done = run("-m", "compat", "run", "setup.py", "-q", "build_ext", "--inplace")
    assert done.returncode == 0 and (tmp_path / "built_by_setup" / "_C.so").exists(), done.stderr
    program = "from compat import enable_torch_proxy as e; e({'built_by_setup'}); import built_by_setup as b"
    done = run("-c", f"{program}; print(b.torch.ops.built_by_setup.times(6))")
    assert done.stdout == "42\n", done.stderr
    (tmp_path / "ops.cpp").write_text("#include <torch/nn/module.h>\n")
    done = run("-m", "compat", "run", "setup.py", "-q", "build_ext", "--inplace", "--force")
    assert done.returncode == 1 and "ops.cpp includes <torch/nn/module.h>" in done.stderr


def test_file_baton(tmp_path):
    from threading import Timer

    from shim_torch.utils.file_baton import FileBaton

    first, second = FileBaton(str(tmp_path / "lock")), FileBaton(str(tmp_path / "lock"), 0.01, 0.02)
    assert first.try_acquire() and not second.try_acquire()
    timer = Timer(0.2, first.release)
    timer.start()
    with pytest.warns(UserWarning, match="Waited on lock file"):
        second.wait()
    timer.join()
    assert second.try_acquire()
    second.release()
    assert not (tmp_path / "lock").exists()


def mode(path):
    return os.stat(path).st_mode & 0o777


def test_build_folders_are_the_users_own(tmp_path, monkeypatch):
    old = os.umask(0)
    try:
        monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "root"))
        folder = cpp_extension._get_build_directory("one", False)
        assert folder == str(tmp_path / "root" / "one") and mode(folder) == mode(tmp_path / "root") == 0o700
        os.chmod(folder, 0o777)
        assert mode(cpp_extension._get_build_directory("one", False)) == 0o700
        os.chmod(tmp_path, 0o1777)  # as /tmp is
        monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
        cpp_extension._get_build_directory("two", False)
        assert mode(tmp_path) == 0o777 and mode(tmp_path / "two") == 0o700
    finally:
        os.umask(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is another user's")
def test_build_folders_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    (tmp_path / "one").mkdir()
    os.chown(tmp_path / "one", 12345, 12345)
    with pytest.raises(RuntimeError, match="nobody else may write to: .*one is another user's"):
        cpp_extension._get_build_directory("one", False)
    (tmp_path / "two").symlink_to(tmp_path)
    os.chown(tmp_path / "two", 12345, 12345, follow_symlinks=False)
    with pytest.raises(RuntimeError, match="two is a link of another user's"):
        cpp_extension._get_build_directory("two", False)


def test_a_damaged_library_is_built_again(tmp_path):
    flags = ["-DFACTOR=7", '-DNAMESPACE="built_again"']
    source = tmp_path / "source.cpp"
    source.write_text(SOURCE)
    built = [tmp_path / "again.so", tmp_path / "again.built"]
    program = f"""if 1:
        import shim_torch as torch
        from shim_torch.utils import cpp_extension
        cpp_extension.load("again", [{str(source)!r}], extra_cflags={flags!r}, build_directory={str(tmp_path)!r}, is_python_module=False)
        print(torch.ops.built_again.times(6))
    """
    environment = {**os.environ, "PYTHONPATH": INSTALLED}

    def run():
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )

    assert run().stdout == "42\n"
    good = built[0].read_bytes()
    for damaged in (good[: len(good) // 2], b""):
        built[0].write_bytes(damaged)
        assert run().stdout == "42\n"
    assert sorted(tmp_path.iterdir()) == sorted([source, *built])  # nothing is left of the builds


def test_processes_build_the_same(tmp_path):
    source = tmp_path / "source.cpp"
    source.write_text(SOURCE)
    program = f"""if 1:
        import shim_torch as torch
        from shim_torch.utils import cpp_extension
        flags = ["-DFACTOR=9", '-DNAMESPACE="built_thrice"']
        cpp_extension.load("same", [{str(source)!r}], extra_cflags=flags, build_directory={str(tmp_path)!r}, is_python_module=False)
        print(torch.ops.built_thrice.times(3))
    """
    environment = {**os.environ, "PYTHONPATH": INSTALLED}
    command = [sys.executable, "-c", program]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=120)[0] for process in running] == ["27\n"] * 3
