"""Scopes that follow from a package's requirements and from where its files are."""

from __future__ import annotations

import pytest


def _package(folder, name, code, requires=(), distribution=None):
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(code)
    info = folder / f"{(distribution or name).replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    lines = [f"Name: {distribution or name}", "Version: 1.0", *(f"Requires-Dist: {r}" for r in requires)]
    (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n")


@pytest.fixture
def site(tmp_path):
    asks = "try:\n    import torch\n    found = torch.__name__\nexcept ImportError:\n    found = None\n"
    _package(tmp_path, "lib_a", "import lib_b, lib_c, einops, lib_d", ["lib-b>=1; python_version>'3'", "einops", "lib-c",
             "lib-d; extra == 'more'"], distribution="lib-of-a")  # fmt: skip
    _package(tmp_path, "lib_b", asks, ["torch>=2"], distribution="lib-b")
    _package(tmp_path, "lib_c", asks, ["numpy"])
    _package(tmp_path, "lib_d", asks, ["torch"])
    _package(tmp_path, "einops", asks)  # requires none, and has a part for it
    with (tmp_path / "einops-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("einops/layers/torch.py,,\n")
    return tmp_path


CODE = """
    import sys
    sys.path.insert(0, {site!r})
    from compat import enable_torch_proxy
    enable_torch_proxy({scope!r})
    import lib_a, lib_b, lib_c, lib_d, einops
    print([m.found and "ours" for m in (lib_b, einops, lib_c, lib_d)])
"""


def test_what_a_package_requires_gets_torch_if_it_uses_it(probe, site):
    # lib_c does not use torch by its metadata; lib_d is required by an extra, and installed.
    assert probe(CODE.format(site=str(site), scope={"lib_a"})) == "['ours', 'ours', None, 'ours']"


def test_requirements_of_requirements_count(probe, tmp_path):
    """gpytorch requires linear_operator, which requires torch; what only an extra requires does not count there."""
    asks = "try:\n    import torch\n    found = torch.__name__\nexcept ImportError:\n    found = None\n"
    _package(tmp_path, "far", asks, ["torch"])
    _package(tmp_path, "middle", asks, ["far"])
    _package(tmp_path, "other", asks, ["far; extra == 'dev'"])
    _package(tmp_path, "lib", "import middle, other", ["middle", "other"])
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from compat import enable_torch_proxy
        enable_torch_proxy({{"lib"}})
        import lib
        print(lib.middle.found and "ours", lib.other.found)
    """
    assert probe(code) == "ours None"


OPTIONAL = """
    import sys
    sys.path.insert(0, {site!r})
    from compat import enable_torch_proxy, disable_torch_proxy, torch_proxy_status
    enable_torch_proxy({{"lib"}}, blocked={blocked!r})
    import lib
    print(lib.found, sorted(n for n in torch_proxy_status()["scope"] if n != "lib"))
    disable_torch_proxy()
    for name in ("extra_c", "extra_b"):
        sys.modules.pop(name, None)
    enable_torch_proxy({{"nothing"}})
    try:
        import extra_c
    except ImportError as e:
        print(e)
"""


@pytest.mark.parametrize("how", ["import extra_{0} as m", "m = __import__('importlib').import_module('extra_{0}')"])
def test_what_a_package_imports_if_it_is_installed(probe, tmp_path, how):
    """Optional packages that no requirement names: transformers imports torchao, diffusers imports xformers."""
    lines = ["found = []"]
    for name in "abcd":
        lines += ["try:", f"    {how.format(name)}", "    found.append(m.found)", "except ImportError as e:",
                  "    found.append('none')"]  # fmt: skip
    _package(tmp_path, "lib", "\n".join(lines))
    _package(
        tmp_path, "extra_a", "try:\n    import torch\n    found = 'torch'\nexcept ImportError:\n    found = 'without'\n"
    )
    _package(
        tmp_path,
        "extra_b",
        "try:\n    import torch\n    found = 'torch'\nexcept ImportError:\n    found = 'without'\n",
        ["torch"],
    )
    _package(tmp_path, "extra_c", "import os\nimport torch\nfound = 'torch'\n")
    _package(tmp_path, "extra_d", "import torch.nn\nfound = 'torch'\n")
    first, second = probe(OPTIONAL.format(site=str(tmp_path), blocked={"extra_d"})).splitlines()
    assert first == "['without', 'torch', 'torch', 'none'] ['extra_b', 'extra_c']"
    assert second == "No module named 'torch'"


def test_named_packages_get_torch_as_before(probe, site):
    assert probe(CODE.format(site=str(site), scope={"lib_c"})) == "[None, None, 'ours', None]"


def test_beside_a_real_pytorch_requirements_keep_theirs(probe, site):
    code = """
        import sys
        sys.path.insert(0, {site!r})
        from shim_torch_proxy import adapters, enable_torch_proxy
        print(sorted(adapters.closure(frozenset(["lib_a"]))))
    """
    assert probe(code.format(site=str(site)), real=True) == "['lib_a']"
    assert probe(code.format(site=str(site))) == "['einops', 'lib_a', 'lib_b', 'lib_d']"


def test_modules_in_the_folder_of_a_package_are_in_its_scope(probe, tmp_path):
    """A package that puts a folder of its own on sys.path and imports from there by short names."""
    inner = tmp_path / "odd" / "parts"
    inner.mkdir(parents=True)
    (tmp_path / "odd" / "__init__.py").write_text(
        f"import sys\nsys.path.insert(0, {str(inner)!r})\nimport odd_part, odd_package.sub\nsys.path.remove({str(inner)!r})\n"
    )
    (inner / "odd_part.py").write_text("import torch\n")
    (inner / "odd_package").mkdir()
    (inner / "odd_package" / "__init__.py").write_text("import torch\n")
    (inner / "odd_package" / "sub.py").write_text("import torch\n")
    (tmp_path / "outside.py").write_text("import torch\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from compat import enable_torch_proxy
        enable_torch_proxy({{"odd"}}, blocked=BLOCKED)
        try:
            import odd
            print("imported")
        except ImportError as e:
            print(e)
        try:
            import outside
        except ImportError as e:
            print(e)
    """
    assert probe(code.replace("BLOCKED", "()")) == "imported\nNo module named 'torch'"
    assert (
        probe(code.replace("BLOCKED", "{'odd.parts.odd_package.sub'}"))
        == "No module named 'torch'\nNo module named 'torch'"
    )


FOLDERS = {
    "without __init__": {"torch/kernels.py": ""},
    "a package": {"torch/__init__.py": "", "torch/kernels.py": ""},
}


@pytest.mark.parametrize("files", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize("imported", [False, True])
def test_a_folder_called_torch_is_no_pytorch(probe, site, tmp_path, files, imported):
    for name, text in files.items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(text)
    start = f"""
        import sys
        sys.path[:0] = [{str(tmp_path / "own")!r}]
        {"import torch as theirs" if imported else ""}
        """
    probe(
        f"""{start}
        sys.path.append({str(site)!r})
        from compat import enable_torch_proxy
        enable_torch_proxy("lib_a")
        import lib_a, lib_b, lib_c
        assert lib_b.torch.OURS and not hasattr(lib_c.torch, "OURS")
        """
    )
    probe(
        f"""{start}
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy()
        import torch
        assert torch.OURS
        disable_torch_proxy()
        import torch
        assert {not imported} or torch is theirs
        import torch.kernels
        assert torch.kernels.__file__.startswith({str(tmp_path)!r})
        """
    )
