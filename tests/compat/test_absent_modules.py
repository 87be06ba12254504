"""Modules and names that PyTorch has and our torch lacks: an import says so, whoever asks and in whatever way."""

from __future__ import annotations

import textwrap

import pytest

CODE = """
import importlib, importlib.util
from compat import enable_torch_proxy, torch_proxy_status
enable_torch_proxy({scope})
import scoped_lib
space = {{"__builtins__": scoped_lib.__builtins__, "__name__": "scoped_lib.x", "importlib": importlib}}

def told(code):
    try:
        exec(compile(code, "x", "exec"), space)
    except ImportError as error:
        return error
    raise AssertionError(code)

for code, name in [
    ("import torch.utils.jit", "torch.utils.jit"),
    ("from torch.utils import jit", "torch.utils.jit"),
    ("from torch.contrib import x", "torch.contrib"),
    ("from torch.cuda.nccl import version", "torch.cuda.nccl"),
    ("import torch.xpu.graphs", "torch.xpu.graphs"),
    ("from torch._inductor.runtime.hints import DeviceProperties", "torch._inductor.runtime.hints"),
    ("importlib.import_module('torch.utils.mobile_optimizer')", "torch.utils.mobile_optimizer"),
    ("from torch.utils.data.datapipes import utils", "torch.utils.data.datapipes.utils"),
]:
    error = told(code)
    text = str(error)
    assert name in text and "not supported by shim-torch" in text and "scoped_lib.x:1" in text, (code, text)
    assert isinstance(error, NotImplementedError) and torch_proxy_status()["unsupported"][name, "scoped_lib.x:1"], code
for code in ["import torch.nowhere", "from torch import nowhere", "from torch.nn import nowhere"]:
    assert "shim-torch" not in str(told(code)), code
assert eval("importlib.util.find_spec('torch.utils.jit')", space) is None
"""


@pytest.mark.parametrize("scope", ["'scoped_lib'", "None"])
def test_an_import_says_what_is_not_here(python, scope):
    done = python(["-W", "ignore", "-c", textwrap.dedent(CODE.format(scope=scope))], "libs")
    assert done.returncode == 0, done.stderr


def test_a_module_that_a_package_does_not_find_is_none_that_others_lack(python):
    code = """
    from compat import enable_torch_proxy, torch_proxy_status
    enable_torch_proxy()
    from torch.nn import *
    from torch.nn.utils import *
    from torch.jit import *
    from torch.nn.modules.batchnorm import *
    from torch.package import *
    BatchNorm2d(2), is_from_package, Linear(2, 2), functional, clip_grad_norm_, script
    import torch.nn.parallel.parallel_apply, torch.cpu.amp.autocast_mode, torch.signal.windows.windows
    from torch.nn.parallel.data_parallel import DataParallel
    assert callable(torch.nn.parallel.parallel_apply) and torch.cpu.amp.autocast and DataParallel is torch.nn.DataParallel
    tensor = torch.ones(1)
    (replica,) = torch.nn.parallel.replicate(Linear(2, 2), ["cpu"])
    assert replica.weight.shape == (2, 2) and not replica.weight.is_leaf
    from torch.nn.parallel.parallel_apply import get_a_var
    assert get_a_var([1, {"a": (2, tensor)}]) is tensor and get_a_var([1]) is None
    assert not torch_proxy_status()["unsupported"] and not torch_proxy_status()["missing"]
    """
    done = python(["-W", "ignore", "-c", textwrap.dedent(code)], "libs")
    assert done.returncode == 0, done.stderr
