"""Random functions, compiled and as they are, over several calls: views, writes, aliases, branches on values, gradients, other sizes."""

from __future__ import annotations

import random
import warnings

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

ONE = [
    torch.relu,
    torch.sigmoid,
    torch.tanh,
    torch.exp,
    torch.abs,
    torch.neg,
    torch.sqrt,
    torch.floor,
    torch.sign,
    F.gelu,
    F.silu,
    torch.clone,
    torch.isnan,
    torch.tril,
    torch.argmax,
    lambda t: t.sum(-1, keepdim=True),
    lambda t: t.mean(),
    lambda t: F.softmax(t.float(), -1),
    lambda t: t.cumsum(0),
    lambda t: t.amax(0),
    lambda t: F.layer_norm(t.float(), t.shape[-1:]),
    lambda t: t.contiguous(),
    lambda t: t.float(),
    lambda t: t.double(),
    lambda t: t.long(),
    lambda t: t > 0,
    lambda t: t.sort(-1)[0],
    lambda t: torch.logsumexp(t.float(), 0),
    lambda t: t.flip(0),
    lambda t: t.roll(1, -1),
    lambda t: F.pad(t, (1, 0)),
]
VIEWS = [
    lambda t: t.t(),
    lambda t: t[1:],
    lambda t: t[..., ::2],
    lambda t: t.view(-1),
    lambda t: t.reshape(-1, 2),
    lambda t: t.unsqueeze(0),
    lambda t: t[0],
    lambda t: t.chunk(2, -1)[1],
    lambda t: t.detach(),
    lambda t: t.expand(3, *t.shape),
    lambda t: t.unfold(0, 2, 1),
    lambda t: t.diagonal(),
]
TWO = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.div,
    torch.maximum,
    torch.pow,
    torch.matmul,
    torch.eq,
    torch.atan2,
    torch.outer,
    F.linear,
    F.mse_loss,
    lambda a, b: torch.where(a > b, a, b),
    lambda a, b: torch.cat([a, b]),
    lambda a, b: torch.stack([a, b]),
    lambda a, b: torch.lerp(a, b, 0.3),
    lambda a, b: torch.addcmul(a, a, b, value=2),
    lambda a, b: torch.index_select(a, 0, b.flatten().long().remainder(a.shape[0])),
]
WITH_NUMBER = [
    lambda a, k: a + k,
    lambda a, k: a * k,
    lambda a, k: k - a,
    lambda a, k: a / (k or 1),
    lambda a, k: a.clamp(max=k),
    lambda a, k: a > k,
    lambda a, k: F.leaky_relu(a.float(), k),
    torch.full_like,
    lambda a, k: a.masked_fill(a > 0, k),
]
WRITES = [
    lambda a, b, k: a.add_(b),
    lambda a, b, k: a.mul_(k),
    lambda a, b, k: a.copy_(b),
    lambda a, b, k: a.zero_(),
    lambda a, b, k: a.sub_(b, alpha=2),
    lambda a, b, k: F.relu(a, inplace=True),
    lambda a, b, k: a.fill_(k),
    lambda a, b, k: a.clamp_(-1, 1),
    lambda a, b, k: a.__setitem__(0, k),
    lambda a, b, k: a.masked_fill_(a > 0, k),
    lambda a, b, k: a.index_add_(0, torch.tensor([0]), a[:1].clone()),
    lambda a, b, k: a.addcmul_(b, b),
    lambda a, b, k: a.t_(),
    lambda a, b, k: a.normal_(),
]
REFUSED = (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)
KINDS = [("one", 25), ("view", 17), ("two", 23), ("number", 13), ("write", 14), ("branch", 4), ("drop", 4)]


class Program:
    """A function of four tensors and a number: what it does is told by the seed alone."""

    def __init__(self, seed):
        chance = random.Random(seed)
        kinds, weights = zip(*KINDS, strict=True)
        self.steps = [
            (
                chance.choices(kinds, weights)[0],
                [chance.random() for _ in range(3)],
                chance.choice([0.5, 2, -1.0, 3, 0, "n"]),
            )
            for _ in range(chance.randint(3, 18))
        ]
        self.returned = [chance.random() for _ in range(3)]
        self.gradient, self.alias, self.resized = (chance.random() < p for p in (0.4, 0.3, 0.4))
        self.exact = chance.random() < 0.4
        dtypes = [torch.float32, torch.float32, torch.float64, torch.int64, torch.bool]
        if self.exact:  # a fused chain keeps what is between its operators in float32
            dtypes.append(torch.bfloat16)
        shapes = [(4, 4), (4,), (2, 4), (4, 6), ()]
        self.inputs = [(chance.choice(shapes), chance.choice(dtypes)) for _ in range(4)]
        self.settings = {"backend": "eager" if self.exact else None, "dynamic": chance.choice([None, True, False])}
        self.seed = seed

    def arguments(self, call):
        torch.manual_seed(self.seed * 100 + call)
        tensors = []
        for shape, dtype in self.inputs:
            if self.resized and shape:
                shape = (shape[0] * (1 + call % 3), *shape[1:])
            t = (torch.randn(shape) * 2).to(dtype)
            if self.gradient and dtype.is_floating_point:
                t.requires_grad_(call % 4 != 3)
            tensors.append(t)
        if self.alias and call % 2:
            tensors[1] = tensors[0].detach()[...]
        return tensors

    def step(self, known, kind, chosen, k):
        x, y = (known[int(c * len(known))] for c in chosen[:2])

        def pick(functions):
            return functions[int(chosen[2] * len(functions))]

        if kind == "one":
            known.append(pick(ONE)(x))
        elif kind == "view":
            known.append(pick(VIEWS)(x))
        elif kind == "two":
            known.append(pick(TWO)(x, y))
        elif kind == "number":
            known.append(pick(WITH_NUMBER)(x, k))
        elif kind == "write":
            pick(WRITES)(x, y, k)
        elif kind == "branch" and x.float().sum() > 0:
            known.append(x + 1)
        elif kind == "drop" and len(known) > 4:
            del known[int(chosen[0] * len(known))]

    def __call__(self, tensors, n):
        known = list(tensors)
        for kind, chosen, k in self.steps:
            try:
                self.step(known, kind, chosen, float(n) if k == "n" else k)
            except REFUSED as e:
                known.append(torch.tensor(float(len(str(e)))))
        results = [known[int(c * len(known))] for c in self.returned]
        return results + self.gradients(tensors, results)

    def gradients(self, tensors, results):
        loss = sum(t.float().sum() for t in results if t.is_floating_point())
        if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
            return []
        try:
            loss.backward()
        except RuntimeError as e:
            return [torch.tensor(float(len(str(e))))]
        return [x.grad for x in tensors if x.is_leaf and x.grad is not None]


def check_same(a, b, exact):
    assert (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
    a, b = a.detach(), b.detach()
    if exact or not a.is_floating_point():
        assert torch.equal(a.double().nan_to_num(7.0), b.double().nan_to_num(7.0))
    else:
        torch.testing.assert_close(b, a, equal_nan=True, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("block", range(20))
def test_random_functions(block):
    warnings.simplefilter("ignore")
    for seed in range(block * 15, block * 15 + 15):
        program = Program(seed)
        compiled = torch.compile(program, **program.settings)
        for call, n in enumerate([0, 2, 1, 2, 5, 0, 4]):
            ours, theirs = program.arguments(call), program.arguments(call)
            torch.manual_seed(call)
            wanted = program(theirs, n)
            torch.manual_seed(call)
            got = compiled(ours, n)
            assert len(wanted) == len(got)
            for a, b in zip(wanted + theirs, got + ours, strict=True):
                check_same(a, b, program.exact)
