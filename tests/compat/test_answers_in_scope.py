"""What code in scope is answered: names that are missing, ``sys``, loaders, metadata, packages and finders of others."""

from __future__ import annotations


def test_namespace_packages_and_finders_of_their_own(probe):
    probe(
        """
        import importlib.abc, importlib.util, pathlib, sys, tempfile, types
        from compat import *
        one, two = pathlib.Path(tempfile.mkdtemp()), pathlib.Path(tempfile.mkdtemp())
        for folder, name in ((one, "a"), (two, "b")):
            (folder / "space").mkdir()
            (folder / "space" / f"{name}.py").write_text("import torch\\ndef lazy():\\n    import torch.nn\\n    return torch\\n")
        sys.path[:0] = [str(one), str(two)]
        (one / "editable_source.py").write_text("import torch\\n")
        class Editable:  # as setuptools' editable installs: a class, not an instance, on sys.meta_path
            @classmethod
            def find_spec(cls, name, path=None, target=None):
                if name == "editable":
                    return importlib.util.spec_from_file_location(name, one / "editable_source.py")
        class Made(importlib.abc.Loader):  # a loader with slots, shared by its modules
            __slots__ = ()
            def create_module(self, spec):
                return None
            def exec_module(self, module):
                exec("import torch", vars(module))
        class MadeFinder:
            def find_spec(self, name, path=None, target=None):
                return importlib.util.spec_from_loader(name, Made()) if name == "made" else None
        sys.meta_path[:0] = [Editable, MadeFinder()]
        enable_torch_proxy({"space", "editable", "made"})
        import space.a, space.b, editable
        assert space.a.torch.OURS and space.b.lazy().OURS and editable.torch.OURS
        import made
        assert made.torch.OURS
        """
    )


def test_already_imported_is_reported(probe):
    probe(
        """
        import warnings, outsider
        from compat import *
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            enable_torch_proxy("outsider")
        assert [w.category for w in seen] == [TorchProxyWarning] and "before the first import" in str(seen[0].message)
        assert torch_proxy_status()["already_imported"] == ["outsider"]
        """
    )


def test_whole_process_refuses_over_real(probe):
    probe(
        """
        import torch as real, sys
        from compat import enable_torch_proxy, torch_proxy_status
        try:
            enable_torch_proxy()
        except RuntimeError as error:
            assert "already imported" in str(error) and "scope=" in str(error)
        else:
            raise AssertionError
        assert torch_proxy_status()["enabled"] == [] and sys.modules["torch"] is real
        """,
        real=True,
    )


def test_missing_submodule_and_version_and_names(probe):
    probe(
        """
        from compat import *
        for bad, kind in [("torch", ValueError), (set(), ValueError), (3, TypeError), ("a-b", ValueError)]:
            try:
                enable_torch_proxy(bad)
            except kind:
                continue
            raise AssertionError(bad)
        enable_torch_proxy("scoped_lib")
        import scoped_lib
        space = {"__builtins__": scoped_lib.__builtins__, "__name__": "scoped_lib.x"}
        for text in ["import torch.nowhere", "from torch.nowhere import x"]:
            try:
                exec(text, space)
            except ModuleNotFoundError as error:
                assert str(error) == "No module named 'torch.nowhere'" and error.name == "torch.nowhere"
            else:
                raise AssertionError
        assert torch_proxy_status()["missing"]["torch.nowhere", "scoped_lib.x"] == 2
        assert eval("importlib.util.find_spec('torch.x')", vars(scoped_lib)) is None
        exec("import torch; torch.foo = 5", space)
        assert scoped_lib.statement().foo == 5
        """
    )


def test_scoped_sys_is_sys_but_for_modules(probe):
    probe(
        """
        import sys
        from compat import enable_torch_proxy
        enable_torch_proxy("scoped_lib")
        import scoped_lib
        s = scoped_lib.sys
        assert s == sys and s.path is sys.path and s.__spec__ is sys.__spec__
        s.mark = 1
        assert sys.mark == 1
        assert s.modules["os"] is sys.modules["os"] and "nowhere" not in s.modules
        s.modules["planted"] = sys
        assert sys.modules["planted"] is sys
        del s.modules["planted"]
        assert isinstance(sys, type(s)) and type(type(s)("made")) is type(sys) == type(s) and issubclass(type(sys), type(s))
        assert isinstance(scoped_lib, type(s)) and not isinstance(3, type(s))
        scoped_lib.statement()
        assert len(list(s.modules)) == len(s.modules) > len(sys.modules)
        """
    )


def test_loaders_and_resources(probe):
    probe(
        """
        import importlib.resources, inspect, pkgutil, sys, zipfile, tempfile, os, pickle
        from importlib.machinery import SourceFileLoader
        from compat import *
        path = os.path.join(tempfile.mkdtemp(), "z.zip")
        with zipfile.ZipFile(path, "w") as z:
            z.writestr("zipped/__init__.py", "import torch\\n")
            z.writestr("zipped/data.txt", "data")
            z.writestr("zipped/sub.py", "import torch\\n")
            z.writestr("plain_in_zip.py", "")
        sys.path.insert(0, path)
        enable_torch_proxy({"scoped_lib", "zipped"})
        import scoped_lib, scoped_lib.lazy, zipped.sub, plain_in_zip, importlib
        assert type(scoped_lib.__spec__.loader) is SourceFileLoader
        assert sorted(vars(scoped_lib.__spec__.loader)) == ["name", "path"]
        assert importlib.resources.files("scoped_lib").joinpath("data.txt").read_text() == "data\\n"
        assert pkgutil.get_data("scoped_lib", "data.txt") == b"data\\n"
        assert "def statement" in inspect.getsource(scoped_lib)
        assert scoped_lib.lazy.torch().OURS
        assert zipped.torch.OURS and zipped.sub.torch.OURS and pkgutil.get_data("zipped", "data.txt") == b"data"
        assert importlib.reload(zipped).torch.OURS
        assert importlib.reload(zipped.torch) is zipped.torch
        """
    )


def test_metadata_in_both_packages(probe):
    probe(
        """
        import importlib.metadata as m, importlib_metadata as b
        from compat import *
        enable_torch_proxy("scoped_lib", version="2.9.1")
        import scoped_lib
        space = dict(vars(scoped_lib), m=m, b=b)
        for p in "mb":
            assert eval(f"{p}.version('torch')", space) == "2.9.1"
            assert eval(f"{p}.metadata('Torch')['Name']", space) == "torch"
            assert eval(f"{p}.distribution('torch').version", space) == "2.9.1"
            assert eval(f"{p}.requires('torch')", space) is None
            every = eval(f"list({p}.distributions())", space)
            assert [d.version for d in every if d.metadata["Name"] == "torch"] == ["2.9.1"]
            assert eval(f"{p}.packages_distributions()['torch']", space) == ["torch"]
        for p in (m, b):
            for ask in (p.version, p.distribution):
                try:
                    ask("torch")
                except p.PackageNotFoundError:
                    continue
                raise AssertionError
        """
    )
