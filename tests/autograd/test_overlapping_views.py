"""Gradients of views whose elements share memory, after their base was written to; values as PyTorch 2.13 gives them."""

from __future__ import annotations

import shim_torch as torch


def _leaves():
    return torch.arange(1.0, 5.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)


def test_windows_of_a_written_base():
    a, b = _leaves()
    x = a.clone()
    v = x.unfold(0, 2, 1)
    x.add_(b)
    assert v.grad_fn.name() == "AsStridedBackward0"
    ga, gb = torch.autograd.grad((v * 3).sum(), [a, b], retain_graph=True)
    assert ga.tolist() == [3.0, 6.0, 6.0, 3.0] and gb.item() == 18.0
    ga, gb = torch.autograd.grad((v * torch.arange(6.0).reshape(3, 2)).sum(), [a, b])
    assert ga.tolist() == [0.0, 3.0, 7.0, 5.0] and gb.item() == 15.0


def test_strides_that_overlap_and_their_parts():
    a, b = _leaves()
    x = a.clone()
    v = x.as_strided((3, 2), (1, 1))
    x.mul_(b)
    ga, gb = torch.autograd.grad((v * 3).sum(), [a, b])
    assert ga.tolist() == [6.0, 12.0, 12.0, 6.0] and gb.item() == 45.0
    x = a.clone()
    v = x.unfold(0, 2, 1)[1:]
    x.mul_(b)
    ga, gb = torch.autograd.grad((v * torch.arange(4.0).reshape(2, 2)).sum(), [a, b])
    assert ga.tolist() == [0.0, 0.0, 6.0, 6.0] and gb.item() == 21.0


def test_windows_in_two_dims_are_those_without_a_write():
    w, b = torch.arange(1.0, 13.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)

    def windows(x):
        return x.reshape(3, 4).unfold(1, 3, 1).unfold(0, 2, 1)

    x = w.clone()
    v = windows(x)
    x.mul_(b)
    weights = torch.arange(24.0).reshape(v.shape)
    got = torch.autograd.grad((v * weights).sum(), [w, b])
    expected = torch.autograd.grad((windows(w * b) * weights).sum(), [w, b])
    assert all(torch.equal(g, e) for g, e in zip(got, expected, strict=True))


def test_gradients_of_gradients():
    w, b = torch.arange(1.0, 13.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    x = w.clone()
    v = x.reshape(3, 4).unfold(1, 2, 1).expand(2, 3, 3, 2)
    x.mul_(b)
    g = torch.autograd.grad((v * v).sum(), [w, b], create_graph=True)
    second = torch.autograd.grad(sum(t.sum() for t in g), [w, b])
    assert g[1].item() == 7752.0 and second[1].item() == 5748.0
    assert second[0].tolist() == [32.0, 96, 128, 80, 96, 224, 256, 144, 160, 352, 384, 208]
