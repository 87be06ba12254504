"""Functional tensors can be named, tested against and given rules; none are made."""

from __future__ import annotations

import pytest

from shim_torch import Tensor, library, tensor
from shim_torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode, disable_functional_mode


def test_a_rule_for_the_mode_is_kept_and_not_asked():
    @library.custom_op("tst_functional::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    def rule(mode, op, types, args, kwargs):
        raise AssertionError("the mode is never on")

    twice.register_torch_dispatch(FunctionalTensorMode, rule)
    with disable_functional_mode():
        assert twice(tensor([1])).tolist() == [2]


def test_no_tensor_is_functional():
    assert not isinstance(tensor([1]), FunctionalTensor)
    assert issubclass(FunctionalTensor, Tensor)
    mode = FunctionalTensorMode(pre_dispatch=True)
    assert mode.pre_dispatch and not mode.export
    with pytest.raises(NotImplementedError, match="FunctionalTensorMode"):
        mode.__enter__()
    with pytest.raises(NotImplementedError, match="FunctionalTensor"):
        FunctionalTensor(tensor([1]), mode)
