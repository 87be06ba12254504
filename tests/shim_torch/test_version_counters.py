"""Counts of in-place writes, where a tensor gets other memory: what counted with it goes on counting with it."""

import pytest

import shim_torch as torch


def test_data_assigned():
    x = torch.ones(4, requires_grad=True)
    detached, data = x.detach(), x.data
    x.data = torch.zeros(4)
    assert (x._version, detached._version) == (0, 0)
    with torch.no_grad():
        x.add_(1)
    detached.add_(1)
    assert (x._version, detached._version, data._version) == (2, 2, 0)
    x.data = torch.zeros(5)
    with torch.no_grad():
        x.mul_(2)
    assert (x._version, detached._version) == (3, 3)


def test_what_is_assigned_counts_for_itself():
    x, y = torch.ones(3), torch.ones(3)
    x.data = y
    y.add_(1)
    assert (x._version, y._version, x.tolist()) == (0, 1, [2, 2, 2])


def test_own_view_assigned():
    x = torch.zeros(3)
    view = x[:2]
    x.data = view
    x.add_(1)
    assert (x._version, view._version) == (1, 1)


def test_set():
    x = torch.zeros(3)
    view = x[:2]
    x.set_(torch.ones(2))
    assert (x._version, view._version) == (1, 1)
    view.add_(1)
    assert (x._version, view._version, x.tolist()) == (2, 2, [1, 1])


def test_memory_of_before_is_given_up():
    x = torch.zeros(1000)
    weak = x.untyped_storage()._weak_ref()
    x.data = torch.ones(2)
    assert torch.UntypedStorage._expired(weak)
    x.add_(1)
    assert x._version == 1


def test_writes_through_what_was_detached_are_found():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    c = b**2
    detached = b.detach()
    b.data = torch.ones(3)
    detached.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()
