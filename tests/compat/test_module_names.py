"""Our modules call themselves what code in scope imported, while a proxy is enabled."""

from __future__ import annotations

import textwrap

import pytest


@pytest.fixture
def run(python):
    """``run(code, *fixture folders)`` with the real package."""

    def call(code, *folders):
        done = python(["-W", "ignore", "-c", textwrap.dedent(code)], *folders)
        assert done.returncode == 0, done.stderr

    return call


def test_names_and_representations(run):
    run("""
        import sys
        import shim_torch.nn
        own = {name: (module, module.__name__, repr(module)) for name, module in sys.modules.items()
               if name.startswith("shim_torch") and module is not None}
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy(scope={"__main__"})
        import torch, torch.fft, torch.optim.adam, torch.ao.pruning, torch.utils.data, functorch
        for name in ("torch", "torch.nn", "torch.nn.functional", "torch.fft", "torch.optim.adam", "torch.ao.pruning",
                     "torch.backends.cudnn", "torch._inductor.config", "functorch"):
            module = __import__(name, fromlist=["__name__"])
            assert module.__name__ == name and repr(module).startswith(f"<module {name!r} from '"), module
            assert module.__spec__.parent == module.__package__, module
        assert sys.modules["shim_torch._impl.surface"].__name__ == "shim_torch._impl.surface"
        assert shim_torch.nn is torch.nn and type(torch.nn) is type(sys)
        disable_torch_proxy()
        for name, (module, before, shown) in own.items():
            assert sys.modules[name] is module and (module.__name__, repr(module)) == (before, shown), module
        later = sys.modules["shim_torch.optim.adam"]
        assert later.__name__ == "shim_torch.optim.adam" and "'shim_torch.optim.adam'" in repr(later)
        import shim_torch.hub
        assert shim_torch.hub.__name__ == "shim_torch.hub" and repr(shim_torch.fft).startswith("<module 'shim_torch.fft'")
    """)


def test_every_module_is_found_in_its_package(run):
    """Also what is first asked for while its package has torch's name."""
    run("""
        import os, sys
        from compat import enable_torch_proxy
        import shim_torch
        from shim_torch._impl.surface import shells
        enable_torch_proxy(scope={"somebody"})
        root = os.path.dirname(shim_torch.__file__)
        names = [f"shim_torch.{name}" for name in shells.table()]
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("_impl", "__pycache__")]
            package = ".".join(["shim_torch", *os.path.relpath(folder, root).split(os.sep)]).removesuffix("..")
            names += [f"{package.rstrip('.')}.{f.removesuffix('.py')}" for f in files if f.endswith(".py") and f != "__init__.py"]
        assert len(names) > 400
        for name in sorted(names):
            package, _, leaf = name.rpartition(".")
            try:
                exec(f"from {package} import {leaf}")
            except ModuleNotFoundError as error:  # they need what only PyTorch's test suite or another package brings
                assert error.name != name, (name, error)
            else:
                module = sys.modules.get(name)  # None: the package has a function of that name
                assert module is None or module.__name__ == "torch" + name[len("shim_torch"):], name
    """)


def test_a_name_that_is_absent_asks_nobody_else(run):
    """The import system looks for a module called ``torch.nn.absent``: it must not import PyTorch to find it."""
    for real in (False, True):
        run(
            """
            import sys
            from compat import enable_torch_proxy
            import shim_torch.nn
            enable_torch_proxy(scope={"somebody"})
            for module in ("shim_torch", "shim_torch.nn"):
                try:
                    exec(f"from {module} import no_such_name")
                except ImportError as error:
                    assert not isinstance(error, ModuleNotFoundError) and "cannot import name 'no_such_name'" in str(error), error
                else:
                    raise AssertionError
            assert "torch" not in sys.modules
            """,
            *(["real"] if real else []),
        )


def test_pickles_in_and_out_of_scope(run):
    run("""
        import pickle, copy
        import shim_torch
        from compat import disable_torch_proxy, enable_torch_proxy
        plain = [pickle.dumps(shim_torch.Size([2])), pickle.dumps(shim_torch.utils.data.Subset([1, 2], [0]))]
        token = enable_torch_proxy(scope={"__main__"})
        import torch
        layer = torch.nn.Linear(2, 3)
        held = [pickle.dumps(value) for value in (torch.nn.functional.relu, torch.nn.Linear, layer, torch.utils.data.Subset([1, 2], [0]))]
        assert b"shim_torch" not in held[0] + held[1]
        assert pickle.loads(held[0]) is torch.nn.functional.relu and pickle.loads(held[1]) is torch.nn.Linear
        assert torch.equal(pickle.loads(held[2]).weight, layer.weight) and list(pickle.loads(held[3])) == [1]
        for data in plain:
            pickle.loads(data)
        assert torch.equal(copy.deepcopy(layer).weight, layer.weight)
        disable_torch_proxy(token)
        assert list(pickle.loads(plain[1])) == [1]
    """)


def test_reload_relative_imports_and_warnings(run):
    run("""
        import importlib, sys, warnings
        from compat import disable_torch_proxy, enable_torch_proxy
        token = enable_torch_proxy(scope={"__main__"})
        import numpy, torch, torch.linalg
        assert importlib.reload(torch.linalg) is torch.linalg and torch.linalg.__name__ == "torch.linalg"
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")

            @torch.library.custom_op("names::double", mutates_args=())  # its module imports relatively when it is called
            def double(x: torch.Tensor) -> torch.Tensor:
                return x * 2

            assert double(torch.ones(2)).tolist() == [2.0, 2.0]
            assert not [w for w in seen if "__package__" in str(w.message)], seen
        torch.set_warn_always(True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.tensor([1.0]).storage()  # from Python
            array = numpy.ones(2)
            array.flags.writeable = False
            torch.utils.data.default_convert(array)  # from C++, called by a module named torch.…
            assert len(seen) == 2 and {w.filename for w in seen} == {"<string>"}, [(w.filename, str(w.message)) for w in seen]
        from shim_torch._impl.surface import missing
        try:
            torch.nn.no_such_name
        except AttributeError:
            pass
        assert {who.partition(":")[0] for (name, who) in missing.absent if name == "torch.nn.no_such_name"} == {"__main__"}
    """)
