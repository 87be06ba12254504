"""Numbers of distributions: exponential, Cauchy, geometric, log-normal and Bernoulli."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import check_floating, fill_random
from shim_torch._impl.table.calls import shim, torch
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
    if self.numel() and _core.unseen_on_cuda(self):
        from shim_torch._impl.tensor.generator import chosen

        return shim.bernoulli(self, *chosen(generator, self.device)._take(2 * self.numel()))
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
