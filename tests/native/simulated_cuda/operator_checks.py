"""Operators on the simulated driver, whose kernels the host's compiler built: what they give is what the CPU gives."""

import ctypes
import sys

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.native import _core


def given(t):
    """The same on the GPU; lists of tensors too."""
    if isinstance(t, list):
        return [given(x) for x in t]
    return t.detach().cuda().requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t


def natively(name, f, *args, exact=True):
    """f on the CPU and on the GPU, where `name` is to run a kernel; the GPU's result."""
    expected = f(*args)
    before = _core.operator_counts().get(name, (0, 0))
    found = f(*given(list(args)))
    after = _core.operator_counts()[name]
    assert (after[0], after[1] > before[1]) == (before[0], True), f"{name} ran no kernel"
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for x, y in pairs:
        torch.testing.assert_close(x.cpu(), y, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-5, equal_nan=True)
    return found


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


def losses():
    torch.manual_seed(0)
    scores, targets = torch.rand(6, 4), torch.randint(0, 4, (6,))
    for reduction in ("none", "mean", "sum"):
        for weight in (None, torch.rand(4)):
            natively("aten::nll_loss_nd", lambda x, t, w, r=reduction: F.nll_loss(x, t, w, reduction=r, ignore_index=1),
                     scores, targets, weight, exact=False)  # fmt: skip
    several = torch.tensor([[0, 1, -1, 2], [3, -1, 0, 0]])
    natively("shim::multi_margin_loss", lambda x, t: F.multi_margin_loss(x, t, p=2), scores, targets, exact=False)
    natively("shim::multilabel_margin_loss", F.multilabel_margin_loss, scores[:2], several, exact=False)
    natively("shim::pointwise_loss", F.huber_loss, scores, torch.rand(6, 4), exact=False)

    def gradient(x, t):
        x = x.detach().requires_grad_()
        F.nll_loss(x, t).backward()
        return x.grad

    natively("shim::nll_loss_backward", gradient, scores, targets, exact=False)
    log_p, labels = torch.rand(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]])
    lengths = torch.tensor([5, 4]), torch.tensor([2, 1])
    ctc = torch.ops.shim.ctc_alignments
    natively("shim::ctc_alignments", lambda *a: ctc(*a)[0], log_p, labels, *lengths, 0, exact=False)
    bags = torch.randint(0, 6, (9,)), torch.tensor([0, 3, 3, 6])
    for mode in range(3):
        natively(
            "shim::embedding_bags", torch.ops.shim.embedding_bags, scores, *bags, None, mode, False, -1, exact=False
        )


def places():
    x, rows, values = torch.rand(4, 5), torch.tensor([2, 0]), torch.rand(2, 5)
    index = torch.tensor([[0, 1, 2, 3, 0], [3, 2, 1, 0, 1]])
    calls = {
        "scatter.src": (lambda s, i, v, m: s.scatter(0, i, v), lambda s, i, v, m: s.scatter_(0, i, v)),
        "scatter.value": (lambda s, i, v, m: s.scatter(0, i, 3), lambda s, i, v, m: s.scatter_(0, i, 3)),
        "index_add": (lambda s, i, v, m: s.index_add(0, m, v), lambda s, i, v, m: s.index_add_(0, m, v)),
        "index_copy": (lambda s, i, v, m: s.index_copy(0, m, v), lambda s, i, v, m: s.index_copy_(0, m, v)),
        "index_fill.int_Scalar": (lambda s, i, v, m: s.index_fill(0, m, 7), lambda s, i, v, m: s.index_fill_(0, m, 7)),
        "index_fill.int_Tensor": (
            lambda s, i, v, m: s.index_fill(1, m, v[0, 0]),
            lambda s, i, v, m: s.index_fill_(1, m, v[0, 0]),
        ),
        "_index_put_at": (
            lambda s, i, v, m: s.index_put((m,), v, accumulate=True),
            lambda s, i, v, m: s.index_put_((m,), v, accumulate=True),
        ),
    }
    for name, (functional, in_place) in calls.items():
        plain, dot, overload = name.partition(".")
        natively(f"aten::{name}", functional, x, index, values, rows)
        written = x.cuda()
        assert in_place(written, *given([index, values, rows])) is written, f"{plain}_ gives self itself"
        assert written._version == 1
        assert _core.operator_counts()[f"aten::{plain}_{dot}{overload}"][1], f"{plain}_ ran no kernel"
        torch.testing.assert_close(written.cpu(), functional(x, index, values, rows), rtol=0, atol=0)
    mask = torch.tensor([True, False, True, False, True])
    natively("aten::masked_scatter", lambda s, m, v: s.masked_scatter(m, v), x, mask, torch.rand(20))


def moves():
    x = torch.rand(3, 4)
    natively("aten::flip", lambda t: t.flip(1), x)
    natively("aten::flip", lambda t: t.t().flip(0), x)
    natively("aten::take", torch.take, x, torch.tensor([[3, -1], [0, 5]]))
    natively("aten::diag_embed", lambda t: torch.diag_embed(t, 1, 0, 2), x)


def pools():
    for x in (torch.rand(2, 3, 9, 8), torch.rand(2, 3, 9, 8).to(memory_format=torch.channels_last)):
        x[0, 1, 2, 3] = float("nan")
        found = [
            natively("aten::max_pool2d", lambda t: F.max_pool2d(t, 3, 2, 1, (2, 1)), x),
            *natively("aten::max_pool2d_with_indices", lambda t: F.max_pool2d(t, 2, return_indices=True), x),
            *natively("aten::adaptive_max_pool2d", lambda t: F.adaptive_max_pool2d(t, (4, 3), True), x),
            natively("aten::avg_pool2d", lambda t: F.avg_pool2d(t, 3, 2, 1, count_include_pad=False), x, exact=False),
            natively("aten::adaptive_avg_pool2d", lambda t: F.adaptive_avg_pool2d(t, (4, 3)), x, exact=False),
        ]
        for name, more in (
            ("nearest", {}),
            ("nearest-exact", {}),
            ("bilinear", {"align_corners": True}),
            ("bicubic", {}),
        ):
            f = lambda t, m=name, more=more: F.interpolate(t, (14, 5), mode=m, **more)
            kind = {"nearest-exact": "_upsample_nearest_exact"}.get(name, f"upsample_{name}")
            found.append(natively(f"aten::{kind}2d", f, x.nan_to_num(), exact=False))
        for t in found:
            assert _core.suggest_memory_format(t) == _core.suggest_memory_format(x)


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


def declines():
    """What no kernel takes is left to the body, for which there is no CuPy here, and counted."""
    sys.modules["cupy"] = None  # type: ignore[assignment]

    def reason(name, f):
        before = dict(_core.operator_declines().get(name, {}))
        try:
            f()
        except ModuleNotFoundError as error:
            assert error.name == "cupy"
        (found,) = (why for why, times in _core.operator_declines()[name].items() if times != before.get(why, 0))
        return found

    x, rows = torch.rand(4, 5).cuda(), torch.tensor([2, 0]).cuda()
    assert reason("aten::index_add", lambda: x.index_add(0, rows, x[:2], alpha=2)) == "an alpha other than 1"
    assert (
        reason("aten::_index_put_at_", lambda: x.t().index_put_((rows,), x.t()[:2])) == "a self that is not contiguous"
    )
    assert reason("shim::nll_loss", lambda: torch.ops.shim.nll_loss(x.long(), rows, None, 1, -100)) == (
        "a dtype without a CUDA kernel"
    )
    wanted = x.clone().requires_grad_()
    before = _core.operator_counts()["aten::index_add"]
    wanted.index_add(0, rows, x[:2]).sum().backward()  # a gradient is wanted, and the kernel runs all the same
    assert _core.operator_counts()["aten::index_add"] == (before[0], before[1] + 1)
