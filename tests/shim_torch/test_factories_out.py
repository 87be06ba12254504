"""Factories that write into a tensor given as out= make their data on its device."""

from __future__ import annotations

import sys

import pytest

import shim_torch as torch

FACTORIES = {
    "zeros": lambda out: torch.zeros(3, out=out),
    "full": lambda out: torch.full((3,), 1.0, out=out),
    "arange": lambda out: torch.arange(3, out=out),
    "eye": lambda out: torch.eye(3, out=out),
    "linspace": lambda out: torch.linspace(0, 1, 3, out=out),
    "logspace": lambda out: torch.logspace(0, 1, 3, out=out),
    "rand": lambda out: torch.rand(3, out=out),
    "randn": lambda out: torch.randn(3, out=out),
    "randint": lambda out: torch.randint(5, (3,), out=out),
    "randperm": lambda out: torch.randperm(3, out=out),
    "normal": lambda out: torch.normal(0.0, 1.0, (3,), out=out),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_the_device_is_outs(name):
    out = torch.empty(0, device="meta")
    assert FACTORIES[name](out) is out and out.shape[0] == 3 and out.device.type == "meta"


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("name", FACTORIES)
def test_values_on_the_device(name, device):
    out = torch.empty(0, device=device)
    FACTORIES[name](out)
    if name in ("zeros", "full", "arange", "eye", "linspace"):
        with torch.device("cpu"):
            torch.testing.assert_close(out.cpu(), FACTORIES[name](torch.empty(0)))


def test_another_device_is_refused():
    with pytest.raises(RuntimeError, match=r"device type cpu does not match device type of out parameter \(meta\)"):
        torch.zeros(2, out=torch.empty(0, device="meta"), device="cpu")


def test_references_are_kept():
    device, out = torch.device("meta"), torch.empty(0, device="meta")
    before = sys.getrefcount(device), sys.getrefcount(torch.float32)
    for _ in range(20):
        torch.zeros(2, out=out)
    after = sys.getrefcount(device), sys.getrefcount(torch.float32)
    assert all(abs(a - b) < 5 for a, b in zip(after, before, strict=True))
