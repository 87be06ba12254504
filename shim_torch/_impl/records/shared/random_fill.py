"""Filling tensors with random numbers: on the CPU those that PyTorch draws from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_range import checked
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.rules import WIDE, not_implemented


def fill_random(self: Any, kind: str, a: Any, b: Any, generator: Any) -> Any:
    """Fills ``self`` in place: see ``_core.cpu_draw`` for the kinds, of which CUDA has uniform, normal, log_normal and integer."""
    from shim_torch._impl.tensor.generator import chosen

    if self.is_meta or self.numel() == 0:
        return self
    source = chosen(generator, self.device)
    if not self.is_cuda:
        return _draw_cpu(self, kind, a, b, source)
    seed, start = source._take(2 * self.numel())
    direct = self.is_contiguous() and not self.is_neg() and not (self.requires_grad and _core.is_grad_enabled())
    filled = self if direct else _core.empty_tensor(self.shape, self.dtype, self.device)
    if _core.cuda_draw(filled, kind, a, b, seed, start + ((1 << 40) if kind.endswith("normal") else 0)):
        return self if direct else self.copy_(filled)
    if kind == "log_normal":
        return self.copy_(
            _drawn(_core.empty_tensor(self.shape, self.dtype, self.device), "normal", a, b, seed, start).exp_()
        )
    template = self
    if kind != "integer" and self.dtype not in WIDE:
        template = _core.empty_tensor(self.shape, _core.float32, self.device)
    elif kind == "integer" and self.dtype.is_floating_point:
        template = _core.empty_tensor(self.shape, _core.int64, self.device)
    elif not self.is_contiguous():
        template = _core.empty_tensor(self.shape, self.dtype, self.device)
    return self.copy_(_drawn(template, kind, a, b, seed, start))


def _drawn(template: Any, kind: str, a: Any, b: Any, seed: int, start: int) -> Any:
    with no_grad():
        return aten._random_bits(template, kind, a, b, seed, start)


_WHOLE = ("integer", "word")


def _draw_cpu(self: Any, kind: str, a: Any, b: Any, source: Any) -> Any:
    """In the order of memory, as PyTorch's kernels go through it."""
    if kind == "normal" and (self.numel() < 16 or not self.is_contiguous()):
        kind = "single"
    held = _core.int64 if kind in _WHOLE else self.dtype if self.dtype in WIDE else _core.float32
    if kind == "normal" and self.dtype != held and self.numel() % 16:
        return self.copy_(_normal_blocks(self, a, b, source))
    if not _core.unseen(self):
        from shim_torch._impl.tensor.generator import number_of

        like = _core.function("aten::empty")(self.shape, dtype=held, device=self.device)
        return self.copy_(_drawn(like, kind, a, b, number_of(source), 0))
    if (
        self.is_contiguous()
        and (self.dtype == held or (kind == "chance" and self.dtype == _core.bool))
        and not self.is_neg()
        and not (self.requires_grad and _core.is_grad_enabled())
    ):
        _core.cpu_draw(self, kind, a, b, source._engine)
        return self
    order = sorted(range(self.dim()), key=lambda d: -self.stride(d)) if not self.is_contiguous() else None
    drawn = _core.empty_tensor(self.shape if order is None else [self.size(d) for d in order], held, self.device)
    _core.cpu_draw(drawn, kind, a, b, source._engine)
    if kind == "uniform" and self.dtype != held:  # of few digits: what is rounded up to the end begins again
        drawn = drawn.to(self.dtype)
        drawn.masked_fill_(drawn >= b, a)
    if order is not None:
        drawn = drawn.permute([order.index(d) for d in range(self.dim())])
    return self.copy_(drawn)


def _normal_blocks(self: Any, mean: Any, std: Any, source: Any) -> Any:
    """Normal numbers for a tensor of a narrow dtype: a whole last block is drawn, which lies over the one before it."""
    n = self.numel()
    whole = _core.function("aten::empty")((-n // 16 * -16,), dtype=_core.float32, device=self.device)
    whole = _draw_cpu(whole, "normal", mean, std, source)
    return _core.function("aten::cat")([whole[: n - 16], whole[-16:]]).view(self.shape)


def fill_parts(self: Any, fill: Any) -> None:
    """Fills a complex tensor's real and imaginary parts, which memory does not hold as they are where it is a conjugate."""
    plain = _core.empty_tensor(self.shape, self.dtype, self.device) if self.is_conj() else self
    fill(_core.view_as_real(plain))
    if plain is not self:
        self.copy_(plain)


def check_floating(self: Any, name: str) -> None:
    """NotImplementedError, with the kernel's name, for dtypes that hold no fractions."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise NotImplementedError(f"\"{name}\" not implemented for '{_core.scalar_name(self.dtype)}'")


def fill_integers(self: Any, low: int, high: int, generator: Any) -> Any:
    """Fills ``self`` in place with integers from ``low`` up to ``high``, which its dtype must hold."""
    low, high = checked(self.dtype, low, high)
    return fill_whole(self, "integer", low, high, generator)


_DRAWN = (
    *(_core.int64, _core.int32, _core.int16, _core.int8, _core.uint8),
    *(_core.float64, _core.float32, _core.float16, _core.bfloat16),
)


def fill_whole(self: Any, kind: str, low: int, high: int, generator: Any) -> Any:
    """Fills ``self`` in place with whole numbers, by way of int64 where CUDA's kernel does not draw its dtype."""
    if not self.is_cuda or self.dtype in _DRAWN:
        return fill_random(self, kind, low, high, generator)
    whole = _core.empty_tensor(self.shape, _core.int64, self.device)
    fill_random(whole, kind, low, high, generator)
    return self.copy_(whole)


def rrelu_slopes(self: Any, lower: float, upper: float, generator: Any) -> Any:
    """What rrelu multiplies by: 1 where positive, elsewhere a draw of [lower, upper]."""
    if _core.unseen(self):  # PyTorch's kernel draws for the values that need a slope, and no others
        falls = self <= 0
        drawn = _core.empty_tensor((int(falls.sum()),), _core.float64, self.device)
        low, high = (x if self.dtype is _core.float64 else float(np.float32(x)) for x in (lower, upper))
        drawn.uniform_(generator=generator).mul_(high - low).add_(low)  # rounded twice, where uniform_ rounds once
        return torch.ones_like(self).masked_scatter_(falls, drawn.to(self.dtype))
    slope = _core.empty_tensor(self.shape, _core.float32, self.device).uniform_(lower, upper, generator=generator)
    return slope.to(self.dtype).masked_fill(self > 0, 1.0)


def drops(input: Any, p: float, train: bool) -> bool:
    """Whether a dropout changes anything. RuntimeError for a chance ``p`` outside [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    return train and p != 0 and input.numel() != 0


def dropout_mask(input: Any, p: float) -> Any:
    """1 / (1 - p) where a value is kept, else 0; drawn in the order of the input's memory."""
    if input.is_complex():
        raise not_implemented("bernoulli_scalar_cpu_", input.dtype)
    keep = _core.function("aten::empty_like")(input, dtype=_core.bool).bernoulli_(1 - p)
    return keep.to(input.dtype).mul_(1 / (1 - p))
