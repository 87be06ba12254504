"""Hooks of several tensors, and scatters into tensors without dims."""

from __future__ import annotations

from typing import Any

import shim_torch as torch


def test_a_hook_of_several_tensors_waits_for_those_that_are_reached() -> None:
    a, b, c = (torch.rand(2, requires_grad=True) for _ in range(3))
    seen: list[list[bool]] = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append([g is not None for g in grads])
    )
    out = (b * c).sum()
    out.backward(inputs=(b, c), retain_graph=True)
    out.backward(inputs=(a,), retain_graph=True)
    assert seen == [[False, True, True]] and a.grad is None
    out.backward(inputs=(a, c), retain_graph=True)
    assert seen == [[False, True, True], [False, False, True]]
    handle.remove()


def test_several_values_meet_in_a_tensor_without_dims() -> None:
    zero, twice, values = torch.zeros(()), torch.tensor([0, 0]), torch.tensor([1.0, 10.0])
    assert zero.scatter_add(0, twice, values).item() == 11
    assert zero.scatter(0, twice, values).item() == 10
    assert (zero + 2).scatter(0, twice, values, reduce="multiply").item() == 20
    assert zero.scatter_add(0, torch.tensor(0), torch.tensor(3.0)).item() == 3
    assert zero.scatter(0, torch.tensor(0), 4.0).item() == 4


def test_the_gradient_of_gathering_one_number_adds_up() -> None:
    for sparse in (False, True):
        x: Any = torch.tensor(2.0, requires_grad=True)
        torch.gather(x, 0, torch.tensor([0, 0]), sparse_grad=sparse).backward(torch.tensor([1.0, 10.0]))
        found = x.grad.to_dense() if sparse else x.grad
        assert found.item() == 11


def test_the_layout_of_onednn_has_a_name() -> None:
    assert str(torch._mkldnn) == "torch._mkldnn" and isinstance(torch._mkldnn, torch.layout)
