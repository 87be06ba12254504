"""Operators on the simulated driver, whose kernels the host's compiler built: what they give is what the CPU gives."""

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


def bounds_and_signs():
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([nan, -inf, -2.5, -0.0, 0.0, 0.25, 3.5, inf])
    low, high = (
        torch.tensor([0.0, -1.0, nan, 1.0, -1.0, 0.5, 5.0, 0.0]),
        torch.tensor([1.0, 1.0, 2.0, nan, 1.0, 0.1, 4.0, 9.0]),
    )
    whole, places = torch.tensor([-7, 0, 3, 9]), torch.tensor([[1], [-4]])
    clamp, least, most = torch.clamp, torch.clamp_min, torch.clamp_max
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        t, a, b = x.to(dtype), low.to(dtype), high.to(dtype)
        for given in ((t, a, b), (t, a), (t, None, b)):
            natively("aten::clamp.Tensor", clamp, *given)
        natively("aten::clamp_min.Tensor", least, t, a)
        natively("aten::clamp_max.Tensor", most, t, b)
        for name in ("angle", "signbit", "isposinf", "isneginf"):
            natively(f"aten::{name}", getattr(torch, name), t)
        for decimals in (-1, 0, 1, 3):
            natively("aten::round.decimals", lambda t, d=decimals: t.round(decimals=d), t * 1.37, exact=False)
        assert torch.isreal(t.cuda()).all() and torch.isreal(t.cuda()).dtype is torch.bool
    for given in (
        (whole, places, places + 5),
        (whole, places),
        (whole, None, low[4]),
        (x, places[0], high),
        (whole.int(), places, high[4]),
    ):
        natively("aten::clamp.Tensor", clamp, *given)
    natively("aten::clamp_min.Tensor", least, whole, places)
    for name in ("isposinf", "isneginf"):
        for t in (whole, whole > 0):
            natively(f"aten::{name}", getattr(torch, name), t)
    # Whole numbers count as the default dtype.
    for name in "angle digamma lgamma deg2rad rad2deg sinc".split():
        for t in (whole, whole.to(torch.int8), whole > 0):
            natively(f"aten::{name}", getattr(torch, name), t, exact=False)
    for name in ("atan2", "copysign", "xlogy"):
        for pair in ((whole, places), (whole > 0, places.int()), (x[4:7], whole[:3]), (whole[1:].double(), x[4:7])):
            natively(f"aten::{name}{'' if name == 'atan2' else '.Tensor'}", getattr(torch, name), *pair, exact=False)
    # Bounds that lie on the CPU are numbers; in place and into an out.
    for bound in (torch.tensor(0.5), torch.tensor(1)):
        torch.testing.assert_close(clamp(x.cuda(), bound, bound + 2).cpu(), clamp(x, bound, bound + 2), equal_nan=True)
    for call in (
        lambda t, b: t.clamp_min_(b),
        lambda t, b: t.clamp_(b, b + 1),
        lambda t, b: torch.clamp_max(t, b, out=torch.empty_like(t)),
    ):
        torch.testing.assert_close(call(x.cuda(), low.cuda()).cpu(), call(x.clone(), low), equal_nan=True)
    found = []
    for device in ("cpu", "cuda"):
        t, a, b = (v[4:].to(device).requires_grad_() for v in (x, low, high))
        clamp(t, a, b).sum().backward()
        found.append((t.grad.cpu(), a.grad.cpu(), b.grad.cpu()))
    torch.testing.assert_close(*found)


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
