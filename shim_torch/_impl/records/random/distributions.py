"""Numbers of distributions: exponential, Cauchy, geometric, log-normal, Bernoulli and multinomial."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import check_floating, fill_random
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import (
    accumulation_dtype,
    type_name,
    type_word,
    underived,
)


def _shifted(name: str, f: Any, signature: str, **options: Any) -> None:
    def body(self, *args):
        *settings, generator = args
        if name != "geometric_" and not self.dtype.is_floating_point:  # whole numbers: any dtype holds them
            word = type_word(self.dtype) if name == "cauchy_" else type_name(self.dtype)
            raise RuntimeError(
                f"{name[:-1].capitalize()} distribution is a continuous probability distribution. dtype must be a floating point "
                f"but you specified {word}"
            )
        wide = _core.float64 if not self.is_cuda or self.dtype in (_core.float64, _core.int64) else _core.float32
        if self.is_cuda:
            if self.numel() and _one_draw(self, name[:-1], settings, generator):
                return self
            u = _core.empty_tensor(self.shape, wide, self.device)
        else:
            u = _core.function("aten::empty_like")(self, dtype=wide)
            if name == "cauchy_":
                _CHECKS["cauchy"](*settings)
                return self.copy_(fill_random(u, "cauchy", settings[0], settings[1], generator))
        fill_random(u, "uniform", 0.0, 1.0, generator)
        return self.copy_(f(u, *settings))

    schema = f"{name}(Tensor(a!) self, {signature}, *, Generator? generator=None) -> Tensor(a!)"
    composite(schema, function=False, batching="random", nested="pointwise", **options)(body)


def _one_draw(self: Any, kind: str, settings: Any, generator: Any) -> bool:
    """Fills a CUDA tensor in one kernel, of the stream's numbers that the tensor operations would take; False where it cannot be."""
    from shim_torch._impl.tensor.generator import chosen

    if (
        kind not in _CHECKS
        or not self.is_contiguous()
        or self.is_neg()
        or (self.requires_grad and _core.is_grad_enabled())
    ):
        return False
    _CHECKS[kind](*settings)
    a, b = (*settings, 0.0)[:2]
    source = chosen(generator, self.device)
    seed, start = source._take(2 * self.numel())
    if kind == "geometric":
        a = math.log1p(-a)
    if _core.cuda_draw(self, kind, a, b, seed, start):
        return True
    source._offset = start
    return False


def _exponential(u: Any, lambd: float) -> Any:
    _positive("exponential_", "lambda", lambd)
    least = (
        2.0**-24 if u.dtype == _core.float32 else 2.0**-53
    )  # a draw of zero is the next one: PyTorch's are never zero
    return (1 - u).log().neg_().clamp_(min=least) / lambd


def _cauchy(u: Any, median: float, sigma: float) -> Any:
    _positive("cauchy_", "sigma", sigma)
    return median + sigma * (math.pi * (u - 0.5)).tan()


def _positive(name: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{name} expects {parameter} > 0.0, but found {parameter}={value:g}")


def _open_chance(p: float) -> None:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")


_CHECKS: dict[str, Any] = {
    "exponential": lambda lambd: _positive("exponential_", "lambda", lambd),
    "cauchy": lambda median, sigma: _positive("cauchy_", "sigma", sigma),
    "geometric": _open_chance,
    "chance": lambda p: None,
}


def _geometric(u: Any, p: float) -> Any:
    _open_chance(p)
    return ((u if u.device.type == "cpu" else 1 - u).log() / math.log1p(-p)).ceil().clamp(min=1)


_shifted("exponential_", _exponential, "float lambd=1", native="draw_exponential")
_shifted("cauchy_", _cauchy, "float median=0, float sigma=1")
_shifted("geometric_", _geometric, "float p", refuses=(("bc", "geometric_cpu"),))


@composite(
    "log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    batching="random",
    nested="pointwise",
    refuses=(("c", "log_normal_cpu"),),
)
def log_normal_(self, mean, std, generator):
    """In place: e to the power of normal draws of ``mean`` and ``std``; RuntimeError unless ``std`` is above 0."""
    check_floating(self, "log_normal_cpu")
    _positive("log_normal_", "std", std)
    if self.device.type != "cpu":
        return fill_random(self, "log_normal", mean, std, generator)
    wide = _core.function("aten::empty_like")(self, dtype=_core.float64)
    return self.copy_(fill_random(wide, "log_normal", mean, std, generator))


def _chances(like: Any, dtype: Any, generator: Any) -> Any:
    """Uniform draws from [0, 1), as many as ``like`` has elements."""
    return fill_random(_core.empty_tensor(like.shape, dtype, like.device), "uniform", 0.0, 1.0, generator)


@direct(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    grad={"self": lambda g: g * 0},
    native="bernoulli",
    batching="random",
    nested="pointwise",
)
def bernoulli(self, generator):
    """1 with the chance that the element gives, or with the chance ``p``, else 0; in the dtype of ``self``.

    Dtypes:  floating, where ``self`` holds the chances (NotImplementedError); with ``p`` any
    Errors:  RuntimeError for chances outside [0, 1] (tensors on CUDA are not looked at)
    Grad:    zeros
    """
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{type_name(self.dtype)}'")
    if self.device.type == "cpu" and not bool(((self >= 0) & (self <= 1)).all()):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return (_chances(self, accumulation_dtype(self.dtype), generator) < self).to(self.dtype)


@direct(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    gradient_name="torch::autograd::NotImplemented",
    grad={"self": underived("bernoulli")},
    batching="random",
    nested="pointwise",
)
def bernoulli_p(self, p, generator):
    """1 with the chance ``p``, else 0, in a new tensor like ``self``."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return torch.empty_like(self, memory_format=_core.contiguous_format).bernoulli_(p, generator=generator)


@composite(
    "bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    method=False,
    batching="random",
    nested="pointwise",
)
def bernoulli_out(self, generator, out):
    """``bernoulli(self)`` in ``out``, which is resized to it; RuntimeError where a gradient is wanted."""
    if _core.is_grad_enabled() and (self.requires_grad or out.requires_grad):
        raise RuntimeError(
            "bernoulli(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    return out.resize_(self.shape).copy_(bernoulli(self, generator))


@composite(
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    batching="random",
    nested="pointwise",
)
def bernoulli_tensor(self, p, generator):
    """In place: 1 with the chance that the element of ``p`` gives, else 0; ``p`` is broadcast to ``self``."""
    wide = self.device.type == "cpu" and p.dtype == _core.float64
    return self.copy_(_chances(self, _core.float64 if wide else _core.float32, generator) < p)


@composite(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_chance",
    batching="random",
    nested="pointwise",
)
def bernoulli_float(self, p, generator):
    """In place: 1 with the chance ``p``, else 0; RuntimeError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if self.device.type == "cpu":
        return fill_random(self, "chance", p, 0.0, generator)
    if self.is_cuda and self.numel() and _one_draw(self, "chance", (p,), generator):
        return self
    return self.copy_(_chances(self, _core.float32, generator) < p)


def _check_chances(p: Any) -> None:
    """Of a CUDA tensor with elements, asking the GPU once."""
    least, most, sums = p.amin(), p.amax(), p.sum(-1).amin()
    least, most, total = torch.stack([least, most, sums.to(p.dtype)]).tolist()
    if not (least >= 0 and most < math.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not total > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


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
    checked_at_once = self.is_cuda and self.numel()
    if checked_at_once:
        _check_chances(self)
    elif not bool(((self >= 0) & self.isfinite()).all()):
        if not replacement or self.device.type != "cpu":
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        fault = "entry < 0" if not bool((self >= 0).all()) else "entry = infinity or NaN"
        raise RuntimeError(f"invalid multinomial distribution (encountering probability {fault})")
    p = self if self.dim() == 2 else self.unsqueeze(0)
    if not checked_at_once and not bool((p.sum(-1) > 0).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples > 1:
        edges = p.double().cumsum(-1)
        u = fill_random(
            _core.empty_tensor((p.size(0), num_samples), _core.float64, self.device), "uniform", 0.0, 1.0, generator
        )
        if self.is_cuda:
            found = torch.searchsorted(edges, u * edges[:, -1:], right=True).clamp(max=p.size(-1) - 1)
        else:
            found = (edges.unsqueeze(1) <= (u * edges[:, -1:]).unsqueeze(-1)).sum(-1).clamp(max=p.size(-1) - 1)
    else:  # exponential races: the greatest p/E are a sample without replacement
        e = _core.empty_tensor(p.shape, p.dtype, self.device).exponential_(generator=generator)
        found = (p / e).argmax(-1, keepdim=True) if num_samples == 1 else (p / e).topk(num_samples, -1)[1]
    return found if self.dim() == 2 else found.squeeze(0)
