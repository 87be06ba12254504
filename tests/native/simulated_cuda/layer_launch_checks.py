"""Operators on the simulated driver that are few kernels: what they give is what the CPU gives, and how many are launched."""

import ctypes

from operator_checks import given, natively

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared import attended


def launches(f):
    """How many kernels of ours a call launches, once they are compiled."""
    driver = ctypes.CDLL("libcuda.so.1")
    f()
    before = driver.simulated_launches()
    f()
    return driver.simulated_launches() - before


def norms():
    """A channel that one block holds, one of many parts, and channels that lie last: values, gradients, launches."""
    torch.manual_seed(0)
    for shape, last in (((2, 4, 6, 6), False), ((3, 5, 7), False), ((1, 2, 70, 64), False), ((3, 6, 5, 3), True)):
        x, weight, bias = torch.randn(shape), torch.rand(shape[1]), torch.rand(shape[1])
        x = x.to(memory_format=torch.channels_last) if last else x
        running = torch.rand(shape[1]), torch.rand(shape[1]) + 0.5
        g = torch.randn(shape)
        for training in (True, False):

            def both(x, w, b, m, v, g, training=training):
                x, w, b = (t.detach().requires_grad_() for t in (x, w, b))
                y = F.batch_norm(x, m.clone(), v.clone(), w, b, training)
                return (y.detach(), *torch.autograd.grad(y, (x, w, b), g))

            y, dx, *_ = natively("shim::channel_norm", both, x, weight, bias, *running, g, exact=False)
            assert _core.suggest_memory_format(y) == _core.suggest_memory_format(x)
        y = natively("shim::channel_norm", F.instance_norm, x, None, None, weight, bias, exact=False)
    x = torch.randn(2, 4, 6, 6).cuda()
    one = torch.ones(4).cuda()
    assert launches(lambda: F.instance_norm(x)) == 1
    assert launches(lambda: F.batch_norm(x, None, None, one, one, True)) == 1
    last = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last).cuda()
    assert launches(lambda: F.batch_norm(last, one, one, one, one)) == 1
    leaf = x.clone().requires_grad_()
    y = F.batch_norm(leaf, None, None, one, one, True)
    assert launches(lambda: torch.autograd.grad(y, leaf, x, retain_graph=True)) == 1


def cells():
    """An LSTM's and a GRU's cell: two products and one kernel; in backward one, and what the products' gradients take."""
    torch.manual_seed(0)
    x = torch.randn(3, 5)
    for cell, name in ((torch.nn.LSTMCell(5, 6), "shim::lstm_step"), (torch.nn.GRUCell(5, 6), "shim::gru_step")):
        weights = [p.detach() for p in cell.parameters()]
        state = torch.randn(3, 6), torch.randn(3, 6)
        lstm = name == "shim::lstm_step"
        f = torch.lstm_cell if lstm else torch.gru_cell

        def step(x, h, c, *w, f=f, lstm=lstm):
            return f(x, [h, c] if lstm else h, *w)

        def slopes(*given, step=step, lstm=lstm):
            given = [t.detach().requires_grad_() for t in given]
            out = step(*given)
            whole = (out[0] * 2 + out[1].sin()) if lstm else out * 2
            return torch.autograd.grad(whole.sum(), [t for t in given if lstm or t is not given[2]])

        natively(name, step, x, *state, *weights, exact=False)
        found = natively(f"{name}_backward", slopes, x, *state, *weights, exact=False)
        on_gpu = given([x, *state, *weights])
        assert launches(lambda step=step, on_gpu=on_gpu: step(*on_gpu)) <= 3  # the products may be cuBLAS's
        if lstm:  # of one of the results only
            h = [t.detach().requires_grad_() for t in (x, *state, *weights)]
            natively(f"{name}_backward", lambda *a: torch.autograd.grad(step(*a)[1].sum(), a[2]), *h, exact=False)
        assert all(torch.isfinite(t.cpu()).all() for t in found)


def sizes():
    """Planes at other sizes, some neighbours of a row a thread, several planes a thread; the nearest's and means' gradients."""
    torch.manual_seed(0)

    def slope(f, x, g):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x), x, g)[0]

    volume, image = torch.randn(2, 9, 3, 4, 6), torch.randn(2, 3, 9, 8)
    cases = (
        (volume, "nearest", (6, 8, 12), {}),
        (volume, "trilinear", (5, 7, 8), {}),
        (image, "nearest", (18, 16), {}),
        (image, "nearest", (5, 4), {}),
        (image, "nearest-exact", (13, 12), {}),
        (image, "bilinear", (11, 12), {"align_corners": True}),
    )
    for x, mode, size, more in cases:
        resized = lambda t, s=size, m=mode, more=more: F.interpolate(t, s, mode=m, **more)
        kind = {"nearest-exact": "_upsample_nearest_exact"}.get(mode, f"upsample_{mode}")
        with torch.no_grad():
            natively(f"aten::{kind}{x.dim() - 2}d", resized, x, exact=mode.startswith("nearest"))
        if mode.startswith("nearest"):
            back = lambda t, g, f=resized: slope(f, t, g)
            natively("shim::nearest_backward", back, x, torch.randn(*x.shape[:2], *size), exact=False)
            leaf = x.cuda().requires_grad_()
            assert launches(lambda leaf=leaf, f=resized: f(leaf)) == 1
    wide = F.interpolate(image.cuda(), scale_factor=2.5, recompute_scale_factor=False)
    torch.testing.assert_close(wide.cpu(), F.interpolate(image, scale_factor=2.5), rtol=0, atol=0)
    for f, size in (
        (lambda t: F.avg_pool2d(t, 3, 2, 1), (5, 4)),
        (lambda t: F.avg_pool2d(t, (2, 3), 2, 1, True, False), (5, 5)),
        (lambda t: F.adaptive_avg_pool2d(t, (3, 4)), (3, 4)),
    ):
        back = lambda t, g, f=f: slope(f, t, g)
        natively("shim::mean_pool_backward", back, image, torch.randn(2, 3, *size), exact=False)
    natively("aten::adaptive_avg_pool2d", lambda t: F.adaptive_avg_pool2d(t, (4, 3)), image, exact=False)


def dots():
    """Long vectors: two kernels of ours, of any beginning and end."""
    for n, dtype in ((1 << 16, torch.float32), (70001, torch.float32), (66666, torch.bfloat16)):
        x, y = torch.rand(n + 1).to(dtype), torch.rand(n + 1).to(dtype) - 0.5
        whole = x.double(), y.double()
        for begin in (0, 1):
            found = torch.dot(x.cuda()[begin:], y.cuda()[begin:])
            expected = torch.dot(whole[0][begin:], whole[1][begin:])
            assert found.dtype == dtype and found.shape == ()
            scale = float((whole[0] * whole[1].abs()).sum())
            error = abs(float(found.cpu()) - float(expected))
            assert error <= scale * 1e-6 + abs(float(expected)) * torch.finfo(dtype).eps, (n, dtype, begin, error)
        assert launches(lambda a=x.cuda(), b=y.cuda(): a @ b) == 2


def matrices():
    """Small matrices are one kernel a decomposition: its values, info of what has none, shapes that are another's."""
    torch.manual_seed(0)
    linalg, square = torch.linalg, torch.randn(2, 5, 5)
    definite = square @ square.mT + torch.eye(5)
    definite[1, 3, 3] = -1
    for upper in (False, True):
        L, info = natively("aten::linalg_cholesky_ex", lambda a, u=upper: tuple(linalg.cholesky_ex(a, upper=u)),
                           definite[:1].double(), exact=False)  # fmt: skip
        L, info = linalg.cholesky_ex(definite.cuda(), upper=upper)
        assert info.cpu().tolist() == [0, 4] and not L[1, 3:, 3:].cpu().any()
        L = L[1].cpu().mT if upper else L[1].cpu()
        torch.testing.assert_close((L @ L.mT)[:3, :3], definite[1, :3, :3], rtol=1e-5, atol=1e-5)
    for dtype in (torch.float32, torch.float64):
        a, b = torch.randn(3, 6, 6, dtype=dtype), torch.randn(3, 6, 4, dtype=dtype)
        a[0, 0, 0] = 0  # asks for another pivot
        name = "aten::linalg_solve_ex"
        natively(name, lambda a, b: linalg.solve(a, b), a, b, exact=False)
        natively(name, lambda a, b: linalg.solve(a, b.mT, left=False), a, b, exact=False)
        natively(name, lambda a, b: linalg.solve(a, b[..., 0].contiguous()), a, b, exact=False)
        natively("aten::linalg_inv_ex", linalg.inv, a, exact=False)
        for shape in ((2, 7, 7), (2, 9, 4), (4, 9), (1, 1)):
            a = torch.randn(shape, dtype=dtype)
            before = _core.operator_counts().get("aten::linalg_svd", (0, 0))[1]
            u, s, vh = (t.cpu() for t in linalg.svd(a.cuda(), full_matrices=False))
            assert _core.operator_counts()["aten::linalg_svd"][1] == before + 1
            same = {"rtol": 1e-5, "atol": 1e-5}
            torch.testing.assert_close(s, linalg.svdvals(a), **same)
            torch.testing.assert_close(u * s.unsqueeze(-2) @ vh, a, **same)
            torch.testing.assert_close(
                u.mT @ u, torch.eye(s.shape[-1], dtype=dtype).expand(*shape[:-2], -1, -1), **same
            )
            torch.testing.assert_close(
                vh @ vh.mT, torch.eye(s.shape[-1], dtype=dtype).expand(*shape[:-2], -1, -1), **same
            )
    singular = torch.ones(1, 3, 3).cuda()
    assert linalg.solve_ex(singular, singular).info.cpu().tolist() == [2]
    assert linalg.inv_ex(singular).info.cpu().tolist() == [2]


def causal():
    """Queries with the keys that they see, part by part: the scores of others are never made."""
    torch.manual_seed(0)
    attended._LARGE = 48 * 40
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    for rows, keys in ((64, 64), (70, 50), (50, 70)):
        tensors = [torch.randn(2, 2, n, 16) for n in (rows, keys, keys)]
        g = torch.randn(2, 2, rows, 16)
        found = f(*given(tensors))
        torch.testing.assert_close(found.cpu(), f(*tensors), rtol=1e-5, atol=1e-5)
        cpu, gpu = ([t.detach().requires_grad_() for t in side] for side in (tensors, given(tensors)))
        wanted = torch.autograd.grad(f(*cpu), cpu, g)
        for x, y in zip(torch.autograd.grad(f(*gpu), gpu, g.cuda()), wanted, strict=True):
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5)
    # A scale, a triangle, a softmax and a mask of each of four parts, their results in one.
    on_gpu = given([torch.randn(2, 2, 64, 16) for _ in range(3)])
    assert launches(lambda: f(*on_gpu)) <= 3 + 4 * 4


def masked():
    """Queries that see nothing, by a mask: zeros, in the softmax itself; and what is no number stays."""
    torch.manual_seed(0)
    x = torch.randn(6, 70)
    x[1] = -torch.inf
    x[2, 3:] = -torch.inf
    x[3] = torch.nan
    x[4, 5], x[5] = torch.nan, torch.nan
    x[5, :40] = -torch.inf
    safe = lambda t: torch.ops.aten._safe_softmax(t, -1)
    natively("shim::safe_softmax", safe, x, exact=False)
    g = torch.randn(3, 70)

    def slope(t, g):
        t = t.detach().requires_grad_()
        return torch.autograd.grad(safe(t), t, g)[0]

    natively("shim::safe_softmax", slope, x[:3], g, exact=False)
    tensors = [torch.randn(2, 2, n, 16) for n in (5, 7, 7)]
    for mask in (torch.rand(5, 7) > 0.5, torch.randn(2, 1, 5, 7)):
        f = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m)
        if mask.dtype == torch.bool:
            mask[2] = False
        torch.testing.assert_close(f(*given([*tensors, mask])).cpu(), f(*tensors, mask), rtol=1e-5, atol=1e-5)
    # Two products, a sum and a softmax.
    assert launches(lambda x=given([*tensors, mask]): f(*x)) <= 4


def few_passes():
    """Operators of several steps that are one pass each, or one and what is small."""
    torch.manual_seed(0)
    matrix, a, b = torch.randn(6, 5), torch.randn(6), torch.randn(5)
    for alpha in (1, 0.5):
        found = torch.addr(*given([matrix, a, b]), alpha=alpha)
        torch.testing.assert_close(found.cpu(), torch.addr(matrix, a, b, alpha=alpha))
    assert launches(lambda x=given([matrix, a, b]): torch.addr(*x)) == 1
    for shape, dims in (((2, 3, 5, 4), 2), ((2, 3, 3, 4, 2), 3)):
        for aligned in (False, True):
            theta, g = torch.randn(2, dims, dims + 1), torch.randn(2, *shape[2:], dims)

            def slope(theta, g, shape=shape, aligned=aligned):
                theta = theta.detach().requires_grad_()
                return torch.autograd.grad(F.affine_grid(theta, shape, aligned), theta, g)[0]

            natively("shim::affine_grid_backward", slope, theta, g, exact=False)
    means = torch.randn(70).cuda()
    torch.cuda.manual_seed(3)
    drawn = torch.normal(means, 2.5)
    torch.cuda.manual_seed(3)
    expected = torch.empty(70, device="cuda").normal_(0, 1) * 2.5 + means
    assert torch.equal(drawn.cpu(), expected.cpu())
    assert launches(lambda: torch.normal(means, 2.5)) == 2


def packs():
    """Several elements a thread, of any beginning and end; running extremes of few and of many lines."""
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        x, y = torch.rand(3, 23, dtype=dtype), torch.randn(3, 23, dtype=dtype)
        for begin in (0, 1):
            found = torch.view_as_real(torch.polar(x.cuda().view(-1)[begin:], y.cuda().view(-1)[begin:])).cpu()
            expected = torch.view_as_real(torch.polar(x.view(-1)[begin:], y.view(-1)[begin:]))
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    for shape, dim in (((3, 70), 1), ((70, 4), 0), ((1100, 3), 1)):
        x = torch.randint(0, 9, shape).float()
        x.view(-1)[5] = float("nan")
        for f in (torch.cummin, torch.cummax):
            found = natively(f"aten::{f.__name__}", lambda t, f=f, d=dim: tuple(f(t, d)), x)
            assert found[1].dtype == torch.int64
