"""Values that fake tensors keep: of one number, through operators, until something unknown is written."""

import pytest

import shim_torch as torch
from shim_torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode


def test_operators_on_known_numbers():
    with FakeTensorMode():
        x = torch.tensor(4.0)
        y = x.add_(1)
        assert (x.item(), y.item(), (x * y + 1).item()) == (5.0, 5.0, 26.0)
        assert x.constant is not None
        wide = x.expand(3)
        assert wide.constant is None and isinstance(wide, FakeTensor) and wide.shape == (3,)


def test_unknown_writes_end_it_for_all_views():
    with FakeTensorMode():
        x = torch.tensor([1.0])
        view = x[:]
        assert view.constant is not None and view.storage()._cdata == x.storage()._cdata
        view.add_(torch.rand([1]))
        assert x.constant is None and view.constant is None
        with pytest.raises(DataDependentOutputException):
            x.item()


def test_overloads_know_views():
    aten = torch.ops.aten
    assert all(op.is_view for op in (aten.alias.default, aten.view.default, aten.detach.default, aten.reshape.default))
    assert not any(op.is_view for op in (aten.add.Tensor, aten.add_.Tensor, aten.abs.out, aten.rand.default))


def test_old_constructor_and_other_modes():
    with FakeTensorMode() as first:
        assert isinstance(torch.Tensor([1, 2, 3]), FakeTensor)
        with FakeTensorMode() as second:
            a, b = first.from_tensor(torch.rand(4)), second.from_tensor(torch.rand(4))
            with pytest.raises(AssertionError, match="Mixing fake modes"):
                a + b
    again = second.from_tensor(a)
    assert again is not a and again.fake_mode is second and again.shape == a.shape
    assert second.from_tensor(a) is again
