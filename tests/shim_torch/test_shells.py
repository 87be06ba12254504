"""Modules that are rows of a table and no files, and what every module of PyTorch's name is finished with."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch
from shim_torch._impl.surface import missing, not_built, shells
from shim_torch._impl.surface.own import in_torch

# PyTorch has these; its tables of names leave out what it takes from others and what it makes when it is imported.
BEYOND_THE_TABLES = {"_vendor", "_vendor.packaging", "_vendor.packaging.version"} | {
    f"distributed._tensor.{name}" for name in ("_utils", "device_mesh", "experimental")
}


@pytest.mark.parametrize("name", sorted(shells.table()))
def test_a_row_is_a_module_of_pytorch(name):
    module = importlib.import_module(f"shim_torch.{name}")
    row = shells.table()[name]
    assert missing.has(f"torch.{name}") or name in BEYOND_THE_TABLES
    assert module.__doc__.startswith(f"``torch.{name}``") and hasattr(module, "__path__") is row.package
    assert importlib.util.find_spec(f"shim_torch.{name}").name == f"shim_torch.{name}"
    assert in_torch(module.__name__) == f"torch.{name}"  # while a proxy is enabled it calls itself so
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'"):
        module.no_such_name
    folder = Path(shim_torch.__file__).parent.joinpath(*name.split("."))
    assert not folder.with_suffix(".py").exists() and not (folder / "__init__.py").exists(), "a file has no row"
    parent, _, leaf = name.rpartition(".")
    assert not parent or parent not in shells.table() or shells.table()[parent].package
    assert getattr(importlib.import_module(f"shim_torch.{parent}".rstrip(".")), leaf) is module


def test_what_rows_answer():
    from shim_torch._inductor.ir import Buffer
    from shim_torch.ao.nn import qat, quantized
    from shim_torch.cuda import comm
    from shim_torch.nn.parallel.comm import gather
    from shim_torch.utils.data.datapipes.iter import Mapper
    from shim_torch.utils.data.datapipes.iter.callable import MapperIterDataPipe

    with pytest.raises(
        NotImplementedError, match=f"torch._inductor.ir.Buffer is not supported by shim-torch: {not_built.NO_COMPILER}"
    ):
        Buffer()
    assert Buffer.__module__ == "torch._inductor.ir" and qat.modules.__all__ == []
    assert quantized.MaxPool2d is shim_torch.nn.MaxPool2d
    assert comm.gather is gather and "gather" in comm.__all__ and MapperIterDataPipe is Mapper
    assert shim_torch.quantization.QuantStub is shim_torch.ao.quantization.QuantStub
    asked = shim_torch.backends.xnnpack.is_available
    assert asked() is False and (asked.__module__, asked.__qualname__) == ("torch.backends.xnnpack", "is_available")
    assert shim_torch.backends.cusparselt.version() is None
    old = importlib.import_module("shim_torch.distributed._tensor.experimental")
    assert old.__all__ == shim_torch.distributed.tensor.experimental.__all__ and old.local_map.__module__.startswith(
        "torch.distributed"
    )
    assert not shim_torch.xpu.is_available() and shim_torch.xpu.device_count() == 0


def test_a_module_is_finished_once_it_is_executed():
    from shim_torch.optim import lr_scheduler

    assert lr_scheduler.StepLR.__module__ == "torch.optim.lr_scheduler"
    assert type(shim_torch.nn.__loader__).__name__ == type(shim_torch.nn.__spec__.loader).__name__ == "SourceFileLoader"
    with pytest.raises(AttributeError, match=r"module 'torch.hub' has no attribute 'no_such_name'"):
        shim_torch.hub.no_such_name
    for value in (shim_torch.Size([1]), shim_torch.utils.data.Subset([1], [0])):
        assert type(pickle.loads(pickle.dumps(value))) is type(value)


def test_other_ways_in(tmp_path):
    """``python -m``, a reload, an archive on sys.path, and a finder that asks all the others."""
    run = subprocess.run([sys.executable, "-m", "shim_torch._inductor.ir"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    code = f"""
import importlib, sys
class Asking:
    def find_spec(self, name, path=None, target=None):
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)):
                return spec
import shim_torch
sys.meta_path.append(Asking())
import shim_torch._inductor.ir, shim_torch.nn.utils
try:
    import shim_torch.no_such_module
except ModuleNotFoundError as error:
    assert error.name == "shim_torch.no_such_module"
else:
    raise AssertionError
hub = importlib.reload(importlib.import_module("shim_torch.hub"))
assert hub.load.__module__ == "torch.hub" and "__getattr__" in vars(hub)
ir = importlib.reload(shim_torch._inductor.ir)
assert ir.Buffer.__name__ == "Buffer"
import zipfile
with zipfile.ZipFile({str(tmp_path / "more.zip")!r}, "w") as archive:
    archive.writestr("zipped.py", "def f(): pass")
shim_torch.__path__.append({str(tmp_path / "more.zip")!r})
import shim_torch.zipped
assert shim_torch.zipped.f.__module__ == "torch.zipped" and "zipimporter" in repr(shim_torch.zipped.__loader__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
