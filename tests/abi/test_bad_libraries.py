"""Libraries that cannot be loaded say why; a bad one takes nothing else with it."""

import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest
from compiling import compile_extension

import shim_torch as torch
from shim_torch._impl import native
from shim_torch._impl.extensions import elf, load
from shim_torch._impl.native import stand_ins
from shim_torch_proxy.cli import binaries, scan

INSTALLED = str(Path(native.__file__).parents[3])  # the folder the packages under test are in


def build(folder: Path, text: str, *options: str, name: str = "bad.so", link: bool = True) -> Path:
    source = folder / (name + ".cpp")
    source.write_text(text)
    return compile_extension(source, folder / name, *options, link=link)


def run(code: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env={"PYTHONPATH": INSTALLED, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


MISSING = 'extern "C" int torch_function_of_the_future();\nint use = torch_function_of_the_future();\n'


def test_missing_function_is_named(tmp_path):
    path = build(tmp_path, MISSING)
    with pytest.raises(OSError, match="that shim-torch does not have: torch_function_of_the_future"):
        torch.ops.load_library(path)
    assert binaries.scan(str(path))[0]["missing"] == ["torch_function_of_the_future"]
    assert scan.main(str(path), False) == 1


def test_cpp_abi_is_recognised(tmp_path):
    text = "namespace c10 { struct Error { Error(); }; }\nc10::Error e;\n"
    path = build(tmp_path, text)
    with pytest.raises(OSError, match=r"bad.so was built against PyTorch's C\+\+ ABI .*_ZN3c105ErrorC1Ev"):
        torch.ops.load_library(path)
    assert binaries.scan(str(path))[0]["kind"] == "C++ ABI"


def test_truncated_library(library, tmp_path):
    data = library.read_bytes()
    for size in (0, 40, 64, 1000, len(data) // 2):
        path = tmp_path / f"cut{size}.so"
        path.write_bytes(data[:size])
        with pytest.raises(OSError, match="cut"):
            torch.ops.load_library(path)
        assert not size or binaries.scan(str(path))[0]["kind"].startswith("unreadable")


def test_damaged_tables_are_errors_of_the_reader(library):
    data = bytearray(library.read_bytes())
    for at in range(0, 4096, 7):
        changed = bytes(data[:at]) + bytes([data[at] ^ 0xFF]) + bytes(data[at + 1 :])
        try:
            elf.parse(changed)
        except ValueError:
            pass


def test_cuda_library_that_is_not_there(tmp_path):
    cuda = tmp_path / "libcusparse.so.77"
    build(tmp_path, 'extern "C" int cusparse() { return 0; }', "-Wl,-soname,libcusparse.so.77", name=cuda.name)
    path = build(tmp_path, 'extern "C" int cusparse();\nint use = cusparse();\n', str(cuda))
    cuda.unlink()
    with pytest.raises(OSError, match="missing CUDA libraries: libcusparse.so.77: pip install nvidia-cusparse"):
        torch.ops.load_library(path)


@pytest.mark.parametrize(
    ("soname", "package"),
    [
        ("libcudart.so.12", "nvidia-cuda-runtime-cu12"),
        ("libcudart.so.13", "nvidia-cuda-runtime"),
        ("libnvrtc.so.13", "nvidia-cuda-nvrtc"),
        ("libcublasLt.so.12", "nvidia-cublas-cu12"),
        ("libm.so.6", None),
    ],
)
def test_package_that_brings_a_cuda_library(soname, package):
    assert load.package_of(soname) == package


def test_no_such_file():
    with pytest.raises(OSError, match="/no/such.so"):
        torch.ops.load_library("/no/such.so")


BAD_SCHEMA = """
#include <cstdint>
extern "C" int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, void**);
extern "C" int32_t aoti_torch_library_def(void*, const char*);
int load() {
  void* library;
  aoti_torch_library_init_def("abi_bad", "bad.cpp", 7, &library);
  if (aoti_torch_library_def(library, "broken(Tensor x -> Tensor")) throw 1;
  return aoti_torch_library_def(library, "good(Tensor x) -> Tensor");
}
int loaded = load();
"""


def test_bad_schema_is_a_warning_and_the_rest_loads(tmp_path):
    path = build(tmp_path, BAD_SCHEMA)
    with pytest.warns(UserWarning, match=r"(?s)bad.so: expected .*broken\(Tensor x -> Tensor.*bad.cpp:7"):
        torch.ops.load_library(path)
    assert torch.ops.abi_bad.good.overloads() == ["default"]


def test_beside_a_real_libtorch(tmp_path, library):
    build(tmp_path, "int nothing;", "-Wl,-soname,libtorch_cpu.so", name="libtorch_cpu.so", link=False)
    done = run(
        f"""
        import ctypes, os
        ctypes.CDLL(os.path.abspath("libtorch_cpu.so"))
        import shim_torch
        try:
            shim_torch.ops.load_library({str(library)!r})
        except RuntimeError as error:
            print(error)
        """,
        tmp_path,
    )
    assert "PyTorch's own library" in done.stdout, done.stderr


def test_before_a_real_libtorch(tmp_path, library):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("from torch._C import *")
    (tmp_path / "torch" / "_C.py").write_text("")
    (tmp_path / "out_of_scope.py").write_text("import torch")
    done = run(
        f"""
        import sys
        from compat import enable_torch_proxy
        enable_torch_proxy("in_scope")
        import shim_torch
        sys.path.insert(0, {str(tmp_path)!r})
        import out_of_scope  # PyTorch, beside ours
        for name in ("out_of_scope", "torch", "torch._C"):
            del sys.modules[name]
        shim_torch.ops.load_library({str(library)!r})
        try:
            import out_of_scope
        except ImportError as error:
            print(error)
        """,
        tmp_path,
    )
    assert "Name that module" in done.stdout, done.stderr


def test_handles_may_outlive_the_interpreter(library, tmp_path):
    done = run(
        f"""
        import shim_torch as torch, threading
        torch.ops.load_library({str(library)!r})
        keep = torch.ops.abi_test.twice(torch.ones(5))
        torch.ops.abi_test.keep_until_exit(torch.ones(3))
        torch.ops.abi_test.keep_until_exit(keep[1:])
        print("end")
        """,
        tmp_path,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr


MODULE = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdint>
extern "C" int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, void**);
extern "C" int32_t aoti_torch_library_def(void*, const char*);
extern "C" int32_t torch_library_impl(void*, const char*, void (*)(uint64_t*, uint64_t, uint64_t), uint64_t);
int load() {
  void* library;
  aoti_torch_library_init_def("abi_module", "m.cpp", 1, &library);
  aoti_torch_library_def(library, "same(Tensor x) -> Tensor");
  return torch_library_impl(library, "same", [](uint64_t*, uint64_t, uint64_t) {}, 0);
}
int loaded = load();
static PyModuleDef def = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__C() { return PyModule_Create(&def); }
"""


@pytest.mark.parametrize("scope", ['{"abi_package"}', "None"])
def test_extension_module_of_a_package_in_scope(tmp_path, scope):
    import sysconfig

    package = tmp_path / "abi_package"
    package.mkdir()
    (package / "__init__.py").write_text("import torch\nfrom . import _C\nsame = torch.ops.abi_module.same\n")
    build(package, MODULE, f"-I{sysconfig.get_path('include')}", name="_C" + sysconfig.get_config_var("EXT_SUFFIX"))
    done = run(
        f"""
        from compat import enable_torch_proxy
        enable_torch_proxy({scope})
        import abi_package, shim_torch
        x = shim_torch.ones(2)
        print(abi_package.same(x) is x)
        """,
        tmp_path,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_scan_of_a_folder(library, capsys):
    assert scan.main(str(library.parent), False) == 0
    assert "abi_test.so: stable ABI" in capsys.readouterr().out
    row = binaries.scan(str(library))[0]
    assert row["torch"] == "2.13" and row["missing"] == [] and "torch_call_dispatcher" in row["functions"]


def test_every_function_of_the_stable_shim_is_exported():
    known = set(binaries._RELEASE)
    assert known <= load.exported()
    assert len(load.exported()) > 700
    for name in stand_ins.SONAMES:
        assert elf.read(str(stand_ins.folder() / name)).soname == name


BY_FILE = """
import importlib.util, os, torch
spec = importlib.util.spec_from_file_location("common_ops", os.path.join(os.path.dirname(__file__), "sm90", "common_ops.so"))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""


@pytest.mark.parametrize("text", ["", "namespace c10 { struct Error { Error(); }; }\nc10::Error e;\n"])
def test_a_module_that_a_package_takes_from_a_file_by_itself(tmp_path, text):
    """Past the import system's finders (sgl_kernel): the stand-ins are there, and what is wrong is said."""
    folder = tmp_path / "by_file" / "sm90"
    folder.mkdir(parents=True)
    (tmp_path / "by_file" / "__init__.py").write_text(BY_FILE)
    code = '#include <Python.h>\nstatic PyModuleDef d = {PyModuleDef_HEAD_INIT, "common_ops"};\nPyMODINIT_FUNC PyInit_common_ops() { return PyModule_Create(&d); }\n'
    build(folder, text + code, "-I" + sysconfig.get_paths()["include"], name="common_ops.so")
    done = run(
        "from compat import enable_torch_proxy as e; e({'by_file'}); import by_file; print(by_file.module.__file__)",
        tmp_path,
    )
    if text:
        assert "common_ops.so was built against PyTorch's C++ ABI" in done.stderr
    else:
        assert done.stdout.strip().endswith("common_ops.so"), done.stderr
