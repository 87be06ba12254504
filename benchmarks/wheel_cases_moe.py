"""Mixtures of experts: the kernels of ``vllm._moe_C_stable_libtorch``. See wheel_cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from wheel_cases import Case, Maker, into


def topk_softmax(m: Maker) -> Case:
    tokens, experts, k = 4096, 128, 8
    ops, scores = m.moe(), m.normal(tokens, experts, dtype="float32")
    weights, ids, rows = m.empty(tokens, k, dtype="float32"), *(m.empty(tokens, k, dtype="int32") for _ in range(2))
    call = lambda: ops.topk_softmax(weights, ids, rows, scores, False, None, None)

    def reference() -> Sequence[Any]:
        return [t.double() for t in m.torch.topk(m.torch.softmax(scores.double(), -1), k)]

    return Case(call, into(weights, call, ids), reference)


def grouped_topk(m: Maker) -> Case:
    tokens, experts, groups, chosen, k = 4096, 256, 8, 4, 8
    ops, scores = m.moe(), m.normal(tokens, experts, dtype="float32")
    bias = m.normal(experts, dtype="float32", scale=0.1)
    call = lambda: ops.grouped_topk(scores, groups, chosen, k, True, 2.5, bias, 1)

    def outputs() -> Sequence[Any]:
        values, ids = call()
        ids, order = ids.long().sort(-1)  # the order of the k is the kernel's own
        return [values.gather(-1, order), ids.int()]

    def reference() -> Sequence[Any]:
        t = m.torch
        plain = t.sigmoid(scores.double())
        biased = (plain + bias.double()).view(tokens, groups, -1)
        best = t.topk(biased, 2)[0].sum(-1).topk(chosen)[1]
        allowed = t.zeros(tokens, groups, dtype=t.bool, device="cuda").scatter_(1, best, True)
        ids = biased.masked_fill(~allowed[..., None], -float("inf")).view(tokens, experts).topk(k)[1].sort(-1)[0]
        values = plain.gather(-1, ids)
        return [values / values.sum(-1, keepdim=True) * 2.5, ids.double()]

    return Case(call, outputs, reference)


def align_blocks(m: Maker) -> Case:
    tokens, experts, k, block = 4096, 64, 8, 64
    ops = m.moe()
    ids = m.array(np.argsort(m.rng.random((tokens, experts)), -1)[:, :k].astype(np.int32))
    room = tokens * k + experts * (block - 1)
    order, owners, count = (m.torch.zeros(n, dtype=m.torch.int32, device="cuda") for n in (room, room // block + 1, 1))
    call = lambda: ops.moe_align_block_size(ids, experts, block, order, owners, count, None, None)

    def outputs() -> Sequence[Any]:
        call()
        n = int(count.item())
        return [order[:n].sort()[0], owners[: n // block], count]

    def reference() -> Sequence[Any]:
        counts = m.torch.bincount(ids.flatten().long(), minlength=experts)
        blocks = (counts + block - 1) // block
        padding = int((blocks * block).sum() - tokens * k)
        numbers = m.torch.arange(tokens * k + padding, device="cuda").clamp(max=tokens * k)
        owner = m.torch.repeat_interleave(m.torch.arange(experts, device="cuda"), blocks)
        return [numbers.double(), owner.double(), (blocks * block).sum().view(1).double()]

    return Case(call, outputs, reference)


def moe_permute(m: Maker) -> Case:
    """Rows of each expert brought together, and back as a weighted sum: the weights times the rows themselves."""
    tokens, experts, k, columns = 2048, 64, 8, 2048
    ops, x = m.moe(), m.normal(tokens, columns)
    ids = m.array(np.argsort(m.rng.random((tokens, experts)), -1)[:, :k].astype(np.int32))
    weights = m.normal(tokens, k, dtype="float32").abs()
    source = m.torch.arange(tokens * k, dtype=m.torch.int32, device="cuda").view(tokens, k)
    rows, first = m.empty(tokens * k, columns), m.empty(experts + 1, dtype="int64")
    back, forth, out = m.empty(tokens, k, dtype="int32"), m.empty(tokens * k, dtype="int32"), m.empty(tokens, columns)

    def call() -> None:
        ops.moe_permute(x, ids, source, None, experts, experts, k, rows, first, back, forth)
        ops.moe_unpermute(rows, weights, back.view(-1), first, k, out)

    def reference() -> Sequence[Any]:
        counts = m.torch.bincount(ids.flatten().long(), minlength=experts)
        offsets = m.torch.cat([m.torch.zeros(1, dtype=m.torch.int64, device="cuda"), counts.cumsum(0)])
        return [x.double() * weights.double().sum(-1, keepdim=True), offsets.double()]

    return Case(call, into(out, call, first), reference)


def moe_sum(m: Maker) -> Case:
    ops, x, out = m.moe(), m.normal(4096, 8, 2048), m.empty(4096, 2048)
    call = lambda: ops.moe_sum(x, out, None, None)
    return Case(call, into(out, call), lambda: [x.double().sum(1)])


CASES: dict[str, Callable[[Maker], Case]] = {
    "topk_softmax 4096x128": topk_softmax,
    "grouped_topk 4096x256": grouped_topk,
    "moe_align_block_size 4096x8": align_blocks,
    "moe_permute+unpermute 2048x8": moe_permute,
    "moe_sum 4096x8x2048": moe_sum,
}
