"""The small modules of torch.utils."""

from __future__ import annotations

import gc
import os
import re
from collections import OrderedDict

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.utils import cpp_extension, dlpack, hooks, weak
from shim_torch.utils._python_dispatch import is_traceable_wrapper_subclass
from shim_torch.utils.checkpoint import checkpoint, checkpoint_sequential


def test_dlpack():
    t = torch.arange(4.0)
    again = dlpack.from_dlpack(dlpack.to_dlpack(t))
    again[0] = 9
    assert t[0].item() == 9.0
    assert dlpack.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert dlpack.DLDeviceType.kDLCUDA == 2


def test_weak_dictionary():
    d = weak.WeakTensorKeyDictionary()
    a, b = torch.ones(2), torch.ones(2)
    d[a], d[b] = 1, 2
    assert d[a] == 1
    assert len(d) == 2
    assert a in d
    assert torch.ones(2) not in d
    del b
    gc.collect()
    assert len(d) == 1
    assert weak.TensorWeakRef(a)() is a


def test_removable_handle():
    table = OrderedDict()
    handle = hooks.RemovableHandle(table)
    table[handle.id] = print
    with handle:
        assert len(table) == 1
    assert not table
    handle.remove()


def test_cpp_extension(monkeypatch):
    with pytest.raises(NotImplementedError, match="torch.utils.cpp_extension.load is not supported"):
        cpp_extension.load("x", [])
    assert all(isinstance(p, str) for p in cpp_extension.include_paths())
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX")
    assert cpp_extension._get_cuda_arch_flags() == [
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=compute_90",
        "-gencode=arch=compute_90,code=sm_90",
    ]
    assert cpp_extension._get_cuda_arch_flags(["-arch=sm_80"]) == []
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0a 8.0 8.0")
    assert cpp_extension._get_cuda_arch_flags(["-O3"]) == [
        f"-gencode=arch=compute_{n},code=sm_{n}" for n in ("80", "90a")
    ]


def test_build_folders_and_compilers(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    folder = cpp_extension._get_build_directory("x", False)
    assert os.path.isdir(folder) and re.fullmatch(rf"{tmp_path}/torch_extensions/py3\d+t?_c(pu|u\d+)/x", folder)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "mine"))
    assert cpp_extension._get_build_directory("x", False) == str(tmp_path / "mine" / "x")
    asked = cpp_extension.get_compiler_abi_compatibility_and_version
    assert asked("no-such-compiler") == (False, "0.0.0")
    compiler = tmp_path / "old-gcc"
    compiler.write_text('#!/bin/sh\n[ "$1" = -v ] && echo "gcc version" || echo 4.9.2\n')
    compiler.chmod(0o755)
    assert asked(str(compiler)) == (False, "4.9.2")
    compiler.write_text('#!/bin/sh\n[ "$1" = -v ] && echo "gcc version" || echo 12.2.0\n')
    assert asked(str(compiler)) == (True, "12.2.0")


def test_a_plain_tensor_wraps_nothing():
    assert not is_traceable_wrapper_subclass(torch.ones(1))


def _layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))


def _gradients(run):
    layers = _layers()
    x = torch.arange(8.0).reshape(2, 4).requires_grad_()
    torch.manual_seed(7)
    run(layers, x).sum().backward()
    return [x.grad] + [p.grad for p in layers.parameters()]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_gives_the_same_gradients(reentrant):
    if not reentrant and not hasattr(torch.autograd, "graph"):
        pytest.skip("needs torch.autograd.graph.saved_tensors_hooks")
    calls = []

    def run(layers, x):
        def body(x):
            calls.append(1)
            return layers(x)

        return checkpoint(body, x, use_reentrant=reentrant)

    for mine, plain in zip(_gradients(run), _gradients(lambda layers, x: layers(x)), strict=True):
        np.testing.assert_allclose(mine.numpy(), plain.numpy(), rtol=1e-6)
    assert len(calls) == 2


def test_checkpoint_sequential():
    expected = _gradients(lambda layers, x: layers(x))
    found = _gradients(lambda layers, x: checkpoint_sequential(layers, 2, x, use_reentrant=True))
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), plain.numpy(), rtol=1e-6)


def test_checkpoint_arguments():
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(lambda x: x, torch.ones(1), use_reentrant=True, scale=2)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x * 2, torch.ones(1, requires_grad=True))
