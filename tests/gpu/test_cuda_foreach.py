"""Operations on lists of tensors and the steps of optimizers on CUDA: the same numbers as one tensor at a time, in few launches."""

import math

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.usefixtures("on_our_kernels")

SHAPES = [(3, 5), (), (4097,), (64, 33), (0, 4), (1,), *[(7, 9)] * 45]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def tensors(dtype, shapes=None):
    return [(torch.randn(s, dtype=torch.float64) + 0.1).to(dtype) for s in shapes or SHAPES]


def close(got, want, scale=1.0):
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        tolerance = TOLERANCE[b.dtype] * scale
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a.detach().cpu(), b.detach(), rtol=tolerance, atol=tolerance, equal_nan=True)


CALLS = {
    "add": lambda a, b, c: torch._foreach_add(a, b),
    "add alpha": lambda a, b, c: torch._foreach_add(a, b, alpha=2),
    "sub alpha": lambda a, b, c: torch._foreach_sub(a, b, alpha=0.5),
    "mul number": lambda a, b, c: torch._foreach_mul(a, 3.0),
    "mul numbers": lambda a, b, c: torch._foreach_mul(a, [float(i) for i in range(len(a))]),
    "mul one": lambda a, b, c: torch._foreach_mul(a, c[1]),
    "div": lambda a, b, c: torch._foreach_div(a, torch._foreach_add(torch._foreach_abs(b), 1.0)),
    "div number": lambda a, b, c: torch._foreach_div(a, 4.0),
    "maximum": lambda a, b, c: torch._foreach_maximum(a, b),
    "clamp_min": lambda a, b, c: torch._foreach_clamp_min(a, 0.3),
    "pow": lambda a, b, c: torch._foreach_pow(torch._foreach_abs(a), 2.0),
    "sqrt": lambda a, b, c: torch._foreach_sqrt(torch._foreach_abs(a)),
    "neg": lambda a, b, c: torch._foreach_neg(a),
    "lerp": lambda a, b, c: torch._foreach_lerp(a, b, 0.3),
    "lerp lists": lambda a, b, c: torch._foreach_lerp(a, b, c),
    "addcmul": lambda a, b, c: torch._foreach_addcmul(a, b, c, value=0.5),
    "addcdiv": lambda a, b, c: torch._foreach_addcdiv(
        a, b, torch._foreach_add(torch._foreach_abs(c), 1.0), [0.5] * len(a)
    ),
}
IN_PLACE = {
    "add_": lambda a, b, c: torch._foreach_add_(a, b, alpha=3),
    "mul_": lambda a, b, c: torch._foreach_mul_(a, 0.5),
    "addcmul_": lambda a, b, c: torch._foreach_addcmul_(a, b, c, value=-1),
    "lerp_": lambda a, b, c: torch._foreach_lerp_(a, b, 0.9),
    "sqrt_": lambda a, b, c: (torch._foreach_abs_(a), torch._foreach_sqrt_(a)),
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CALLS)
def test_each(name, dtype):
    lists = [tensors(dtype) for _ in range(3)]
    close(CALLS[name](*[[t.cuda() for t in x] for x in lists]), CALLS[name](*lists))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", IN_PLACE)
def test_each_in_place(name, dtype):
    lists = [tensors(dtype) for _ in range(3)]
    there = [[t.cuda() for t in x] for x in lists]
    versions = [t._version for t in there[0]]
    IN_PLACE[name](*there)
    IN_PLACE[name](*lists)
    close(there[0], lists[0])
    assert all(t._version > v for t, v in zip(there[0], versions, strict=True))


def test_what_one_kernel_does_not_take():
    a = [torch.ones(3, device="cuda"), torch.ones(3, device="cuda", dtype=torch.float64)]
    assert [t.dtype for t in torch._foreach_add(a, 1.0)] == [torch.float32, torch.float64]
    leaf = torch.ones(3, device="cuda", requires_grad=True)
    torch._foreach_mul([leaf], 2.0)[0].sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3
    strided = [torch.arange(6.0).cuda().reshape(2, 3).t()]
    assert torch._foreach_add(strided, 1.0)[0].tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert (
        torch._foreach_add([torch.ones(2, 3, device="cuda")], [torch.ones(3, device="cuda")])[0].tolist()
        == [[2.0] * 3] * 2
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_norms(dtype):
    shapes = [s for s in SHAPES if 0 not in s] + [(300_000,)]
    given = tensors(dtype, shapes)
    there = [t.cuda() for t in given]
    for order in (2, 1, math.inf):
        want = [torch.linalg.vector_norm(t.double(), order).to(dtype) for t in given]
        close(torch._foreach_norm(there, order), want)
    assert torch._foreach_norm([torch.zeros(0, 3, device="cuda")])[0].item() == 0
    there[0][0, 0] = math.nan
    assert math.isnan(torch._foreach_norm(there, math.inf)[0].item()) and math.isnan(
        torch._foreach_norm(there)[0].item()
    )


def test_clipping_and_unscaling():
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(1)
        leaves = [torch.nn.Parameter(t.to(device)) for t in tensors(torch.float32, [(4, 5), (7,), (300, 20)])]
        for p in leaves:
            p.grad = p.detach() * 3
        total = torch.nn.utils.clip_grad_norm_(leaves, 2.0)
        found.append([total.detach().cpu(), *[p.grad.cpu() for p in leaves]])
    close(found[1], found[0])
    grads = [torch.ones(5, device="cuda"), torch.ones(3, device="cuda")]
    inf, scale = torch.zeros(1, device="cuda"), torch.full((1,), 0.5, device="cuda")
    torch._amp_foreach_non_finite_check_and_unscale_(grads, inf, scale)
    assert inf.item() == 0 and grads[0].tolist() == [0.5] * 5
    grads[1][1] = math.inf
    torch._amp_foreach_non_finite_check_and_unscale_(grads, inf, scale)
    assert inf.item() == 1


OPTIMIZERS = {
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=p[0].is_cuda),
    "AdamW capturable": lambda p: torch.optim.AdamW(p, lr=0.01, capturable=p[0].is_cuda),
    "Adam decayed": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True, maximize=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.3, 0.9)),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, dampening=0.1),
    "SGD Nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, dtype):
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(2)
        leaves = [torch.nn.Parameter(t.to(device)) for t in tensors(dtype)]
        optimizer = OPTIMIZERS[name](leaves)
        for step in range(3):
            for i, p in enumerate(leaves):
                p.grad = (
                    (torch.randn(p.shape, dtype=torch.float64) * 0.5).to(dtype).to(device) if step or i % 5 else None
                )
            versions = [p._version for p in leaves]
            optimizer.step()
            assert all(
                p._version > v for p, v in zip(leaves, versions, strict=True) if p.grad is not None and p.numel()
            )
        states = [v.to(p.dtype) for p in leaves for v in optimizer.state[p].values() if v is not None]
        found.append([*[p.detach() for p in leaves], *states])
    close(found[1], [t.cpu() for t in found[0]], scale=20)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("dtype, eps", [(torch.float32, 1e-8), (torch.float32, 0.0), (torch.bfloat16, 1e-8)])
def test_adam_of_extremes(dtype, eps, amsgrad):
    """Zeros, infinities and what is nearly out of range, in whole loads and at the tensor's end: as divisions and roots make it.

    (Without eps the CPU's steps in bfloat16, which round each moment before its root is taken, divide by other zeros.)
    """
    found = []
    slopes = [0.0, -0.0, 1e-19, 1e-30, -1e18, 1e20, 1e30, math.inf, -math.inf, math.nan, 1e-3] * 5
    for device in ("cpu", "cuda"):
        p = torch.nn.Parameter(torch.linspace(-2, 2, len(slopes)).to(dtype).to(device))
        optimizer = torch.optim.AdamW([p], lr=0.01, eps=eps, amsgrad=amsgrad, fused=device == "cuda")
        for sign in (1, -1):
            p.grad = (torch.tensor(slopes) * sign).to(dtype).to(device)
            optimizer.step()
        state = optimizer.state[p]
        found.append([p.detach(), *(v for k, v in sorted(state.items()) if k != "step")])
    close(found[1], [t.cpu() for t in found[0]])


def by_kernels(name):
    """How often kernels took an operator."""
    return _core.operator_counts().get(name, (0, 0))[1]


@pytest.mark.parametrize("name, operator", [("AdamW", "shim::adam_step"), ("SGD", "shim::sgd_step"), ("RMSprop", "")])
def test_one_launch_updates_many(name, operator, monkeypatch):
    """None is gone through by itself."""
    leaves = [torch.nn.Parameter(torch.randn(64, device="cuda")) for _ in range(30)]
    for p in leaves:
        p.grad = torch.ones_like(p)
    before = [p.detach().clone() for p in leaves]
    optimizer = getattr(torch.optim, name)(leaves, lr=0.1)
    optimizer.step()
    monkeypatch.setattr(type(optimizer), "_move", None)
    taken = by_kernels(operator)
    optimizer.step()
    assert not operator or by_kernels(operator) == taken + 1
    assert all((p < q).all() for p, q in zip(leaves, before, strict=True))
    assert _core.cuda_each("no such operator", False, [p.detach() for p in leaves], (), None) is None
