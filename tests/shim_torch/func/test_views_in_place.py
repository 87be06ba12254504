"""Writes through views of tensors without memory of their own: batched ones under vmap, wrapper subclasses."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.func import grad, vjp, vmap
from shim_torch.utils._pytree import tree_map


def _written(x: Any) -> Any:
    z = x * 2
    z[0] = x[1] * 3
    z[1:].mul_(x[:-1])
    return (z * z).sum()


def test_gradients_of_writes_through_views_under_vmap() -> None:
    rows = torch.tensor([[1.0, 2.0, -3.0, 0.5], [0.5, -1.0, 2.0, 3.0]])
    assert vmap(grad(_written))(rows)[0].tolist() == [32.0, 196.0, -102.0, 36.0]
    assert torch.equal(vmap(grad(_written))(rows), torch.stack([grad(_written)(x) for x in rows]))


def test_gradients_of_gradients_of_writes_through_views() -> None:
    x = torch.tensor([[1.0, 2.0, -3.0], [0.5, -1.0, 2.0]])
    second = grad(lambda t: grad(_written)(t).pow(2).sum())
    assert torch.allclose(vmap(second)(x), torch.stack([second(row) for row in x]))


def test_a_view_follows_its_base_under_vmap() -> None:
    def written(x: Any, y: Any) -> Any:
        x = x.clone()
        view = x[0]
        x.copy_(y)
        return view

    def through(x: Any, y: Any) -> Any:
        value, pull = vjp(lambda t: written(x, t), y)
        return value, pull(torch.ones_like(value))[0]

    x, y = torch.zeros(3, 2, 4), torch.arange(24.0).reshape(3, 2, 4)
    value, gradient = vmap(through)(x, y)
    assert torch.equal(value, y[:, 0]) and gradient.sum((0, 2)).tolist() == [12.0, 0.0]


class Wrapped(torch.Tensor):
    """Holds another tensor and has no memory."""

    inner: Any

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        bare = tree_map(lambda t: t.inner if isinstance(t, Wrapped) else t, (args, kwargs or {}))
        result = func(*bare[0], **bare[1])
        if func._schema.is_mutable:
            return args[0]
        return tree_map(lambda t: Wrapped(t) if isinstance(t, torch.Tensor) else t, result)


def test_views_of_wrappers_know_their_base() -> None:
    source = Wrapped(torch.tensor([5.0, 6.0])).requires_grad_()
    base = Wrapped(torch.zeros(2, 2)).clone()
    row = base[1]
    assert row._is_view() and row._base is base
    version = base._version
    row.copy_(source)
    assert base._version > version and base.requires_grad
    base.sum().backward(retain_graph=True)
    assert source.grad.inner.tolist() == [1.0, 1.0]
    later = base[1][:1]
    base.mul_(source)
    (found,) = torch.autograd.grad(later.sum(), source)
    assert found.inner.tolist() == [10.0, 0.0]


def test_items_are_filled() -> None:
    rows = torch.zeros(2, 3)
    assert vmap(lambda r: r.fill_(torch.tensor(7.0)))(rows).tolist() == [[7.0] * 3] * 2


def test_what_jvp_is_given_may_be_written_to() -> None:
    def f(x: Any, y: Any) -> Any:
        x.copy_(y * 2)
        x[0].mul_(3)
        return x

    x, y = torch.zeros(2), torch.ones(2)
    value, slope = torch.func.jvp(f, (x, y), (torch.ones(2), torch.tensor([1.0, 5.0])))
    assert value.tolist() == [6.0, 2.0] and slope.tolist() == [6.0, 10.0] and x.tolist() == [6.0, 2.0]


def test_jacobians_of_writes_through_views() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x.clone()
        z[1:] = y
        return z[:2] * z[1:]

    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0])
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        by_x, by_y = jacobian(f, argnums=(0, 1))(x, y)
        assert by_x.tolist() == [[4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        assert by_y.tolist() == [[1.0, 0.0], [5.0, 4.0]]


def test_packing_and_pooling_of_nothing() -> None:
    import pytest

    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        torch.nn.utils.rnn.pack_padded_sequence(torch.zeros(0, 0), torch.tensor([[]]))
    with pytest.raises(RuntimeError, match="with dimension 1 being empty"):
        torch.nn.AdaptiveMaxPool2d(3)(torch.zeros(1, 0, 5, 4))
    assert torch.nn.AdaptiveAvgPool2d(3)(torch.zeros(1, 0, 5, 4)).shape == (1, 0, 3, 3)
    values, places = torch.nn.MaxPool2d(2, return_indices=True)(torch.zeros(0, 3, 4, 4))
    assert torch.nn.MaxUnpool2d(2)(values, places).shape == (0, 3, 4, 4)
