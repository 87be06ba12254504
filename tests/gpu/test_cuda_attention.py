"""Attention as one kernel on CUDA, against float64 on the CPU."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn.functional import scaled_dot_product_attention as attend

CLOSE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


def compared(q, k, v, mask=None, worse=1.0, **how):
    """Values and gradients of both sides."""
    sides = []
    weigh = torch.cos(torch.arange(q.numel(), dtype=torch.float64)).reshape(q.shape)
    for device, dtype in (("cuda", q.dtype), ("cpu", torch.float64)):
        own = [t.to(device, dtype).requires_grad_() for t in (q, k, v)]
        m = mask if mask is None else mask.to(device, mask.dtype if mask.dtype == torch.bool else dtype)
        out = attend(*own, m, **how)
        sides.append([out.detach(), *torch.autograd.grad(out, own, weigh.to(device, dtype))])
    for mine, theirs in zip(*sides, strict=True):
        assert mine.shape == theirs.shape
        bound = worse * CLOSE[q.dtype] * max(1.0, float(theirs.abs().max()))
        assert float((mine.cpu().double() - theirs).abs().max()) <= bound


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("size", (16, 64, 80, 128))
@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("lengths", ((1, 1), (64, 64), (130, 200), (77, 50)), ids=str)
def test_values_and_gradients(lengths, causal, size, dtype, seeded):
    rows, cols = lengths
    q, k, v = (torch.randn(2, 3, n, size).to(dtype) for n in (rows, cols, cols))
    compared(q, k, v, is_causal=causal)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("size", (64, 128))
@pytest.mark.parametrize(
    "lengths", ((65, 1), (128, 128), (300, 515), (129, 1000), (1000, 129), (1, 2048), (50, 601)), ids=str
)
@pytest.mark.parametrize("kind", ("whole", "causal", "truth", "odd truth", "numbers", "column", "dropout"))
def test_tiles(kind, lengths, size, dtype, seeded):
    """Of more than 64 queries or many keys, which Hopper's kernel takes: ends of tiles, masks that are read in pairs and one at a time."""
    rows, cols = lengths
    q, k, v = (torch.randn(2, h, n, size).to(dtype) for h, n in ((4, rows), (2, cols), (2, cols)))
    mask = None
    if kind in ("truth", "odd truth"):
        mask = torch.rand(4, rows, cols + 1)[..., 1:] > 0.3 if kind == "odd truth" else torch.rand(rows, cols) > 0.3
        mask[..., 0] = True
    elif kind in ("numbers", "column"):
        mask = torch.randn(2, 1, rows, cols if kind == "numbers" else 1).to(dtype)
    if kind == "dropout":
        own = [t.cuda() for t in (q, k, v)]
        torch.manual_seed(1)
        halves = [attend(*own, dropout_p=0.5, enable_gqa=True) for _ in range(2)]
        torch.manual_seed(1)
        assert torch.equal(attend(*own, dropout_p=0.5, enable_gqa=True), halves[0]) and not torch.equal(*halves)
        return
    compared(
        q, k, v, mask, worse=2.0, is_causal=kind == "causal", enable_gqa=True
    )  # gradients are sums over up to 1000 rows


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize(
    "shape", ((4, 16, 600, 600, 64), (1, 16, 2048, 2000, 64), (2, 12, 1500, 1500, 64), (4, 16, 600, 700, 128)), ids=str
)
def test_more_parts_than_blocks(shape, causal, seeded):
    """Large tiles whose blocks take one part of the queries after another, and parts by their work."""
    batch, heads, rows, cols, size = shape
    q, k, v = (torch.randn(batch, heads, n, size).bfloat16() for n in (rows, cols, cols))
    compared(q, k, v, worse=2.0, is_causal=causal)


def test_scores_that_rise_along_the_keys(seeded):
    """Each tile's greatest score is far above those before: what was summed up is multiplied each time."""
    q, k, v = (torch.randn(1, 16, 2048, 64).half() for _ in range(3))
    compared(q, k * (torch.arange(2048) / 256)[:, None].half(), v, worse=4.0)


def test_deterministic_gradients(seeded):
    """Equal bits where deterministic algorithms are asked for; on Hopper the gradient of the queries else depends on who adds first."""
    own = [torch.randn(1, 2, 2000, 64, device="cuda").half().requires_grad_() for _ in range(3)]
    torch.use_deterministic_algorithms(True)
    try:
        out = attend(*own)
        first, second = (torch.autograd.grad(out, own, torch.ones_like(out), retain_graph=True) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for a, b in zip(first, torch.autograd.grad(out, own, torch.ones_like(out)), strict=True):
        assert float((a - b).abs().max()) < 4e-3


@pytest.mark.parametrize("shape", ((70, 90), (1, 90), (2, 1, 70, 90), (2, 3, 70, 90), (3, 1, 1)), ids=str)
@pytest.mark.parametrize("truth", (True, False))
def test_masks(truth, shape, seeded):
    q, k, v = (torch.randn(2, 3, n, 64).bfloat16() for n in (70, 90, 90))
    mask = torch.rand(shape) > 0.3 if truth else torch.randn(shape).bfloat16()
    compared(q, k, v, mask)


def test_a_query_that_sees_nothing(seeded):
    q, k, v = (torch.randn(1, 1, 5, 16).half() for _ in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    compared(q, k, v, mask)


def test_fewer_heads_of_keys_and_other_layouts(seeded):
    q, k, v = torch.randn(2, 40, 6, 64).half(), torch.randn(2, 33, 2, 64).half(), torch.randn(2, 33, 2, 64).half()
    compared(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), enable_gqa=True)
    compared(*(t[:, :, 0].unsqueeze(1)[..., :32] for t in (q, k, v)), scale=0.3)
    compared(*(torch.randn(4, 20, 48).half() for _ in range(3)))


@pytest.mark.parametrize("size", (64, 128))
@pytest.mark.parametrize("causal", (False, True))
def test_layouts_of_whole_tiles(causal, size, seeded):
    """Heads that lie in one projection's lines, and one head of keys that is repeated without a copy."""
    own = torch.randn(2, 200, 6, size, device="cuda").half()
    q, k = own[:, :, :4].transpose(1, 2), own[:, :, 4:5].transpose(1, 2).expand(2, 4, 200, size)
    v = own[:, :, 5:].transpose(1, 2).expand(2, 4, 200, size)
    assert torch.equal(
        attend(q, k, v, is_causal=causal), attend(*(t.contiguous() for t in (q, k, v)), is_causal=causal)
    )


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("size", (64, 80, 128))
@pytest.mark.parametrize("heads", ((8, 8), (8, 2), (32, 1), (300, 150)), ids=str)
@pytest.mark.parametrize("lengths", ((1, 300), (1, 5000), (7, 4000), (64, 1037)), ids=str)
@pytest.mark.parametrize("kind", ("whole", "padding", "numbers"))
def test_few_queries(kind, lengths, heads, size, dtype, seeded):
    """Parts of the keys are blocks of their own; one query of each of the heads that share keys is one of a head's queries."""
    rows, cols = lengths
    q, k, v = (
        torch.randn(2, h, n, size).to(dtype) for h, n in zip((*heads, heads[1]), (rows, cols, cols), strict=True)
    )
    mask = None
    if kind == "padding":
        mask = torch.arange(cols) >= torch.tensor([cols // 2, 3])[:, None, None, None]
    elif kind == "numbers":
        mask = torch.randn(heads[0], 1, cols).to(dtype)
    compared(q, k, v, mask, worse=2.0, enable_gqa=True)


@pytest.mark.parametrize("size", (32, 64, 128))
@pytest.mark.parametrize("rows", (1, 3))
def test_few_queries_and_a_cache_of_more_keys(rows, size, seeded):
    """Heads that lie beside each other, keys that lie in a larger tensor, and what a mask hides wholly."""
    q = torch.randn(2, rows, 8, size, device="cuda").half().transpose(1, 2)
    k, v = torch.randn(2, 2, 2, 3000, size, device="cuda").half()[..., :2500, :]
    whole = attend(*(t.contiguous() for t in (q, k, v)), enable_gqa=True)
    assert torch.equal(attend(q, k, v, enable_gqa=True), whole)
    seen = torch.zeros(2, 1, 1, 2500, dtype=torch.bool, device="cuda")
    seen[0] = True
    found = attend(q, k, v, seen, enable_gqa=True)
    assert torch.equal(found[1], torch.zeros_like(found[1]))
    torch.testing.assert_close(found[0], whole[0])


def test_more_heads_than_come_at_a_time(seeded):
    """Of causal problems, as many heads at a time as the second-level cache keeps: 218, and 109 for gradients."""
    compared(*(torch.randn(11, 20, 600, 64).bfloat16() for _ in range(3)), worse=2.0, is_causal=True)


def test_large_scores(seeded):
    q, k, v = (torch.randn(1, 2, 100, 64) * s for s in (30, 30, 1))
    compared(
        q.bfloat16(), k.bfloat16(), v.bfloat16(), worse=3.0
    )  # gradients are small differences of terms 30 times as large


def test_gradients_of_gradients(seeded):
    q, k, v = (torch.randn(1, 1, 4, 16, device="cuda").half().requires_grad_() for _ in range(3))
    (g,) = torch.autograd.grad(attend(q, k, v).float().square().sum(), q, create_graph=True)
    (second,) = torch.autograd.grad(g.float().sum(), k)
    wide = [t.detach().cpu().double().requires_grad_() for t in (q, k, v)]
    (g,) = torch.autograd.grad(attend(*wide).square().sum(), wide[0], create_graph=True)
    (theirs,) = torch.autograd.grad(g.sum(), wide[1])
    assert float((second.cpu().double() - theirs).abs().max()) < 3e-2


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("size, causal", ((16, False), (64, True), (128, False)))
@pytest.mark.parametrize("lengths", ((1, 1), (130, 200), (77, 50)), ids=str)
def test_dropout(lengths, size, causal, dtype, seeded):
    """The weights that are left out are those that the operator's reference leaves out."""
    rows, cols = lengths
    q, k, v = (torch.randn(2, 3, n, size).to(dtype) for n in (rows, cols, cols))
    weigh, sides = torch.cos(torch.arange(q.numel(), dtype=torch.float64)).reshape(q.shape), []
    for device, t in (("cuda", dtype), ("cpu", torch.float32)):
        own = [x.to(device, t).requires_grad_() for x in (q, k, v)]
        out = torch.ops.shim.attention(*own, None, causal, size**-0.5, 0.3, 7, 1000)[0]
        sides.append([out.detach(), *torch.autograd.grad(out, own, weigh.to(device, t))])
    for mine, theirs in zip(*sides, strict=True):
        assert float((mine.cpu().double() - theirs.double()).abs().max()) <= CLOSE[dtype] * max(
            1.0, float(theirs.abs().max())
        )


def test_dropout_of_a_call(seeded):
    q, k, v = (torch.randn(2, 4, 64, 32, device="cuda").half() for _ in range(3))
    torch.manual_seed(5)
    first, second = attend(q, k, v, dropout_p=0.5), attend(q, k, v, dropout_p=0.5)
    torch.manual_seed(5)
    assert torch.equal(attend(q, k, v, dropout_p=0.5), first) and not torch.equal(first, second)
    mean = torch.stack([attend(q, k, v, dropout_p=0.2).float() for _ in range(200)]).mean(0)
    torch.testing.assert_close(mean, attend(q, k, v).float(), rtol=0, atol=0.1)
    assert attend(q, k, v, dropout_p=1.0).abs().sum().item() == 0
