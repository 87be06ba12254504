"""Our own CUDA kernels against the CPU's operators, in float64 where they round: shapes that use every path, strides, ties, NaN."""

import math

import pytest

import shim_torch as torch
from native import _core

F = torch.nn.functional
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def close(got, want, dtype=None, scale=1.0):
    tolerance = TOLERANCE.get(dtype or got.dtype, 0.0) * scale
    assert got.shape == want.shape
    torch.testing.assert_close(got.detach().cpu().double(), want.detach().double(), rtol=tolerance, atol=tolerance)


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert torch.equal(got.cpu(), want)


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


# --- joining and gathering ----------------------------------------------------------------------------------------------------


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
def test_random_numbers_are_the_cpus(n):
    there = torch.Generator("cuda")
    for dtype in FLOATS:
        g, h = torch.Generator().manual_seed(7), there.manual_seed(7)
        for draw in ("uniform_", "normal_"):
            a, b = torch.empty(n, dtype=dtype), torch.empty(n, dtype=dtype, device="cuda")
            getattr(a, draw)(1.0, 3.0, generator=g)
            getattr(b, draw)(1.0, 3.0, generator=h)
            if draw == "uniform_":
                same(b, a)
            else:
                close(b, a.double(), dtype)
    for dtype, low, high in (
        (torch.int64, -5, 1000),
        (torch.int32, 0, 2),
        (torch.uint8, 3, 250),
        (torch.int64, -(2**62), 2**62),
    ):
        g, h = torch.Generator().manual_seed(7), there.manual_seed(7)
        same(
            torch.randint(low, high, (n,), dtype=dtype, device="cuda", generator=h),
            torch.randint(low, high, (n,), dtype=dtype, generator=g),
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


# --- norms ------------------------------------------------------------------------------------------------------------------------


def gradients(device, dtype, call, tensors, g):
    leaves = [t.detach().to(device, dtype, copy=True).requires_grad_() for t in tensors]
    y = call(*leaves)
    y.backward(g.to(device, dtype))
    return [y.detach(), *[t.grad for t in leaves]]


NORM_SHAPES = [(3, 5), (2, 3, 64), (33, 256), (4, 1000), (2, 5003), (2, 36000)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", NORM_SHAPES)
def test_layer_and_rms_norm(dtype, shape):
    cols = shape[-1]
    x, w, b, g = (random(*s, dtype=dtype) for s in (shape, (cols,), (cols,), shape))
    for call, tensors in (
        (lambda x, w, b: F.layer_norm(x, (cols,), w, b), (x, w, b)),
        (lambda x, w: F.layer_norm(x, (cols,), w), (x, w)),
        (lambda x: F.layer_norm(x, (cols,)), (x,)),
        (lambda x, w: F.rms_norm(x, (cols,), w, 1e-5), (x, w)),
        (lambda x: F.rms_norm(x, (cols,), None, 1e-5), (x,)),
    ):
        got = gradients("cuda", dtype, call, tensors, g)
        want = gradients("cpu", torch.float64, call, tensors, g)
        for a, c in zip(got, want, strict=True):
            close(a, c, scale=8)
        with torch.no_grad():
            assert torch.equal(call(*[t.cuda() for t in tensors]), got[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, groups", [((2, 6, 5), 3), ((3, 8, 4, 4), 2), ((2, 4, 33, 31), 4), ((2, 32, 64), 1)])
def test_group_norm(dtype, shape, groups):
    channels = shape[1]
    x, w, b, g = (random(*s, dtype=dtype) for s in (shape, (channels,), (channels,), shape))
    for call, tensors in (
        (lambda x, w, b: F.group_norm(x, groups, w, b), (x, w, b)),
        (lambda x: F.group_norm(x, groups), (x,)),
    ):
        got = gradients("cuda", dtype, call, tensors, g)
        want = gradients("cpu", torch.float64, call, tensors, g)
        for a, c in zip(got, want, strict=True):
            close(a, c, scale=8)


def test_norms_are_differentiated_twice():
    x, w, b = random(3, 8, dtype=torch.float64), random(8, dtype=torch.float64), random(8, dtype=torch.float64)
    image, scale = random(2, 4, 3, dtype=torch.float64), random(4, dtype=torch.float64)
    for call, tensors in (
        (lambda x, w, b: F.layer_norm(x, (8,), w, b), (x, w, b)),
        (lambda x, w: F.rms_norm(x, (8,), w, 1e-5), (x, w)),
        (lambda x, w: F.group_norm(x, 2, w, w), (image, scale)),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.to(device).requires_grad_() for t in tensors]
            first = torch.autograd.grad((call(*leaves) ** 3).sum(), leaves, create_graph=True)
            second = torch.autograd.grad(sum((f**2).sum() for f in first), leaves)
            found.append([t.detach().cpu() for t in (*first, *second)])
        for a, c in zip(found[1], found[0], strict=True):
            torch.testing.assert_close(a, c, rtol=1e-7, atol=1e-7)


# --- losses and activations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(dtype, reduction):
    for rows, classes in ((5, 3), (17, 1000), (4, 5003)):
        x, weight = random(rows, classes, dtype=dtype) * 3, torch.rand(classes, dtype=torch.float64).to(dtype)
        target = torch.randint(0, classes, (rows,))
        target[1] = -100
        for w in (None, weight):
            found = []
            for device, kind in (("cuda", dtype), ("cpu", torch.float64)):
                leaf = x.to(device, kind, copy=True).requires_grad_()
                loss = F.cross_entropy(
                    leaf, target.to(device), None if w is None else w.to(device, kind), reduction=reduction
                )
                (loss * 2).sum().backward()
                found.append((loss.detach(), leaf.grad))
            close(found[0][0], found[1][0], scale=4)
            close(found[0][1], found[1][1], scale=4)
    x, target = random(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4))
    close(
        F.cross_entropy(x.cuda(), target.cuda(), reduction=reduction), F.cross_entropy(x, target, reduction=reduction)
    )


def test_cross_entropy_of_infinities_and_twice():
    x = torch.tensor([[1.0, -math.inf, 2.0], [0.0, 0.0, -math.inf]])
    target = torch.tensor([2, 1])
    close(F.cross_entropy(x.cuda(), target.cuda()), F.cross_entropy(x, target))
    found = []
    for device in ("cpu", "cuda"):
        leaf = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).sin().to(device).requires_grad_()
        loss = F.cross_entropy(leaf, torch.tensor([0, -100, 3], device=device))
        (first,) = torch.autograd.grad(loss, leaf, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), leaf)
        found.append((first.detach().cpu(), second.cpu()))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 64), (7, 1000), (2, 40000)])
def test_softmax_gradients(dtype, shape):
    x, g = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
    for call in (lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: x.softmax(0)):
        got = gradients("cuda", dtype, call, (x,), g)
        want = gradients("cpu", torch.float64, call, (x,), g)
        # the result that the gradient is taken from is rounded
        close(got[1], want[1], scale=10 * max(1.0, want[1].abs().max().item()))


@pytest.mark.parametrize("dtype", FLOATS)
def test_activation_gradients(dtype):
    x, g = random(9, 33, dtype=dtype), random(9, 33, dtype=dtype)
    for call in (F.relu, F.silu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), torch.sigmoid, torch.tanh):
        got = gradients("cuda", dtype, call, (x,), g)
        want = gradients("cpu", torch.float64, call, (x,), g)
        close(got[1], want[1], scale=4)


# --- along a dimension ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool],
)
@pytest.mark.parametrize(
    "shape, dim", [((5,), 0), ((4, 33), 1), ((3, 7, 40), 1), ((3, 7, 40), 0), ((2, 30000), 1), ((40, 64), -1)]
)
def test_extremes(dtype, shape, dim):
    x = (
        (random(*shape) * 20).round().abs().to(dtype)
        if dtype in (torch.uint8, torch.bool)
        else (random(*shape) * 20).round().to(dtype)
    )
    there = x.cuda()
    for keepdim in (False, True):
        if dtype != torch.bool:
            same(there.argmax(dim, keepdim), x.argmax(dim, keepdim))
            same(there.argmin(dim, keepdim), x.argmin(dim, keepdim))
        for a, b in zip(there.max(dim, keepdim), x.max(dim, keepdim), strict=True):
            same(a, b)
        for a, b in zip(there.min(dim, keepdim), x.min(dim, keepdim), strict=True):
            same(a, b)
    if dtype != torch.bool:
        same(there.argmax(), x.argmax())
        same(there.argmin(), x.argmin())


def test_extremes_of_nan_and_infinity():
    x = torch.tensor(
        [[1.0, math.nan, 3.0, math.nan], [-math.inf, -math.inf, -math.inf, -math.inf], [math.inf, 1, math.inf, 0]]
    )
    for t in (x, x.half(), x.double()):
        there = t.cuda()
        assert there.argmax(1).tolist() == [1, 0, 0] == t.argmax(1).tolist()
        assert there.argmin(1).tolist() == t.argmin(1).tolist()
        assert there.argmax(0).tolist() == t.argmax(0).tolist()
        assert math.isnan(there.max(1).values[0].item())


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize(
    "shape, dim", [((1,), 0), ((70,), 0), ((5, 513), 1), ((4, 9, 6), 1), ((100, 3), 0), ((20011,), 0), ((3, 30000), -1)]
)
def test_running_sums(dtype, shape, dim):
    x = (random(*shape) * 3).to(dtype) if dtype != torch.uint8 else (random(*shape) * 3).abs().to(dtype)
    if dtype in FLOATS:
        steps = math.sqrt(shape[dim])
        close(x.cuda().cumsum(dim), x.double().cumsum(dim), dtype, scale=4 * max(1.0, steps))
        assert x.cuda().cumsum(dim).dtype == dtype
    else:
        same(x.cuda().cumsum(dim), x.cumsum(dim))
        same(x.cuda().cumsum(dim, dtype=torch.int32), x.cumsum(dim, dtype=torch.int32))


@pytest.mark.parametrize("n", [8, 3000, 200000])
def test_running_sums_beside_large_numbers(n):
    x = random(4, n)
    x[:, n // 2] = -1e9
    close(x.cuda().cumsum(1)[:, : n // 2], x.double().cumsum(1)[:, : n // 2], torch.float32, scale=4 * math.sqrt(n))
    x[:, n // 2] = math.inf
    got = x.cuda().cumsum(1).cpu()
    assert got[:, : n // 2].isfinite().all() and got[:, n // 2 :].eq(math.inf).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_variance(dtype):
    x = random(5, 6, 77, dtype=dtype)
    there, wide = x.cuda(), x.double()
    for dims in (-1, (1, 2), None, 0, (0, 2)):
        for correction in (0, 1):
            close(there.var(dims, correction=correction), wide.var(dims, correction=correction))
            close(
                there.std(dims, correction=correction, keepdim=True),
                wide.std(dims, correction=correction, keepdim=True),
            )
    for a, b in zip(torch.var_mean(there, -1), torch.var_mean(wide, -1), strict=True):
        close(a, b)


SORTED = [
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.uint8,
    torch.int8,
]


@pytest.mark.parametrize("dtype", SORTED)
@pytest.mark.parametrize(
    "shape, dim", [((1,), 0), ((33,), 0), ((5, 64), 1), ((3, 1000), -1), ((70, 4), 0), ((2, 5000), 1), ((20000,), 0)]
)
def test_sorts(dtype, shape, dim):
    x = (
        (random(*shape) * 40).round().abs().to(dtype)
        if dtype in (torch.uint8, torch.int8)
        else (random(*shape) * 40).round().to(dtype)
    )
    there = x.cuda()
    for descending in (False, True):
        got, want = (
            there.sort(dim=dim, descending=descending, stable=True),
            x.sort(dim=dim, descending=descending, stable=True),
        )
        same(got.values, want.values)
        same(got.indices, want.indices)
    same(there.argsort(dim=dim), x.argsort(dim=dim, stable=True))
    for k in {1, min(7, shape[dim]), shape[dim]}:
        for largest in (True, False):
            values, places = there.topk(k, dim, largest)
            same(values, x.topk(k, dim, largest).values)
            same(there.gather(dim, places), values.cpu())


def test_sorts_of_nan_and_zeros():
    x = torch.tensor([3.0, math.nan, -0.0, 0.0, -math.inf, math.inf, math.nan, -1.0])
    for t in (x, x.double(), x.half(), x.bfloat16()):
        for descending in (False, True):
            assert (
                t.cuda().sort(descending=descending, stable=True).indices.tolist()
                == t.sort(descending=descending, stable=True).indices.tolist()
            )
        assert t.cuda().topk(3).indices.cpu().sort().values.tolist()[0] in (1, 5)
    big = torch.tensor([2**62, -(2**63), 2**63 - 1, 0])
    assert big.cuda().sort().values.tolist() == big.sort().values.tolist()


def test_sort_gradients():
    found = []
    for device in ("cpu", "cuda"):
        leaf = torch.arange(12.0, dtype=torch.float64).cos().reshape(3, 4).to(device).requires_grad_()
        (leaf.sort(1).values ** 2 * torch.arange(4.0, device=device)).sum().backward()
        leaf.topk(2, 1).values.sum().backward()
        leaf.max(1).values.sum().backward()
        leaf.cumsum(0).pow(2).sum().backward()
        found.append(leaf.grad.cpu())
    close(found[1], found[0])


def test_arange():
    for arguments in ((7,), (3, 50, 4), (10, -3, -1), (0,)):
        for dtype in (None, torch.float32, torch.int32):
            same(torch.arange(*arguments, dtype=dtype, device="cuda"), torch.arange(*arguments, dtype=dtype))


def test_no_call_of_cupy_is_counted():
    """What this file is about runs on our kernels."""
    from shim_torch.backends import counters

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
