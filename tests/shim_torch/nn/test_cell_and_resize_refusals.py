"""Cells say which hidden state does not fit; nearest resizing of integers; copies keep the strides of dims of size 1."""

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn import functional as F


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (((1, 20), (3, 20)), "Input batch size 3 doesn't match hidden0 batch size 1"),
        (((3, 20), (1, 20)), "Input batch size 3 doesn't match hidden1 batch size 1"),
        (((3, 21), (3, 20)), "hidden0 has inconsistent hidden_size: got 21, expected 20"),
        (((3, 20), (3, 21)), "hidden1 has inconsistent hidden_size: got 21, expected 20"),
    ],
)
def test_lstm_cell_states(sizes, text):
    cell = nn.LSTMCell(10, 20)
    with pytest.raises(RuntimeError, match=text):
        cell(torch.ones(3, 10), tuple(torch.zeros(s) for s in sizes))


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_states_of_one_sequence(kind):
    cell, state = kind(10, 20), torch.zeros(1, 20)
    with pytest.raises(RuntimeError, match="hidden0 has inconsistent hidden_size: got 1, expected 20"):
        cell(torch.ones(10), (state, state) if kind is nn.LSTMCell else state)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_of_integers(mode):
    for dtype, name in ((torch.int8, "Char"), (torch.int64, "Long"), (torch.bool, "Bool")):
        text = f"\"upsample_nearest2d_channels_last\" not implemented for '{name}'"
        with pytest.raises(NotImplementedError, match=text):
            F.interpolate(torch.zeros(1, 5, 4, 4, dtype=dtype), scale_factor=2, mode=mode)
    small = torch.tensor([[[[1, 2]]]], dtype=torch.uint8)
    assert F.interpolate(small, scale_factor=2, mode=mode).tolist() == [[[[1, 1, 2, 2], [1, 1, 2, 2]]]]


def test_copies_keep_strides_of_dims_of_size_1():
    x = torch.rand(1, 5, 6, 6).contiguous(memory_format=torch.channels_last)[0][None]
    assert x.stride() == x.clone().stride() == x.double().stride() == x.to(torch.uint8).stride() == (5, 1, 30, 5)
    for size, stride, kept in (
        ((1, 4), (7, 1), (7, 1)),
        ((4, 1), (1, 9), (1, 9)),
        ((2, 1, 3), (3, 1, 1), (3, 1, 1)),
        ((2, 1, 3), (8, 1, 2), (3, 1, 1)),  # with gaps: not kept
    ):
        y = torch.empty_strided(size, stride).fill_(1)
        assert y.clone().stride() == y.double().stride() == kept and torch.equal(y.clone(), y)
    assert x.contiguous().stride() == (180, 36, 6, 1)


def test_convolution_by_its_kernels_name():
    x, w = torch.ones(1, 3, 5, 5), torch.ones(4, 3, 2, 2)
    call = torch._C._nn.thnn_conv2d
    for given, text in (
        (([],), "2D kernel_size expected"),
        (([2, 2], None, [1]), "2D stride expected"),
        (([2, 2], None, [1, 1], [0, 0, 0]), "2D padding expected"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call(x, w, *given)
