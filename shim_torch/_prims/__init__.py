"""``torch._prims``: PyTorch's primitive operators, on the operators of this package.

Prims promote nothing and broadcast nothing; given what a prim accepts, the operator of the same meaning gives its values.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import cache
from typing import Any

import shim_torch as torch
from shim_torch import _prims_common as utils
from shim_torch._impl import data

# Names that differ from those of the operators.
_RENAMED = {
    "bessel_i0": "special.i0",
    "bessel_i0e": "special.i0e",
    "bessel_i1": "special.i1",
    "bessel_i1e": "special.i1e",
    "bessel_j0": "special.bessel_j0",
    "bessel_j1": "special.bessel_j1",
    "erf_inv": "erfinv",
    "erfcx": "special.erfcx",
    "ndtri": "special.ndtri",
    "spherical_bessel_j0": "special.spherical_bessel_j0",
    "zeta": "special.zeta",
    "shift_left": "bitwise_left_shift",
    "shift_right_arithmetic": "bitwise_right_shift",
    "rev": "flip",
}


def cbrt(a: Any) -> Any:
    """The real cube root."""
    return a.sign() * a.abs() ** (1 / 3)


def div(a: Any, b: Any) -> Any:
    """The quotient; of integers, rounded towards zero."""
    integral = utils.is_integer_dtype(a.dtype) or utils.is_boolean_dtype(a.dtype)
    return torch.div(a, b, rounding_mode="trunc" if integral else None)


def fill(a: Any, value: Any) -> Any:
    """A tensor like ``a`` full of ``value``."""
    return torch.full_like(a, value)


def cat(tensors: Sequence[Any], dim: int) -> Any:
    """The tensors joined along ``dim``."""
    return torch.cat(list(tensors), dim)


def broadcast_in_dim(a: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """A view of ``shape`` whose dim ``broadcast_dimensions[i]`` is dim ``i`` of ``a``; the others are new."""
    sizes = [1] * len(shape)
    for size, dim in zip(a.shape, broadcast_dimensions, strict=True):
        sizes[dim] = size
    return a.reshape(sizes).expand(tuple(shape))


def collapse_view(a: Any, start: int, end: int) -> Any:
    """A view with the dims ``start`` to ``end`` (included) folded into one."""
    return a.view(*a.shape[:start], -1, *a.shape[end + 1 :]) if a.dim() else a.view(1)


def collapse(a: Any, start: int, end: int) -> Any:
    """A contiguous copy of ``a`` whose dims from ``start`` to ``end`` are one."""
    return collapse_view(a.contiguous(), start, end).clone()


def split_dim(a: Any, dim: int, outer_length: int) -> Any:
    """Dim ``dim`` as two, the first of ``outer_length``."""
    return a.unflatten(dim, (outer_length, -1))


def expand_dims(a: Any, dimensions: Sequence[int], ndim: int | None = None) -> Any:
    """``a`` with new dims of size 1 at ``dimensions``."""
    for dim in sorted(utils.canonicalize_dims(ndim or a.dim() + len(dimensions), tuple(dimensions))):
        a = a.unsqueeze(dim)
    return a


def slice(
    a: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """A view of ``a`` from ``start_indices`` to ``limit_indices``, a step a dim."""
    steps = strides or [1] * a.dim()
    return a[tuple(builtins.slice(*t) for t in zip(start_indices, limit_indices, steps, strict=True))]


def transpose(a: Any, permutation: Sequence[int]) -> Any:
    """The dims in the order of ``permutation``."""
    return a.permute(*permutation)


def view_of(a: Any) -> Any:
    """A view of all of ``a``."""
    return a.view_as(a)


def view_element_type(a: Any, dtype: Any) -> Any:
    """The bytes of ``a`` read as ``dtype``."""
    return a.view(dtype)


def convert_element_type(a: Any, dtype: Any) -> Any:
    """A copy of ``a`` cast to ``dtype``."""
    return a.to(dtype, copy=True)


def device_put(a: Any, device: Any, non_blocking: bool = False) -> Any:
    """A copy of ``a`` on ``device``."""
    return a.to(device, non_blocking=non_blocking, copy=True)


def item(a: Any) -> Any:
    """The one element of ``a`` as a Python number."""
    return a.item()


def copy_to(a: Any, b: Any) -> Any:
    """Writes ``b`` into ``a``; gives ``a``."""
    return a.copy_(b)


def copy_strided(a: Any, stride: Sequence[int]) -> Any:
    """A copy of ``a`` with the given strides."""
    return torch.empty_strided(a.shape, tuple(stride), dtype=a.dtype, device=a.device).copy_(a)


def resize(a: Any, shape: Sequence[int]) -> Any:
    """Resizes ``a`` in place."""
    return a.resize_(tuple(shape))


def maximum_value(dtype: Any) -> Any:
    """The largest value of ``dtype``: infinity of floating ones."""
    return True if dtype is torch.bool else torch.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def minimum_value(dtype: Any) -> Any:
    """The least value of ``dtype``: minus infinity for floats, False for bool."""
    return False if dtype is torch.bool else -torch.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _reduction(name: str) -> Any:
    def function(inp: Any, dims: Sequence[int] | None, *, output_dtype: Any = None) -> Any:
        over = tuple(range(inp.dim())) if dims is None else tuple(dims)
        if name == "prod":
            result = inp
            for dim in sorted(over, reverse=True):
                result = result.prod(dim, dtype=inp.dtype)
        else:
            # Of no dims, sum would take all.
            result = (
                getattr(torch, name)(inp, over, **({"dtype": inp.dtype} if name == "sum" else {}))
                if over
                else inp.clone()
            )
        return result if output_dtype is None else result.to(output_dtype)

    function.__name__ = function.__qualname__ = name
    return function


amax, amin, prod, sum = (_reduction(n) for n in ("amax", "amin", "prod", "sum"))


def var(inp: Any, dims: Sequence[int] | None, correction: float | None = 1, *, output_dtype: Any = None) -> Any:
    """The variance over ``dims``: squared deviations divided by the count less ``correction``."""
    result = torch.var(inp, None if dims is None else tuple(dims), correction=correction)
    return result if output_dtype is None else result.to(output_dtype)


def iota(length: int, *, start: int, step: int, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """``length`` integers from ``start`` by ``step``."""
    values = torch.arange(length, dtype=dtype, device=device) * step + start
    return values.to(dtype).requires_grad_(requires_grad)


def empty_strided(shape: Sequence[int], strides: Sequence[int], *, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """An uninitialised tensor of a shape and strides (in elements)."""
    return torch.empty_strided(tuple(shape), tuple(strides), dtype=dtype, device=device, requires_grad=requires_grad)


def empty_permuted(
    shape: Sequence[int], physical_layout: Sequence[int], *, dtype: Any, device: Any, requires_grad: bool
) -> Any:
    """An uninitialised tensor whose dims lie in memory in the order ``physical_layout``."""
    return torch.empty_permuted(
        tuple(shape), tuple(physical_layout), dtype=dtype, device=device, requires_grad=requires_grad
    )


def svd(A: Any, *, full_matrices: bool) -> Any:
    """``torch.linalg.svd`` as a tuple (U, S, Vh)."""
    return tuple(torch.linalg.svd(A, full_matrices))


def normal(
    shape: Sequence[int], *, mean: Any, std: Any, dtype: Any, device: Any, requires_grad: bool, generator: Any = None
) -> Any:
    """Draws of the normal distribution as a tensor of ``shape``."""
    return (
        torch.empty(tuple(shape), dtype=dtype, device=device)
        .normal_(mean, std, generator=generator)
        .requires_grad_(requires_grad)
    )


def _uniform_helper(
    shape: Sequence[int], *, low: Any, high: Any, dtype: Any, device: Any, generator: Any = None
) -> Any:
    return torch.empty(tuple(shape), dtype=dtype, device=device).uniform_(low, high, generator=generator)


def fft_c2c(self: Any, *, dim: Sequence[int], forward: bool) -> Any:
    """The complex Fourier transform over ``dim``, not normalised."""
    return torch._fft_c2c(self, tuple(dim), 0, forward)


def fft_r2c(self: Any, *, dim: Sequence[int], onesided: bool) -> Any:
    """The Fourier transform of real values over ``dim``, not normalised; half of it if ``onesided``."""
    return torch._fft_r2c(self, tuple(dim), 0, onesided)


def fft_c2r(self: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    """The inverse of a real transform, not normalised, with ``last_dim_size`` elements in the last of ``dim``."""
    return torch._fft_c2r(self, tuple(dim), 0, last_dim_size)


@cache
def _names() -> frozenset[str]:
    return frozenset(data.section("refs.txt", "prims"))


def __getattr__(name: str) -> Any:
    if name in ("context", "executor"):
        from importlib import import_module

        return import_module(f"shim_torch._prims.{name}")
    if name in _RENAMED or (name in _names() and hasattr(torch, name)):  # the operator of that name
        found: Any = torch
        for part in _RENAMED.get(name, name).split("."):
            found = getattr(found, part)
        globals()[name] = found
        return found
    from shim_torch._impl.surface.missing import missing

    return missing("torch._prims", name)
