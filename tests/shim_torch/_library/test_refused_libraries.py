"""What a package registers for the operators of its library when that was refused (PyTorch's C++ ABI): kept, no error."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import shim_torch as torch
from shim_torch._impl.extensions import refused
from shim_torch._impl.native import stand_ins


@pytest.fixture
def refuse(tmp_path, monkeypatch):
    """A library of the C++ ABI, whose operators are those of ``cxxns``, was asked for and refused."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    monkeypatch.setattr(refused, "_paths", [])
    monkeypatch.setattr(refused, "_kept", {})
    monkeypatch.setattr(refused, "_answers", {})
    (tmp_path / "a.cpp").write_text(
        'namespace c10 { void define(const char*); } void f() { c10::define("cxxns"); }\n'
        "struct Early { Early() { f(); } } early;\n"
    )
    library = tmp_path / "_C.so"
    links = ["-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-lc10"]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wl,-z,now", str(tmp_path / "a.cpp"), "-o", str(library), *links], check=True
    )
    with pytest.raises(OSError, match=r"C\+\+ ABI"):
        torch.ops.load_library(str(library))


def test_registrations_of_a_refused_library_wait_for_the_operator(refuse):
    library = torch.library.Library("cxxns", "IMPL", "Meta")

    @torch.library.register_fake("cxxns::twice")
    def fake(x):
        return torch.empty_like(x)

    torch.library.register_autograd("cxxns::twice", lambda ctx, g: 2 * g)
    torch.library.register_kernel("cxxns::twice", "cpu", lambda x: x * 2)
    torch.library.impl("cxxns::other", "cpu", lambda x: x)
    library.impl("third", lambda x: x)
    assert refused.kept("cxxns::twice") == 3
    with pytest.raises(AttributeError, match="'_OpNamespace' 'cxxns' object has no attribute 'twice'"):
        _ = torch.ops.cxxns.twice

    torch.library.define("cxxns::twice", "(Tensor x) -> Tensor")
    assert refused.kept("cxxns::twice") == 0
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.cxxns.twice(x)
    y.sum().backward()
    assert y.tolist() == [2, 2] and x.grad.tolist() == [2, 2]
    assert torch.ops.cxxns.twice(torch.ones(3, device="meta")).shape == (3,)


def test_a_library_that_is_gone_registers_nothing(refuse):
    library = torch.library.Library("cxxns", "IMPL", "CPU")
    library.impl("fourth", lambda x: x)
    library._destroy()
    torch.library.define("cxxns::fourth", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError):
        torch.ops.cxxns.fourth(torch.ones(1))


def test_other_namespaces_are_refused_as_before(refuse):
    with pytest.raises(RuntimeError, match="operator elsewhere::nms does not exist"):
        torch.library.register_fake("elsewhere::nms")(lambda x: x)
    with pytest.raises(RuntimeError, match="operator xns::nms does not exist"):  # a part of the name is not the name
        torch.library.register_fake("xns::nms")(lambda x: x)
