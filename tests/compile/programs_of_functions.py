"""Programs of test_model_programs.py: indices, containers, transforms, aliases, operators of libraries, values that decide."""

from __future__ import annotations

import collections
import functools

from programs_of_layers import CASES as CASES
from programs_of_models import case, filled, gradients, x_of

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


@case
def index_assignment():
    def f(x, idx, mask):
        x = x.clone()
        y = x * 2
        y[idx] = 5.0
        y[idx, 1] += 1
        y[mask] = 0
        y[..., -1] = y[..., 0]
        y[[0, 2]] *= 3
        z = torch.zeros(4, 4).scatter_(0, idx[:, None].expand(2, 4), x[:2])
        z.index_add_(0, idx, x[1:3], alpha=2)
        z.index_put_((idx, idx), torch.ones(2), accumulate=True)
        w = z.gather(1, z.argsort(1, descending=True))
        y.masked_scatter_(mask, torch.arange(12.0))
        y.diagonal().fill_(9)
        y[0], y[1] = y[1].clone(), y[0].clone()
        read = [
            x[mask],
            torch.take_along_dim(x, x.argmax(1, keepdim=True), 1),
            x.index_select(0, idx),
            x[idx.flip(0), 1:],
        ]
        return y, z, w, read, torch.where(mask)[0], torch.scatter_reduce(x, 0, (x > 0).long(), x, "amax"), x[mask[:, 0]]

    def arguments(i):
        x = x_of(start=i * 0.5)
        return x, torch.tensor([i % 3, (i + 1) % 3]), x > 0.1

    return f, arguments


Pair = collections.namedtuple("Pair", "a b")


@case
def containers():
    def f(batch, extra, *rest, scale=1.0, **named):
        out = {k: v * scale for k, v in batch.items()}
        extra.append(out["a"].sum())
        first, *others = rest
        out["pair"] = Pair(first + sum(extra), [o.relu() for o in others])
        total = functools.reduce(torch.add, [t.sum() for t in rest], torch.zeros(()))
        rows = collections.defaultdict(list)
        for i, row in enumerate(out["a"]):
            rows[i % 2].append(row)
        both = {k: torch.stack(v) for k, v in rows.items()}
        return [out["a"], out["b"], out["pair"].a, *out["pair"].b, total, both[0], both[1], *extra]

    def arguments(i):
        return {"a": x_of(start=i), "b": x_of(2)}, [torch.ones(())] * (i % 3), x_of(), x_of(2, start=i)

    return f, arguments


@case
def generators_and_errors():
    def parts(x):
        for i in range(3):
            y = x * i
            if i == 2 and float(y.sum()) > 3:
                raise ValueError("too large")
            yield y + 1

    def f(x, w):
        got = []
        try:
            for p in parts(x):
                got.append(p)
        except ValueError as e:
            got.append(torch.full((1,), float(len(str(e)))))
        try:
            got.append(x @ w)
        except RuntimeError:
            got.append(x @ w.t())
        try:
            got.append(x[5])
        except IndexError:
            got.append(x[0] - 1)
        finally:
            x.add_(1)
        twice = (g * 2 for g in got)
        return [next(twice), *twice]

    return f, lambda i: (x_of(start=i) + (i % 3), x_of(2, 4) if i % 2 else x_of(4, 2))


@case
def compiled_under_transforms():
    inner = torch.compile(lambda x, y: ((x * y).tanh() + x).sum(-1))
    layer = filled(nn.Linear(4, 4))
    block = torch.compile(lambda x: F.gelu(layer(x)))

    def f(x):
        func = torch.func
        each = func.vmap(inner)(x, x + 1)
        slope, value = func.grad_and_value(lambda t: inner(t, t).sum())(x)
        rows, all_rows = func.vmap(func.grad(lambda r: (r**3).sum()))(x), func.jacrev(lambda t: inner(t, x))(x)
        forward = func.jvp(lambda t: inner(t, x), (x,), (torch.ones_like(x),))
        z = x.clone().requires_grad_()
        torch.utils.checkpoint.checkpoint(block, z, use_reentrant=False).sum().backward()
        other = func.functional_call(layer, {"weight": layer.weight * 2, "bias": layer.bias}, (x,))
        second = func.hessian(lambda t: inner(t, t).sum())(x[0])
        return each, slope, value, rows, all_rows, forward, z.grad, other, gradients(layer), second

    return f, lambda i: (x_of(start=i),)


@case
def arguments_and_results_that_share_memory():
    def f(x, y):
        v = x[1:]
        x.mul_(2)
        y[0] = x[0]
        d = x.detach()
        w = y.reshape(-1)
        x.t().add_(1)
        return x, v, d, w, y.T, x.expand(2, *x.shape), w[::2], y.unbind(0), x.data_ptr() == d.data_ptr()

    def arguments(i):
        base = x_of(4, 4, start=i)
        return [(base, base), (base, base.clone()), (base, base.t()), (base, base.flip(0))][i % 4]

    return f, arguments


_library = torch.library.Library("programs_of_functions", "DEF")
_library.define("scaled_sum(Tensor x, Tensor y, float scale) -> Tensor")
_library.define("count_(Tensor(a!) state, Tensor x) -> Tensor")
_library.impl("scaled_sum", lambda x, y, scale: (x + y) * scale, "CompositeExplicitAutograd")
_library.impl("count_", lambda state, x: x * state.add_(1), "CompositeExplicitAutograd")
torch.library.register_autograd(
    "programs_of_functions::scaled_sum",
    lambda ctx, g: (g * ctx.scale, g * ctx.scale, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "scale", inputs[2]),
)


@case
def operators_of_a_library():
    state = torch.zeros(1)
    operators = torch.ops.programs_of_functions

    def f(x):
        z = x.clone().requires_grad_()
        y = operators.scaled_sum(z * 2, x, 1.5) + 1
        w = operators.count_(state, y.detach() * 2) + state
        y.sum().backward()
        state.mul_(0.5)
        return y, w, z.grad, state.clone()

    return f, lambda i: (x_of(start=i),)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, k):
        ctx.save_for_backward(x, w)
        ctx.k = k
        where = (x > 0).long()
        ctx.mark_non_differentiable(where)
        return x.clone().mul_(w) * k, where

    @staticmethod
    def backward(ctx, g, _):
        x, w = ctx.saved_tensors
        return g * w * ctx.k, (g * x * ctx.k).sum(0), None


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@case
def functions_with_gradients_of_their_own():
    w = torch.ones(4, requires_grad=True)

    def f(x, k):
        z = x.clone().requires_grad_()
        y, where = Scaled.apply(z, w, k)
        u = Exponential.apply(z * 2)
        (g,) = torch.autograd.grad((y * u).sum(), z, create_graph=True)
        (gg,) = torch.autograd.grad(g.square().sum(), w, retain_graph=True)
        (y.sum() + u.sum()).backward()
        slope, w.grad = w.grad, None
        return y, where, g, gg, z.grad, slope

    return f, lambda i: (x_of(start=i), 1.0 + i % 2)


@case
def values_that_decide():
    def f(x):
        positive = x[x > 0]
        n = int((x > 0.5).sum())
        y = torch.zeros(n + 1) + positive.sum()
        k = 0
        while x.abs().max() > 0.3:
            x = x * 0.7
            k += 1
        u, c = torch.unique((x * 10).round(), return_counts=True)
        row = torch.tensor(x[0].tolist()) + 1
        classes = F.one_hot((x[0] * 10).long().abs())
        repeated = torch.repeat_interleave(torch.arange(2), torch.tensor([n, 2]))
        return y, x, k, u, c, (x > 0).nonzero(), row, bool(x.any()), f"{x.sum():.3f}", classes, repeated

    return f, lambda i: (x_of(start=i) * (1 + i % 3),)


@case
def numbers_and_shapes():
    def f(x, n, s):
        b, d = x.shape
        y = x.view(b, -1, 2) * (n / d) + len(x)
        y = y.permute(2, 0, 1).contiguous() if s == "a" else y.transpose(0, 1)
        z = torch.arange(n, n + b) * 2 + torch.tensor(n)
        e = torch.einsum("bi,bj->ij", x, x)
        t = torch.linalg.solve(e + torch.eye(d) * (d + n), torch.ones(d))
        q = x.cumsum(1).clamp(min=-n, max=n).round(decimals=1)
        p = x.pow(n) + n ** x.abs() + (x // 0.3) + x % n
        o = F.one_hot(z % 5, 5).float() @ torch.ones(5, n)
        r = x.std(0, unbiased=False), x.norm(p=n), x.max(1), x.median(0).values, x.kthvalue(1, dim=1).values
        turned = torch.complex(x, x).conj().angle(), torch.complex(x, x).conj().imag
        return y, z, e, t, torch.fft.rfft(x, n=d * 2).abs(), q, p, o, r, x.new_zeros(n).add(1), x.roll(n, 1), turned

    return f, lambda i: (x_of(3 if i % 3 else 2, 4, start=i), 2 + i % 3, "ab"[i % 2])


@case
def losses_of_several_calls():
    layer = filled(nn.Linear(4, 2))
    kept = []

    def f(x):
        kept.append(-layer(x).log_softmax(-1)[:, 0].mean())
        if len(kept) < 4:
            return kept[-1].detach()
        torch.stack(kept).sum().backward()
        kept.clear()
        return gradients(layer)

    return f, lambda i: (x_of(start=i),)


@case
def memory_that_is_given():
    buffer = torch.empty(3, 4)

    def f(x):
        torch.add(x, 1, out=buffer)
        y = buffer * 2
        torch.mul(buffer, 2, out=buffer)
        z, w = torch.cat([x, x], out=torch.empty(6, 4)), torch.empty(0)
        torch.sub(x, 1, out=w)
        v, u = torch.empty(2, 2).resize_(3, 4).copy_(x), x.clone()
        u.data = x * 3
        q = x.clone().swapaxes_(0, 1)
        q.unsqueeze_(0).squeeze_(0)
        return buffer, y, z, w, v, u, x.clone().set_(x + 1), q, x.is_contiguous(), q.stride()

    return f, lambda i: (x_of(start=i),)
