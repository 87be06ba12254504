"""Sequences of several lengths: what their packing refuses, and their casts."""

import pytest

import shim_torch as torch
from shim_torch.nn.utils import rnn


def test_casts_of_packed_sequences():
    packed = rnn.pack_sequence([torch.tensor([1.5, 2.5]), torch.tensor([3.5])])
    assert packed.to("cpu") is packed
    assert packed.long().data.tolist() == [1, 3, 2] and packed.int().data.dtype == torch.int32
    assert packed.byte().data.dtype == torch.uint8 and not packed.is_pinned()


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="Expected iterable for input sequences, but got arg of type: <class 'int'>"):
        rnn.pad_sequence(5)
    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        rnn.pack_padded_sequence(torch.randn(0, 0), [])
    assert rnn.pad_sequence(torch.ones(2, 3)).shape == (3, 2)
    assert rnn.pad_sequence(iter([torch.ones(2), torch.ones(1)])).tolist() == [[1, 1], [1, 0]]
