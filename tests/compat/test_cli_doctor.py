"""``python -m compat doctor``: it leads with what to do, and names what cannot work here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch_proxy
from shim_torch_proxy.cli import doctor, installed, provide

ROOT = Path(shim_torch_proxy.__file__).parents[1]


@pytest.fixture
def ours(tmp_path):
    """``ours(*arguments, cwd)``: a finished doctor of the whole package."""

    def call(
        *arguments: str, cwd: Path = tmp_path, module: str = "shim_torch_proxy", path: str = ""
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
        return subprocess.run(
            [sys.executable, "-m", module, "doctor", *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environment,
        )

    return call


@pytest.fixture
def plain_search(monkeypatch):
    """Without the tests' own finder, which refuses torch."""
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if type(finder).__name__ != "NoTorch"])


def test_what_to_do_comes_first(ours):
    lines = ours().stdout.splitlines()
    advice = json.loads(ours("--json").stdout)["advice"]
    assert lines[0] == ("To do:" if advice else "Nothing to do.")
    assert lines[1 : 1 + len(advice)] == [f"  - {line}" for line in advice] and lines[1 + len(advice)] == ""
    assert lines[2 + len(advice)].startswith("Python  ")


def test_mends_are_listed_when_asked_for(ours):
    pytest.importorskip("triton")
    short, full = ours().stdout, ours("--mends").stdout
    assert "mend (triton)" not in short and "doctor --mends lists them" in short
    listed = [line for line in full.splitlines() if line.startswith("mend (triton)")]
    assert len(listed) > 20 and f"mends           {len(listed)} of triton" in short


def test_the_pack_and_the_cache_of_kernels(ours, tmp_path, monkeypatch):
    from shim_torch._impl.native import _core

    kernels, pack = tmp_path / "cache" / "kernels", tmp_path / "kernels.pack"
    monkeypatch.setenv("SHIM_CACHE_DIR", str(kernels.parent))
    monkeypatch.setenv("SHIM_TORCH_KERNEL_PACK", "")
    text = ours().stdout
    assert "\nkernel pack     none: kernels are compiled when first used\n" in text
    assert f"\nkernel cache    {kernels}, 0 kernels, 0.0 MB\n" in text and "failed kernel" not in text
    _core.cache_keep(str(kernels), "one.cubin", b"key", b"code")
    failure = f"{_core.kernel_sources()} sm_90 sort ELEMENT=float\nsort.cuh(3): error: wrong\nmore of it"
    (kernels / "one.failed").write_text(failure)
    _core.kernel_pack_write(str(pack), [("triangle OUT=int", 80, b"a"), ("triangle OUT=int", 90, b"b")])
    monkeypatch.setenv("SHIM_TORCH_KERNEL_PACK", str(pack))
    text = ours().stdout
    assert f"\nkernel pack     {pack} (sm_80: 1, sm_90: 1)\n" in text
    assert f"\nkernel cache    {kernels}, 1 kernels, 0.0 MB\n" in text
    assert "\nfailed kernel   sm_90 sort ELEMENT=float: sort.cuh(3): error: wrong\n" in text
    data = bytearray(pack.read_bytes())
    data[16] ^= 1  # of the digest of the sources
    pack.write_bytes(data)
    text = ours().stdout
    assert f"\nkernel pack     {pack} is not used: it was made from other sources than this version's\n" in text
    assert text.count("made from other sources") == 2  # what to do, too


def test_files_that_hide_packages(ours, tmp_path, monkeypatch, plain_search):
    assert json.loads(ours("--json").stdout)["shadowed"] == {}
    (tmp_path / "compat.py").write_text("")
    (tmp_path / "ml_dtypes").mkdir()  # no package: a real one is found after it
    done = ours("--json")
    result = json.loads(done.stdout)
    assert result["shadowed"] == {"compat": str(tmp_path / "compat.py")}, done.stderr
    assert any("compat.py hides our compat: import shim_torch_proxy" in line for line in result["advice"])
    assert "shadowed        compat" in ours().stdout
    (tmp_path / "triton.py").write_text("")
    shutil.copytree(ROOT / "compat", tmp_path / "site" / "compat")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    hidden = installed.shadowed(str(tmp_path / "elsewhere"))
    assert hidden["compat"] == str(tmp_path / "site" / "compat" / "__init__.py") and "triton" not in hidden
    assert "rename x/numpy.py, or start Python in another folder: it is imported in place of numpy" in doctor._advice(
        [], {"numpy": "x/numpy.py"}, {}, None
    )


def test_wheels_that_need_the_cpp_abi(tmp_path, monkeypatch, plain_search):
    """A library that names a function of c10 and libc10.so: of the C++ ABI. One that names no libtorch is not looked into."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    from shim_torch._impl.native import stand_ins

    for package, source, flags in [
        ("needs_it", "namespace c10 { void gone(int); } void f() { c10::gone(1); }", ["-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-lc10"]),
        ("plain", "void f() {}", []),
    ]:  # fmt: skip
        (tmp_path / package).mkdir()
        (tmp_path / f"{package}.cpp").write_text(source)
        library = tmp_path / package / "_C.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", str(tmp_path / f"{package}.cpp"), "-o", str(library), *flags], check=True
        )
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"{package}/_C.so,,\n{package}/gone.so,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = installed.cpp_abi_wheels()
    assert found["needs_it"] == "needs_it/_C.so" and "plain" not in found
    monkeypatch.setattr(installed, "cpp_abi_wheels", lambda: {"needs_it": "needs_it/_C.so"})
    result = doctor.report()
    assert [line for line in result["advice"] if line.startswith("needs_it: build it from source")]
    assert "C++ ABI wheels  needs_it" in doctor.lines(result, False)


def test_the_state_of_provide(tmp_path):
    assert provide.state(tmp_path).startswith("not done: pip installs PyTorch")
    made = tmp_path / "torch-2.13.0.dist-info"
    made.mkdir()
    provide._fill(made, made.name, "2.13.0")
    assert provide.state(tmp_path) == "torch 2.13.0 is what `provide` wrote"
    (made / "INSTALLER").write_text("pip\n")  # from a wheel of ours, as in the environment of a build
    assert provide.state(tmp_path) == "torch 2.13.0 is what `provide` wrote"
    (made / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: setuptools (80.9.0)\nRoot-Is-Purelib: false\n")
    assert provide.state(tmp_path) == "torch 2.13.0 is installed, and no work of `provide`"


def test_uninstalling_leaves_what_was_compiled(ours, tmp_path, monkeypatch):
    """Kernels and plans of SHIM_CACHE_DIR, and the headers that extensions were compiled with."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SHIM_CACHE_DIR", str(tmp_path / "shim_torch"))
    assert not any(str(tmp_path) in line for line in doctor.report()["left_behind"])
    (tmp_path / "shim_torch").mkdir()
    (tmp_path / "torch_extensions" / "include-0.1.0-1a").mkdir(parents=True)
    assert doctor.report()["left_behind"][-2:] == [
        f"{tmp_path}/shim_torch (kernels and measured plans; rm -r)",
        f"{tmp_path}/torch_extensions/include-* (headers for extensions; rm -r)",
    ]


def test_what_uninstalling_leaves_and_who_asks_for_another_torch(tmp_path, monkeypatch, plain_search):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(doctor, "_site", lambda: site)
    assert not any("torch-2" in line for line in doctor.report()["left_behind"])
    info = provide.write(site, "2.13.0+shim")
    for name, asked in (("exact", "==2.14.0"), ("older", "<2.0"), ("suits", ">=2.1"), ("extra", "==1.0; extra == 'x'")):
        (site / f"{name}-1.0.dist-info").mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: torch{asked}\n"
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(text)
    result = doctor.report()
    assert f"{info} (" in result["left_behind"][0]
    assert result["left_behind"][0].endswith("provide --remove; afterwards, pip uninstall torch)")
    recorded = {line.split(",")[0] for line in (info / "RECORD").read_text().splitlines()}
    assert recorded == {f"{info.name}/{path.name}" for path in info.iterdir()}  # what pip takes away
    assert any(
        line.startswith(f"uninstalling    pip uninstall shim-torch leaves {info}")
        for line in doctor.lines(result, False)
    )
    advice = "\n".join(result["advice"])
    assert "provide --version 2.14.0 (pip check: exact asks for torch==2.14.0)" in advice
    assert "provide --version with one that suits (pip check: older asks for torch<2.0)" in advice
    assert "suits asks" not in advice and "extra asks" not in advice
