"""torch._utils._get_device_index and torch.get_device_module, with PyTorch 2.13's values and texts where no GPU is."""

import pytest

import shim_torch as torch
from shim_torch._utils import _get_device_index


@pytest.mark.parametrize(
    ("given", "index"),
    [(3, 3), (-1, -1), ("cuda:1", 1), ("xpu:1", 1), (torch.device("cuda", 2), 2)],
)
def test_an_index_is_taken_from_any_device(given, index):
    assert [_get_device_index(given, o, c) for o in (False, True) for c in (False, True)] == [index] * 4


@pytest.mark.parametrize("given", ["cpu", "cpu:0", torch.device("cpu")])
def test_the_cpu_has_an_index_only_where_it_is_allowed(given):
    assert _get_device_index(given, allow_cpu=True) == -1
    with pytest.raises(ValueError, match=f"Expected a non cpu device, but got: {given}"):
        _get_device_index(given, optional=True)


@pytest.mark.parametrize("given", [None, "cuda", "meta", 1.5])
def test_no_index_is_the_current_gpu_where_optional(given):
    current = torch.cuda.current_device() if torch.cuda.is_available() else None
    assert _get_device_index(given, optional=True) == current
    with pytest.raises(ValueError, match=f"with a specified index or an integer, but got:{given}"):
        _get_device_index(given)


def test_texts_that_are_no_device():
    for function in (_get_device_index, torch.get_device_module):
        with pytest.raises(RuntimeError, match="device type at start of device string: nonsense"):
            function("nonsense")


def test_the_module_of_a_device():
    for given, name in (("cpu", "cpu"), ("cuda:1", "cuda"), (torch.device("cuda"), "cuda"), ("mps", "mps")):
        assert torch.get_device_module(given) is getattr(torch, name)
    assert torch.get_device_module() is (torch.cuda if torch.cuda.is_available() else torch.cpu)
    with pytest.raises(RuntimeError, match="Invalid value of device '3', expect torch.device, str, or None"):
        torch.get_device_module(3)
    with pytest.raises(RuntimeError, match="'hpu' does not have a corresponding module registered as 'torch.hpu'"):
        torch.get_device_module("hpu")
