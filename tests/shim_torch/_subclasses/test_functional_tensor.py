"""Functional tensors: made by hand, under their mode, and the rules that operators may have for it."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import Tensor, library, tensor
from shim_torch._subclasses.functional_tensor import (
    FunctionalTensor,
    FunctionalTensorMode,
    disable_functional_mode,
    dispatch_functionalize,
)


def test_a_rule_for_the_mode_is_kept_and_not_asked():
    @library.custom_op("tst_functional::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    def rule(mode, op, types, args, kwargs):
        raise AssertionError("the mode is never on")

    twice.register_torch_dispatch(FunctionalTensorMode, rule)
    with disable_functional_mode():
        assert twice(tensor([1])).tolist() == [2]


def test_functional_tensors_of_a_mode():
    assert not isinstance(tensor([1]), FunctionalTensor) and issubclass(FunctionalTensor, Tensor)
    mode = FunctionalTensorMode(pre_dispatch=True)
    assert mode.pre_dispatch and not mode.export
    x = tensor([1.0])
    y = FunctionalTensor(x, mode)
    with mode:
        y.add_(1)
        with disable_functional_mode():
            assert type(x * 2) is Tensor
    assert y.elem.tolist() == [2] and x.tolist() == [1]


def test_dispatch_functionalize_gives_values():
    def f(x):
        x.add_(1)
        return x.view(-1), {"doubled": x * 2}

    x = torch.zeros(2, 2)
    flat, found = dispatch_functionalize(f)(x)
    assert flat.tolist() == [1] * 4 and found["doubled"].tolist() == [[2, 2]] * 2
    assert type(flat) is Tensor and not x.any()


@pytest.mark.parametrize("reapply_views", [False, True])
def test_functional_tensors_by_hand(reapply_views):
    x = torch.arange(4.0)
    y = torch._to_functional_tensor(x)
    assert torch._is_functional_tensor(y) and not torch._is_functional_tensor(x)
    torch._enable_functionalization(reapply_views=reapply_views)
    try:
        with pytest.raises(RuntimeError, match="nesting is not currently supported"):
            torch._enable_functionalization()
        part = y.view(2, 2)[0]
        part.mul_(10).add_(1)
        assert torch._from_functional_tensor(part).tolist() == [1, 11] and torch._from_functional_tensor(y) is x
    finally:
        torch._disable_functionalization()
    torch._sync(y)
    assert torch._from_functional_tensor(y).tolist() == [1, 11, 2, 3] and x.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="expected a functional tensor"):
        torch._from_functional_tensor(x)
