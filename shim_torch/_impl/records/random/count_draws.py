"""Counts drawn at random: Poisson's and the binomial distribution. Their gradients are zero, as PyTorch's."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.draws import drawn_with
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import direct
from shim_torch._impl.table.rules import not_implemented

_SMALL = 30  # up to this mean count, or this number of trials, counts are drawn step by step


def _uniform(like: Any, generator: Any) -> Any:
    return _core.empty_tensor(like.shape, _core.float64, like.device).uniform_(0, 1, generator=generator)


def _gamma(shape: Any, generator: Any) -> Any:
    return aten._standard_gamma(shape, generator)


@direct(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    grad={"self": lambda g: g * 0},
    batching="random",
)
def poisson(self, generator):
    """Counts of Poisson's distribution at the given rates."""
    if not self.is_floating_point():
        raise not_implemented("poisson_cpu", self.dtype)
    if not self.is_cuda:
        return drawn_with("poisson", generator, self.double()).to(self.dtype)
    if not self.is_neg() and (found := _drawn(self.detach(), generator)) is not None:
        return found
    return _counted(self.double(), generator).to(self.dtype)


def _drawn(rate: Any, generator: Any) -> Any:
    """Each count by its own thread, from its own part of the generator's stream; None where there is no kernel."""
    from shim_torch._impl.tensor.generator import chosen

    if bool((rate < 0).any()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    source = chosen(generator, rate.device)
    seed, start = source._take(4 * rate.numel())
    found = _core.cuda_poisson(rate, seed, start)
    if found is None:
        source._offset = start
    return found


def _counted(rate: Any, generator: Any) -> Any:
    """All of them together (Ahrens and Dieter, 1974).

    The m-th event of a process happens at a gamma-distributed time. Either it is before the end, and what is left of the
    time is drawn for in the same way, or the first m - 1 events are spread evenly over it.
    """
    if bool((rate < 0).any()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    total = torch.zeros_like(rate)
    while bool((big := rate > _SMALL).any()):
        events = torch.where(big, (rate * 0.875).floor(), 1)
        time = _gamma(events, generator)
        before = time <= rate
        within = torch.where(big & ~before, events - 1, 0)
        total = total + torch.where(big & before, events, 0) + _binomial(within, rate / time, generator)
        rate = torch.where(big, torch.where(before, rate - time, 0), rate)
    return total + _inverted(rate, _uniform(rate, generator))


def _inverted(rate: Any, u: Any) -> Any:
    """The count whose cumulative probability first exceeds ``u``."""
    term = (-rate).exp()
    below, count = term.clone(), torch.zeros_like(rate)
    for k in range(1, 200):
        more = u > below
        if not bool(more.any()):
            break
        count = count + more.to(count.dtype)
        term = term * rate / k
        below = below + term
    return count


def _binomial(n: Any, p: Any, generator: Any) -> Any:
    """How many of n uniform draws are at most p (Relles, 1972).

    The i-th smallest of them is beta-distributed; where it is at most p, so are i, and the others are spread above it.
    """
    total = torch.zeros_like(n)
    while bool((big := n > _SMALL).any()):
        i = torch.where(big, ((n + 1) / 2).floor(), 1)
        first, second = _gamma(i, generator), _gamma(torch.where(big, n + 1 - i, 1), generator)
        middle = first / (first + second)
        reached = middle <= p
        total = total + torch.where(big & reached, i, 0)
        n = torch.where(big, torch.where(reached, n - i, i - 1), n)
        p = torch.where(big, torch.where(reached, (p - middle) / (1 - middle), p / middle), p)
    for k in range(int(n.max()) if n.numel() else 0):
        total = total + ((_uniform(n, generator) < p) & (n > k))
    return total


@direct("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", method=False,
        grad={"count": lambda g: g * 0, "prob": lambda g: g * 0}, batching="random")  # fmt: skip
def binomial(count, prob, generator):
    """How many of ``count`` trials succeed, each with probability ``prob``."""
    for name, t in (("count", count), ("prob", prob)):
        if not t.is_floating_point():
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {_core.scalar_name(t.dtype)}"
            )
    if not count.is_cuda:
        if count.dtype != prob.dtype:
            raise RuntimeError(
                f"Found dtype {_core.scalar_name(prob.dtype)} but expected {_core.scalar_name(count.dtype)}"
            )
        if count.dtype not in (_core.float32, _core.float64):
            raise not_implemented("binomial_cpu", count.dtype)
        return drawn_with("binomial", generator, *aten.broadcast_tensors([count, prob]))
    n, p = aten.broadcast_tensors([count.double(), prob.double()])
    return _binomial(n.floor(), p, generator).to(count.dtype)
