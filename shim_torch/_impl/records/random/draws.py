"""Random numbers in place: uniform, normal and whole, from the generators of ``shim_torch._impl.tensor.generator``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import (
    check_floating,
    fill_integers,
    fill_parts,
    fill_random,
    fill_whole,
)
from shim_torch._impl.records.shared.random_range import check_uniform, checked, end_of
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import same_dtype


@op(
    "_random_bits(Tensor self, str kind, Scalar a, Scalar b, int seed, int start) -> Tensor",
    function=False,
    method=False,
    module="_C",
    shape=lambda self: self.shape,
    dtype=same_dtype,
    keep=("self",),
)
def _random_bits(xp, self, kind, a, b, seed, start):
    """Numbers like ``self``. On the CPU ``seed`` is the generator's number and ``start`` is 0."""
    from shim_torch._impl.tensor.generator import numbered, philox

    if xp is np:
        drawn = np.empty(self.shape, np.int64 if kind in ("integer", "word") else self.dtype)
        _core.cpu_draw(_core.from_numpy(drawn), kind, a, b, numbered(seed)._engine)
        return drawn.astype(self.dtype, copy=False)
    n = self.size
    span = (int(b) - int(a)) & 0xFFFF_FFFF_FFFF_FFFF if kind == "integer" else 0
    wide = self.dtype.itemsize == 8 if kind != "integer" else not 0 < span < 1 << 28
    if kind == "normal":
        return _normal(xp, self, a, b, seed, start + (1 << 40))
    words = philox(xp, seed, start, (n * (2 if wide else 1) + 3) // 4).reshape(-1)
    if kind == "integer":
        if wide:
            words = words[: 2 * n].astype(xp.uint64)
            whole = (words[0::2] << xp.uint64(32)) | words[1::2]
            drawn = whole if span == 0 else whole % xp.uint64(span)
        else:  # as PyTorch's: a word of 32 bits is enough for ranges below 2**28
            drawn = words[:n] % xp.uint32(span)
        return (drawn.astype(xp.int64) + xp.int64(int(a))).astype(self.dtype).reshape(self.shape)
    real = "float64" if wide else "float32"
    if wide:
        words = words[: 2 * n].astype(xp.uint64)
        u = ((words[0::2] << xp.uint64(21)) ^ (words[1::2] >> xp.uint64(11))) & xp.uint64((1 << 53) - 1)
        u = u.astype(real) * 2.0**-53
    else:
        u = (words[:n] >> xp.uint32(8)).astype(real) * xp.float32(2.0**-24)
    return (u * (b - a) + a).astype(real).reshape(self.shape)


def _normal(xp, self, mean, std, seed, start):
    """Box-Muller: pairs of uniforms give pairs of normals."""
    from shim_torch._impl.tensor.generator import philox

    n = self.size
    m = (n + 1) // 2
    words = philox(xp, seed, start, (m * 2 + 3) // 4).reshape(-1) >> xp.uint32(8)
    u1, u2 = (words[:m].astype("float64") + 1.0) * 2.0**-24, words[m : 2 * m].astype("float64") * 2.0**-24
    radius, angle = xp.sqrt(-2.0 * xp.log(u1)), 2 * math.pi * u2
    z = xp.concatenate([radius * xp.cos(angle), radius * xp.sin(angle)])[:n]
    real = "float64" if self.dtype.itemsize == 8 else "float32"
    return (z * std + mean).astype(real).reshape(self.shape)


@composite(
    "uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_uniform",
    batching="random",
    nested="pointwise",
)
def uniform_(self, low, high, generator):
    """In place: draws from [from, to), evenly distributed; of a complex tensor the real and the imaginary parts.

    RuntimeError if ``from`` is above ``to`` or the dtype cannot hold them or their distance. NotImplementedError for
    integers.
    """
    if self.dtype.is_complex:
        fill_parts(self, lambda parts: parts.uniform_(low, high, generator=generator))
        return self
    check_floating(self, "check_uniform_bounds")
    check_uniform(self.dtype, low, high)
    return fill_random(self, "uniform", low, high, generator)


@composite(
    "normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_normal",
    batching="random",
    nested="pointwise",
)
def normal_(self, mean, std, generator):
    """In place: normally distributed draws; of a complex tensor the two parts, each with the deviation std/√2.

    RuntimeError for a negative ``std``, NotImplementedError for integers.
    """
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if self.dtype.is_complex:
        fill_parts(self, lambda parts: parts.normal_(mean, std / math.sqrt(2), generator=generator))
        return self
    check_floating(self, "normal_kernel_cpu")
    return fill_random(self, "normal", mean, std, generator)


def _end_of(self: Any) -> int:
    return 2**63 if not self.is_cuda and self.dtype == _core.int64 else end_of(self.dtype)


_INTEGERS: dict[str, Any] = {"function": False, "native": "draw_integer"}


@composite(
    "random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)",
    **_INTEGERS,
    batching="random",
    nested="pointwise",
)
def random_(self, generator):
    """In place: whole numbers, each as likely, from ``from`` (0) up to ``to``, which is left out.

    Without ``to``: up to the greatest number of an integer dtype; in a floating one up to where it begins to leave
    whole numbers out (float64 2**53, float32 2**24, float16 2**11, bfloat16 2**8).
    RuntimeError where the range is empty or the dtype cannot hold its ends, and for complex tensors.
    """
    low, high = checked(self.dtype, 0, _end_of(self))
    short = not self.is_cuda and self.dtype == _core.int32  # one word a number, though the range is wide
    return fill_whole(self, "word" if short else "integer", low, high, generator)


@composite(
    "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)",
    **_INTEGERS,
    batching="random",
    nested="pointwise",
)
def random_to(self, to, generator):
    """In place: whole numbers from 0 up to ``to``, which is left out."""
    return fill_integers(self, 0, to, generator)


@composite(
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    **_INTEGERS,
    batching="random",
    nested="pointwise",
)
def random_from(self, low, to, generator):
    """In place: whole numbers from ``from`` up to ``to``, which is left out."""
    return fill_integers(self, low, _end_of(self) if to is None else to, generator)
