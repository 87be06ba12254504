"""Flops of attention over packed sequences, and their shapes as libraries' own formulas unpack them."""

import pytest

import shim_torch as torch
from shim_torch.utils.flop_counter import (
    FlopCounterMode,
    _unpack_efficient_attention_nested_shapes,
    _unpack_flash_attention_nested_shapes,
)

q, k, v = torch.ones(7, 2, 4), torch.ones(9, 2, 4), torch.ones(9, 2, 6)
CUM_Q, CUM_K = torch.tensor([0, 3, 7]), torch.tensor([0, 4, 9])


def test_shapes_of_sequences():
    found = list(
        _unpack_flash_attention_nested_shapes(
            query=q, key=k, value=v, grad_out=q, cum_seq_q=CUM_Q, cum_seq_k=CUM_K, max_q=4, max_k=5
        )
    )
    first = ((1, 2, 3, 4), (1, 2, 4, 4), (1, 2, 4, 6), (1, 2, 3, 4))
    assert found == [first, ((1, 2, 4, 4), (1, 2, 5, 4), (1, 2, 5, 6), (1, 2, 4, 4))]
    lengths = {"max_seqlen_q": 4, "max_seqlen_k": 5}
    found = list(
        _unpack_efficient_attention_nested_shapes(
            query=q[None], key=k[None], value=v[None], cu_seqlens_q=CUM_Q, cu_seqlens_k=CUM_K, **lengths
        )
    )
    assert found[0] == (*first[:3], None)
    with pytest.raises(AssertionError, match="expected key.shape to be 4-dimensional"):
        list(
            _unpack_efficient_attention_nested_shapes(
                query=q, key=k, value=v, cu_seqlens_q=CUM_Q, cu_seqlens_k=CUM_K, **lengths
            )
        )
    dense = {"query": q, "key": k, "value": v, "cum_seq_q": None, "cum_seq_k": None, "max_q": 4, "max_k": 5}
    assert list(_unpack_flash_attention_nested_shapes(**dense)) == [(q.shape, k.shape, v.shape, None)]


def test_flops_are_those_of_the_sequences():
    with FlopCounterMode(display=False) as mode:
        torch.ops.aten._flash_attention_forward(q, k, v, CUM_Q, CUM_K, 4, 5, 0.0, False, False)
    assert mode.get_total_flops() == sum(2 * 2 * a * b * (4 + 6) for a, b in ((3, 4), (4, 5)))
