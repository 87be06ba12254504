"""Operators that a first call defers before they ran: results, how they lie and what is refused are what they are eager."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.nn import functional as F


@pytest.fixture(autouse=True)
def _however_small():
    before = _core.trace_foreseen_from(0)
    yield
    _core.trace_foreseen_from(before)


def some(*sizes, like):
    """Numbers of a dtype, small ones, none of them zero."""
    numbers = torch.arange(torch.Size(sizes).numel()).remainder(7).sub(3).add(0.5).reshape(sizes)
    return numbers.to(like.dtype)


OPERATORS = {
    name: getattr(torch, name)
    for name in "exp log log2 log1p expm1 sqrt rsqrt reciprocal sin cos tanh sigmoid erf neg square sign abs relu tril triu sum mean "
    "amax argmax any all clone zeros_like ones_like".split()
} | {
    "silu": F.silu,
    "gelu": F.gelu,
    "tanh gelu": lambda x: F.gelu(x, approximate="tanh"),
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "softplus": F.softplus,
    "add": lambda x: x + x.flip(0),
    "sub": lambda x: x - some(x.shape[-1], like=x),
    "mul": lambda x: x * 3,
    "div": lambda x: x / x,
    "pow": lambda x: x.pow(2),
    "2 ** x": lambda x: 2**x,
    "maximum": lambda x: torch.maximum(x, x.flip(0)),
    "minimum": lambda x: torch.minimum(x, x.flip(0)),
    "addcmul": lambda x: torch.addcmul(x, x, x),
    "addcdiv": lambda x: torch.addcdiv(x, x, x),
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3),
    "clamp": lambda x: x.clamp(0, 2),
    "clamp_min": lambda x: x.clamp_min(1),
    "clamp_max": lambda x: x.clamp_max(1),
    "comparisons": lambda x: [x == 1, x != 1, x < 1, x <= 1, x > 1, x >= 1],
    "logic": lambda x: [torch.logical_and(x, x > 0), torch.logical_or(x, x > 0), x.logical_xor(x > 0), x.logical_not()],
    "bitwise_and": lambda x: x & x,
    "bitwise_or": lambda x: x | 1,
    "bitwise_xor": lambda x: x ^ x,
    "bitwise_not": lambda x: ~x,
    "masks": lambda x: ~((x > 0) & (x < 2) | (x == 0)),
    "shifts": lambda x: [x << 1, x >> 1],
    "where": lambda x: torch.where(x > 0, x, 1),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2),
    "to double": lambda x: x.double(),
    "to int": lambda x: x.int(),
    "writes": lambda x: x.clone().add_(1).mul_(2).fill_(3).zero_(),
    "copy_": lambda x: torch.zeros(x.shape).copy_(x),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "roll": lambda x: x.roll(1, -1),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "gather": lambda x: x.gather(0, torch.zeros(2, *x.shape[1:], dtype=torch.long)),
    "index_add": lambda x: [x.index_add(0, torch.tensor([1, 0]), y) for y in (x, x.double())],
    "scatter_add": lambda x: x.scatter_add(0, torch.zeros(x.shape, dtype=torch.long), x),
    "scatter_add of another dtype": lambda x: x.scatter_add(0, torch.zeros(x.shape, dtype=torch.long), x.double()),
    "index_select": lambda x: x.index_select(1, torch.tensor([1, 0])),
    "index": lambda x: x[torch.tensor([1, 0])],
    "two indices": lambda x: x[:, torch.tensor([1, 0]), torch.tensor([[1], [0]])],
    "sum of a dim": lambda x: x.sum(1),
    "mean of a dim": lambda x: x.mean((0, -1), keepdim=True),
    "amax of a dim": lambda x: x.amax(0),
    "argmax of a dim": lambda x: x.argmax(0),
    "any of a dim": lambda x: x.any(1),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: [*x.sort(1), *x.sort(dim=0, stable=True)],
    "vector_norm": lambda x: [torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, dim=1)],
    "logsumexp": lambda x: x.logsumexp(0),
    "softmax": lambda x: [x.softmax(1), x.log_softmax(0)],
    "glu": F.glu,
    "matmul": lambda x: x.matmul(x.transpose(-2, -1)),
    "bmm": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "baddbmm": lambda x: torch.baddbmm(x.sum(2, keepdim=True), x, x.transpose(1, 2)),
    "mm": lambda x: torch.mm(x[0], x[1].t()),
    "addmm": lambda x: torch.addmm(x[0, 0, :1], x[0], x[1].t()),
    "linear": lambda x: F.linear(x, some(5, x.shape[-1], like=x), some(5, like=x)),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], some(x.shape[-1], like=x)),
    "nll_loss": lambda x: F.nll_loss(x, torch.ones(x[:, 0].shape, dtype=torch.long)),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.ones(x[:, 0].shape, dtype=torch.long)),
    "mse_loss": lambda x: F.mse_loss(x, x.flip(0)),
    "embedding": lambda x: F.embedding(torch.tensor([[1, 0], [1, 1]]), x[0]),
    "makers": lambda x: [x * torch.ones(6), x + torch.arange(6), x + torch.full((6,), 2), x + torch.zeros(6)],
}
LAYOUTS = {
    "contiguous": lambda x: x.reshape(2, 4, 6),
    "transposed": lambda x: x.reshape(2, 6, 4).transpose(1, 2),
    "turned": lambda x: x.reshape(6, 2, 4).permute(1, 2, 0),
    "with gaps": lambda x: torch.cat([x, x]).reshape(2, 4, 12)[..., ::2],
    "expanded": lambda x: x.reshape(4, 12)[:, :6].expand(2, 4, 6),
}
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool)


def outcome(f, x, gradient):
    x = x.detach().requires_grad_(gradient and x.is_floating_point())
    try:
        found = f(x)
    except (RuntimeError, IndexError, TypeError) as error:
        return [type(error).__name__, str(error)]
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    if any(t.requires_grad for t in found):
        found += torch.autograd.grad(sum(t.sum() for t in found if t.requires_grad), x)
    return found


def check_same(found, wanted):
    assert len(found) == len(wanted), (found, wanted)
    for a, b in zip(found, wanted, strict=True):
        if isinstance(b, str):
            assert a == b
            continue
        assert (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
        torch.testing.assert_close(a.detach(), b.detach(), equal_nan=True)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATORS)
def test_as_eager(name, layout, gradient):
    for dtype in DTYPES:
        x = some(48, like=torch.empty(0, dtype=dtype))

        def program(x):
            return OPERATORS[name](LAYOUTS[layout](x.mul(1)))  # which is deferred

        compiled = torch.compile(program)
        for _ in range(2):
            check_same(outcome(compiled, x, gradient), outcome(program, x, gradient))
