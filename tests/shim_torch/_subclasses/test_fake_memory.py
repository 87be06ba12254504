"""Fakes of tensors: remembered while both live, over memory that is shared as that of the tensors is."""

import weakref

import pytest

import shim_torch as torch
from shim_torch import _C
from shim_torch._subclasses import fake_tensor, fake_utils
from shim_torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorConverter, FakeTensorMode


def test_tensors_over_one_memory_have_fakes_that_share_theirs():
    x, y = torch.rand(2, 2, 2), torch.rand(4, 2)
    y.set_(x.untyped_storage(), 0, (4, 2), (2, 1))
    mode = FakeTensorMode()
    converter = mode.fake_tensor_converter
    fake_x, fake_y = mode.from_tensor(x), mode.from_tensor(y)
    assert _C._storage_id(fake_x) == _C._storage_id(fake_y)
    assert fake_y.untyped_storage().nbytes() == 32
    del x, fake_x
    assert len(converter.tensor_memo) == 1 and len(converter.meta_converter.storage_memo) == 1
    del y, fake_y
    assert not converter.tensor_memo and not converter.meta_converter.storage_memo


def test_the_memory_outlives_the_fake_that_had_it_first():
    x = torch.rand(2, 2)
    y, mode, converter = x[0], FakeTensorMode(), FakeTensorConverter()
    storage = converter.from_real_tensor(mode, x).untyped_storage()
    assert x not in converter.tensor_memo
    assert converter.from_real_tensor(mode, y).untyped_storage() is storage


def test_a_mode_goes_with_its_last_reference():
    x, mode = torch.rand(4), FakeTensorMode()
    fake = mode.from_tensor(x)
    assert mode.from_tensor(x) is fake
    gone = weakref.ref(mode)
    del mode, fake
    assert gone() is None


def test_fakes_turn_into_tensors_over_the_real_memory():
    x, mode = torch.arange(6.0), FakeTensorMode()
    fake = mode.from_tensor(x)
    part, plain = fake[2:4], torch.ones(1)
    found = fake_utils.try_convert_fake_to_real([part, plain, 3])
    assert found[0].tolist() == [2, 3] and found[0].data_ptr() == x[2:].data_ptr()
    assert found[1] is plain and found[2] == 3


def test_sizes_that_depend_on_data_are_refused_by_name():
    @torch.library.custom_op("fake_memory_test::positions", mutates_args=())
    def positions(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    @positions.register_fake
    def _(x):
        return x.new_empty([torch._custom_op.impl.get_ctx().create_unbacked_symint(), x.dim()])

    with FakeTensorMode(), pytest.raises(DynamicOutputShapeException, match="fake_memory_test.positions.default"):
        positions(torch.ones(3))


def test_what_constructors_are():
    aten = torch.ops.aten
    assert aten.zeros_like.default in fake_tensor._like_tensor_constructors
    assert aten.new_ones.default in fake_tensor._like_tensor_constructors
    assert aten.pin_memory.default in fake_tensor._device_not_kwarg_ops
    assert fake_tensor._is_tensor_constructor(aten.zeros.default)
    assert not fake_tensor._is_tensor_constructor(aten.zeros_like.default)
