"""Our own CUDA kernels that join, gather, scatter, mask and draw, against the CPU's operators."""

import math

import philox
import pytest
from kernel_checks import FLOATS, close, random, same

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.usefixtures("seeded")
F = torch.nn.functional


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8, torch.int64, torch.complex128])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat(dtype, dim):
    parts = [torch.arange(2 * n * 6).reshape(2, n, 6).to(dtype) for n in (3, 1, 4)] if dim == 1 else None
    parts = parts or [torch.arange(n * 12).reshape(n, 3, 4).to(dtype) for n in (2, 5, 1)]
    if dim == -1:
        parts = [p.movedim(0, -1) for p in parts]
    same(torch.cat([p.cuda() for p in parts], dim), torch.cat(parts, dim))
    many = [random(1, 3) for _ in range(70)]
    same(torch.cat([p.cuda() for p in many]), torch.cat(many))
    same(torch.stack([p.cuda() for p in many[:5]], 1), torch.stack(many[:5], 1))


def test_cat_gradients():
    a, b = random(3, 4).cuda().requires_grad_(), random(3, 2).cuda().requires_grad_()
    g = random(3, 6)
    torch.cat([a, b], 1).backward(g.cuda())
    same(a.grad, g[:, :4].contiguous())
    same(b.grad, g[:, 4:].contiguous())


@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("width", [1, 3, 8, 64])
def test_rows_by_index(index_dtype, width):
    x, index = random(37, width), torch.randint(0, 37, (50,)).to(index_dtype)
    there, places = x.cuda(), index.cuda()
    same(there.index_select(0, places), x.index_select(0, index))
    same(there[places], x[index])
    same(F.embedding(places.reshape(5, 10), there), F.embedding(index.reshape(5, 10), x))
    same(there.half().index_select(0, places), x.half().index_select(0, index))
    y = random(4, 9, width)
    at = torch.randint(0, 9, (6,)).to(index_dtype)
    same(y.cuda().index_select(1, at.cuda()), y.index_select(1, at))
    same(y.cuda().transpose(0, 2).index_select(1, at.cuda()), y.transpose(0, 2).index_select(1, at))


def test_points_and_negative_indices():
    x = random(5, 6, 7)
    i, j = torch.tensor([[0, -1], [2, 3]]), torch.tensor([1, -6])
    there, a, b = x.cuda(), i.cuda(), j.cuda()
    same(there[a, b], x[i, j])
    same(there[:, a, b], x[:, i, j])
    same(there[a], x[i])
    same(there[:, :, b], x[:, :, j])
    same(there[a, b, a], x[i, j, i])


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_and_scatter(dim):
    x = random(4, 5, 6)
    sizes = [3, 4, 5]
    index = torch.randint(0, x.size(dim), sizes)
    there, places = x.cuda(), index.cuda()
    same(there.gather(dim, places), x.gather(dim, index))
    same(
        there.transpose(0, 1).gather(dim, index.clamp(max=3).cuda()), x.transpose(0, 1).gather(dim, index.clamp(max=3))
    )
    unique = torch.stack([torch.randperm(x.size(dim))[: sizes[dim]] for _ in range(60 // sizes[dim])])
    unique = unique.reshape(*[n for d, n in enumerate(sizes) if d != dim], sizes[dim]).movedim(-1, dim)
    src = random(4, 5, 6)
    same(there.scatter(dim, unique.cuda(), src.cuda()), x.scatter(dim, unique, src))
    same(there.scatter(dim, places, 7.5), x.scatter(dim, index, 7.5))
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.uint8):
        a, b = (random(4, 5, 6) * 10).abs().to(dtype), (random(4, 5, 6) * 10).abs().to(dtype)
        close(a.cuda().scatter_add(dim, places, b.cuda()), a.scatter_add(dim, index, b), dtype)
    for dtype in (torch.float16, torch.bfloat16):
        a, b = torch.ones(4, 5, 6).to(dtype), torch.ones(4, 5, 6).to(dtype)
        same(a.cuda().scatter_add_(dim, places, b.cuda()), a.scatter_add(dim, index, b))


def test_scatter_and_gather_gradients():
    x, index = random(4, 6), torch.randint(0, 6, (4, 3))
    results = []
    for device in ("cpu", "cuda"):
        leaf = x.to(device, copy=True).requires_grad_()
        src = torch.full((4, 3), 2.0, device=device).requires_grad_()
        y = leaf.gather(1, index.to(device)) * 3 + leaf.scatter_add(1, index.to(device), src)[:, :3]
        y.sum().backward()
        results.append((leaf.grad.cpu(), src.grad.cpu()))
    for a, b in zip(*results, strict=True):
        close(a, b)


def test_index_add_and_index_put():
    x, index, src = random(7, 5), torch.tensor([0, 3, 3, 6, 0]), random(5, 5)
    there, places = x.cuda(), index.cuda()
    close(there.index_add(0, places, src.cuda()), x.index_add(0, index, src))
    close(
        there.index_add(1, index.clamp(max=4).cuda(), torch.ones(7, 5).cuda()),
        x.index_add(1, index.clamp(max=4), torch.ones(7, 5)),
    )
    once = torch.tensor([4, -1, 0])
    a, b = x.clone(), x.cuda()
    a[once], b[once.cuda()] = src[:3], src[:3].cuda()
    same(b, a)
    a[once, torch.tensor([1, 2, -1])], b[once.cuda(), torch.tensor([1, 2, -1]).cuda()] = 9.0, 9.0
    same(b, a)
    b[once.cuda()] = b.new_zeros(5)
    a[once] = 0.0
    same(b, a)


@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding_gradient_adds_in_order(dtype):
    tokens = torch.randint(0, 9, (6, 11))
    table, g = random(12, 33, dtype=dtype), random(6, 11, 33, dtype=dtype)
    results = []
    for _ in range(2):
        w = table.cuda().requires_grad_()
        F.embedding(tokens.cuda(), w, padding_idx=3).backward(g.cuda())
        results.append(w.grad.cpu())
    assert torch.equal(*results)
    want = torch.zeros(12, 33, dtype=torch.float64).index_add(0, tokens.reshape(-1), g.double().reshape(-1, 33))
    want[3] = 0.0
    close(results[0], want, scale=3)
    assert results[0][3].abs().sum().item() == 0


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.bfloat16, torch.int64, torch.float64, torch.uint8])
@pytest.mark.parametrize("shape", [(5,), (4096,), (37, 211), (3, 70, 65, 2)])
def test_places_of_what_is_not_zero(dtype, shape):
    x = (random(*shape) * 2).round().to(dtype)
    same(x.cuda().nonzero(), x.nonzero())
    assert x.cuda().nonzero().stride() == x.nonzero().stride()
    mask = x == 1
    same(x.cuda()[mask.cuda()], x[mask])
    same(x.cuda()[1:][mask.cuda()[1:]], x[1:][mask[1:]])  # of addresses that wide loads cannot take
    same(x.t().cuda()[mask.t().cuda()] if len(shape) == 2 else x.cuda(), x.t()[mask.t()] if len(shape) == 2 else x)
    same(x.cuda().masked_select(torch.zeros_like(mask).cuda()), x[:0].reshape(-1))
    for none in (torch.zeros_like(x), x[:0]):
        same(none.cuda().nonzero(), none.nonzero())


def test_masks_take_every_size_of_element():
    mask = random(3000) > 0
    for dtype in (torch.complex128, torch.complex64, torch.int16, torch.float8_e4m3fn):
        x = random(3000).to(torch.float32).to(dtype) if dtype != torch.complex128 else random(3000).to(dtype)
        assert torch.equal(x.cuda()[mask.cuda()].cpu().view(torch.uint8), x[mask].view(torch.uint8))
    leaf = random(3000).cuda().requires_grad_()
    leaf[mask.cuda()].sum().backward()
    same(leaf.grad, mask.float())


def test_one_hot_does_not_wait():
    x = torch.tensor([[0, 2], [1, 4]])
    same(F.one_hot(x.cuda()), F.one_hot(x))
    same(F.one_hot(x.cuda(), 7), F.one_hot(x, 7))


def test_masked_fill_and_triangles():
    x, mask = random(5, 6, 7), torch.rand(6, 7) > 0.5
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.int32):
        t = (x * 10).to(dtype)
        same(t.cuda().masked_fill(mask.cuda(), -3), t.masked_fill(mask, -3))
        for diagonal in (0, -2, 3):
            same(t.cuda().tril(diagonal), t.tril(diagonal))
            same(t.cuda().triu(diagonal), t.triu(diagonal))
    t = x.cuda()
    t.masked_fill_(mask.cuda(), math.inf)
    same(t, x.masked_fill(mask, math.inf))
    square = torch.randn(32, 64)
    same(square.cuda().triu(1), square.triu(1))


# --- random numbers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 1023, 4096, 5001])
def test_random_numbers_are_philoxs(n):
    g = torch.Generator("cuda")
    for dtype in FLOATS:
        wide = dtype == torch.float64
        drawn = torch.empty(n, dtype=dtype, device="cuda").uniform_(1.0, 3.0, generator=g.manual_seed(7))
        same(drawn, torch.from_numpy(philox.uniform(7, n, wide) * 2 + 1).to(dtype))
        drawn = torch.empty(n, dtype=dtype, device="cuda").normal_(1.0, 3.0, generator=g.manual_seed(7))
        close(drawn, torch.from_numpy(philox.normal(7, n) * 3 + 1), dtype)
    for dtype, low, high in (
        (torch.int64, -5, 1000),
        (torch.int32, 0, 2),
        (torch.uint8, 3, 250),
        (torch.int64, -(2**62), 2**62),
    ):
        drawn = torch.randint(low, high, (n,), dtype=dtype, device="cuda", generator=g.manual_seed(7))
        same(drawn, torch.from_numpy(philox.integers(7, n, low, high - low)).to(dtype))


def test_draws_go_on_where_the_last_ended():
    g = torch.Generator("cuda").manual_seed(3)
    first, second = (torch.rand(1001, device="cuda", generator=g) for _ in range(2))
    state = g.get_state()
    third = torch.randn(64, device="cuda", generator=g)
    assert not torch.equal(first, second)
    g.set_state(state)
    assert torch.equal(third, torch.randn(64, device="cuda", generator=g))
    g.manual_seed(3)
    assert torch.equal(first, torch.rand(1001, device="cuda", generator=g)) and torch.equal(
        second, torch.rand(1001, device="cuda", generator=g)
    )


def test_draws_into_strided_tensors_and_version():
    x = torch.zeros(6, 8, device="cuda")
    version = x._version
    x.uniform_()
    assert x._version > version
    torch.cuda.manual_seed(3)
    x[:, ::2].normal_()
    torch.cuda.manual_seed(3)
    same(x[:, ::2].contiguous(), torch.randn(6, 4, device="cuda").cpu())
    leaf = torch.zeros(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.uniform_()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (64, 65)])
def test_dropout(dtype, shape):
    x = random(*shape, dtype=dtype).cuda().requires_grad_()
    torch.cuda.manual_seed(5)
    y = F.dropout(x, 0.25, True)
    torch.cuda.manual_seed(5)
    again = F.dropout(x, 0.25, True)
    assert torch.equal(y, again)
    kept = (y != 0).cpu()
    close(y, torch.where(kept, x.detach().cpu().double() / 0.75, 0.0), dtype)
    if len(shape) == 2:
        assert 0.7 < kept.float().mean().item() < 0.8
    g = random(*shape, dtype=dtype)
    y.backward(g.cuda())
    close(x.grad, torch.where(kept, g.double() / 0.75, 0.0), dtype)
    assert torch.equal(F.dropout(x, 0.25, False), x)


def test_arange():
    for arguments in ((7,), (3, 50, 4), (10, -3, -1), (0,)):
        for dtype in (None, torch.float32, torch.int32):
            same(torch.arange(*arguments, dtype=dtype, device="cuda"), torch.arange(*arguments, dtype=dtype))


def test_no_call_of_cupy_is_counted():
    """What this file is about runs on our kernels."""
    from shim_torch._impl.arrays import counters

    x, index = random(64, 64).cuda().requires_grad_(), torch.arange(64, device="cuda")
    before = counters["CuPy calls"]
    y = F.dropout(F.layer_norm(x[index], (64,)), 0.1, True).softmax(-1)
    loss = F.cross_entropy(torch.cat([y, y], 1), index)
    loss.backward()
    x.detach().sort()
    x.detach().topk(5)
    x.detach().cumsum(0)
    torch.randn(64, device="cuda").masked_fill(index > 3, 0.0).argmax()
    assert counters["CuPy calls"] == before and not _core.cuda_why_not()
