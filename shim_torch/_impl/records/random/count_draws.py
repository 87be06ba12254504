"""Counts drawn at random: Poisson's and the binomial distribution, whose gradients are zero, as PyTorch's; and places by weights."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.draws import drawn_with
from shim_torch._impl.records.shared.random_fill import fill_random
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import not_implemented, type_name

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


def _check_chances(p: Any) -> None:
    """Of a CUDA tensor with elements, asking the GPU once."""
    least, most, sums = p.amin(), p.amax(), p.sum(-1).amin()
    least, most, total = torch.stack([least, most, sums.to(p.dtype)]).tolist()
    _refuse(bad_weight=not (least >= 0 and most < math.inf), bad_sum=not total > 0)


def _places(p: Any, draws: int, replacement: bool, generator: Any) -> Any:
    """On CUDA in one kernel, of rows that a block holds; None for longer ones."""
    from shim_torch._impl.tensor.generator import chosen

    source = chosen(generator, p.device)
    if replacement and draws > 1:  # the kernel asserts, as PyTorch's does; what follows waits for what it found
        if p.size(1) > 4096:
            return None
        return shim.multinomial_many(p, draws, *source._take(2 * p.size(0) * draws))
    if draws > 1 or p.size(1) > 1 << 17:
        _refuse_faults(int(shim.multinomial_faults(p)))
        return _races(p, draws, generator)
    before = source._offset
    found, faults = shim.multinomial_one(p, *source._take(2 * p.numel()))
    faults = int(faults)
    if faults:
        source._offset = before
    _refuse_faults(faults)
    return found


def _races(p: Any, draws: int, generator: Any) -> Any:
    """Exponential races: the greatest p/E are a sample without replacement."""
    e = _core.empty_tensor(p.shape, p.dtype, p.device).exponential_(generator=generator)
    return (p / e).argmax(-1, keepdim=True) if draws == 1 else (p / e).topk(draws, -1)[1]


def _refuse(bad_weight: bool, bad_sum: bool) -> None:
    if bad_weight:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bad_sum:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _refuse_faults(faults: int) -> None:
    """What the kernels found: bit 0, a weight that is none; any other, a row that adds up to nothing."""
    _refuse(bad_weight=bool(faults & 1), bad_sum=bool(faults))


@composite(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    out=True,
    never_differentiable=True,
    batching="random",
    out_dtype="multinomial expects Long tensor out, got: {O}",
    out_resize="silent",
)
def multinomial(self, num_samples, replacement, generator):
    """Places drawn from rows of weights, which need not add up to 1: each with a chance proportional to its weight.

    Shapes:  (K,) -> (num_samples,), (N, K) -> (N, num_samples); K is at most 2**24
    Dtypes:  floating -> int64
    Errors:  RuntimeError for weights that are negative, infinite or NaN, for rows that add up to 0, and for more
             samples than places without ``replacement``
    """
    if self.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not self.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {type_name(self.dtype)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self.size(-1):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if self.size(-1) > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if self.is_meta:
        return _core.empty_tensor((*self.shape[:-1], num_samples), dtype=_core.int64, device=self.device)
    if self.numel() and _core.unseen_on_cuda(self):
        found = _places(
            self.detach() if self.dim() == 2 else self.detach().unsqueeze(0), num_samples, replacement, generator
        )
        if found is not None:
            return found if self.dim() == 2 else found.squeeze(0)
    checked_at_once = self.is_cuda and self.numel()
    if checked_at_once:
        _check_chances(self)
    elif not bool(((self >= 0) & self.isfinite()).all()):
        if not replacement or self.device.type != "cpu":
            _refuse(bad_weight=True, bad_sum=False)
        fault = "entry < 0" if not bool((self >= 0).all()) else "entry = infinity or NaN"
        raise RuntimeError(f"invalid multinomial distribution (encountering probability {fault})")
    p = self if self.dim() == 2 else self.unsqueeze(0)
    if not checked_at_once:
        _refuse(bad_weight=False, bad_sum=not bool((p.sum(-1) > 0).all()))
    if replacement and num_samples > 1:
        edges = p.double().cumsum(-1)
        u = fill_random(
            _core.empty_tensor((p.size(0), num_samples), _core.float64, self.device), "uniform", 0.0, 1.0, generator
        )
        if self.is_cuda:
            found = torch.searchsorted(edges, u * edges[:, -1:], right=True).clamp(max=p.size(-1) - 1)
        else:
            found = (edges.unsqueeze(1) <= (u * edges[:, -1:]).unsqueeze(-1)).sum(-1).clamp(max=p.size(-1) - 1)
    else:
        found = _races(p, num_samples, generator)
    return found if self.dim() == 2 else found.squeeze(0)
