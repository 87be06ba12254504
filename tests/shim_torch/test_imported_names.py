"""Names that PyTorch's modules have because they import them: ``from torch.utils.data.dataloader import Dataset``."""

import importlib
import typing

import numpy
import pytest

import shim_torch as torch
from shim_torch._impl.surface import missing


def test_names_of_torch_and_of_the_standard_library():
    from shim_torch.jit import torch as through_jit
    from shim_torch.nn.modules.module import OrderedDict, overload
    from shim_torch.utils.data import dataloader

    assert dataloader.Dataset is torch.utils.data.Dataset and dataloader.os is importlib.import_module("os")
    assert through_jit is torch and overload is typing.overload and OrderedDict().__class__.__module__ == "collections"
    assert torch.nn.functional.np is numpy


def test_other_names_are_still_refused():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        torch.utils.data.dataloader.no_such_name


def test_a_home_that_is_not_here(monkeypatch):
    entries = {"utils.data.dataloader": ["no_such_module:thing", "gone=no_such_package.inner"]}
    monkeypatch.setattr(missing, "_imported", lambda: entries)
    for name in ("thing", "gone"):
        with pytest.raises(AttributeError, match=rf"torch\.utils\.data\.dataloader\.{name} is not supported"):
            getattr(torch.utils.data.dataloader, name)


@pytest.mark.parametrize(
    "module", ["autograd.function", "optim.optimizer", "utils.data.sampler", "distributions.utils"]
)
def test_every_name_of_a_module(module):
    home = importlib.import_module(f"shim_torch.{module}")
    entries = missing._imported()[module]
    assert entries
    for entry in entries:
        getattr(home, entry.partition(":")[2] or entry.partition("=")[0])
