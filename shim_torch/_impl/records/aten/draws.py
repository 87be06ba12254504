"""Draws like another tensor, and ranges."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import rrelu_slopes
from shim_torch._impl.table.aten_declare import aten
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch

DRAWS = True  # random numbers (compile/deferral.py)


def _made_as(x: Any, dtype: Any, device: Any, memory_format: Any) -> Any:
    return torch.empty_like(x, dtype=dtype, device=device, memory_format=memory_format or _core.preserve_format)


@aten("rand_like.generator")
def rand_like(self, generator, dtype, layout, device, pin_memory, memory_format):
    """Uniform draws from [0, 1) by a generator, in the shape of a tensor."""
    return _made_as(self, dtype, device, memory_format).uniform_(0, 1, generator=generator)


@aten("randn_like.generator")
def randn_like(self, generator, dtype, layout, device, pin_memory, memory_format):
    """Draws from the standard normal distribution by a generator, in the shape of a tensor."""
    return _made_as(self, dtype, device, memory_format).normal_(0, 1, generator=generator)


@aten("randint_like.generator")
def randint_like(self, high, generator, dtype, layout, device, pin_memory, memory_format):
    """Whole numbers drawn from [0, ``high``) by a generator, in the shape of a tensor."""
    return _made_as(self, dtype, device, memory_format).random_(0, int(high), generator=generator)


@aten("randint_like.Tensor")
def randint_like_tensor(self, high, dtype, layout, device, pin_memory, memory_format):
    """The same with ``high`` as a tensor of one element, by the default generator."""
    return randint_like(self, int(high.item()), None, dtype, layout, device, pin_memory, memory_format)


@aten("randint_like.Tensor_generator")
def randint_like_tensor_generator(self, high, generator, dtype, layout, device, pin_memory, memory_format):
    """The same with ``high`` as a tensor of one element."""
    return randint_like(self, int(high.item()), generator, dtype, layout, device, pin_memory, memory_format)


@aten("randint_like.low_generator_dtype")
def randint_like_low(self, low, high, generator, dtype, layout, device, pin_memory, memory_format):
    """Whole numbers drawn from [``low``, ``high``) by a generator, in the shape of a tensor."""
    return _made_as(self, dtype, device, memory_format).random_(low, high, generator=generator)


@aten("normal_functional")
def normal_functional(self, mean, std, generator):
    """Draws from a normal distribution in a new tensor of the input's shape and dtype."""
    return torch.empty_like(self).normal_(mean, std, generator=generator)


@aten("normal.out")
def normal_out(self, mean, std, generator, out):
    """Draws from a normal distribution in the input's shape, written to ``out``."""
    drawn = torch.empty_like(self).normal_(mean, std, generator=generator)
    return ops._resize_output_(out, drawn.shape, drawn.device).copy_(drawn)


@aten("range")
def range_(start, end, dtype, layout, device, pin_memory):
    """``start``, start + 1, ... up to and including ``end``."""
    return ops.range.step(start, end, 1, dtype=dtype, device=device)


@aten("_fused_dropout")
def _fused_dropout(self, p, generator):
    """p: the share that stays; the values scaled, and the mask of bytes."""
    mask = torch.empty_like(self).bernoulli_(p, generator=generator)
    return self * mask / p, mask.to(_core.uint8)


@aten("rrelu_with_noise_")
def rrelu_with_noise_(self, noise, lower, upper, training, generator):
    """``rrelu_with_noise``, in place."""
    return self.copy_(rrelu_with_noise(self, noise, lower, upper, training, generator))


@aten("rrelu_with_noise")
def rrelu_with_noise(self, noise, lower, upper, training, generator):
    """Negative values times a draw of [lower, upper], which the noise keeps (1 for the others); the mean where not training."""
    if not training:
        return torch.leaky_relu(self, (float(lower) + float(upper)) / 2)
    with no_grad():
        noise.copy_(rrelu_slopes(self, float(lower), float(upper), generator))
    return self * noise.clone()


@aten("_dim_arange", public=True)
def _dim_arange(like, dim):
    return torch.arange(like.shape[dim], dtype=_core.int64, device=like.device)
