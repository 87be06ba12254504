"""Random numbers from the generators of ``shim_torch._impl.tensor.generator``: uniform, normal and whole ones, in place and as new tensors."""

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
from shim_torch._impl.records.shared.random_range import check_countable, check_uniform, checked, end_of
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import (
    WIDE,
    not_implemented,
    same_dtype,
)

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


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
    return fill_integers(self, 0, to, generator)


@composite(
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    **_INTEGERS,
    batching="random",
    nested="pointwise",
)
def random_from(self, low, to, generator):
    return fill_integers(self, low, _end_of(self) if to is None else to, generator)


# --- new tensors ------------------------------------------------------------------------------------------------------------


def _empty(size, dtype, device, pin_memory):
    return _core.empty_tensor(size, dtype, device, bool(pin_memory))


@composite(
    f"rand(SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="rand",
    batching="random",
    dim_names=True,
)
def rand(size, generator, dtype, layout, device, pin_memory):
    made = _empty(size, dtype, device, pin_memory)
    return (
        fill_random(made, "uniform", 0, 1, generator)
        if made.dtype in WIDE
        else made.uniform_(0, 1, generator=generator)
    )


@composite(
    f"randn(SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randn",
    batching="random",
    dim_names=True,
)
def randn(size, generator, dtype, layout, device, pin_memory):
    made = _empty(size, dtype, device, pin_memory)
    return (
        fill_random(made, "normal", 0, 1, generator) if made.dtype in WIDE else made.normal_(0, 1, generator=generator)
    )


@composite(
    f"randint(SymInt high, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randint",
    batching="random",
)
def randint(high, size, generator, dtype, layout, device, pin_memory):
    return randint_low(0, high, size, generator, dtype, layout, device, pin_memory)


@composite(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randint",
    batching="random",
)
def randint_low(low, high, size, generator, dtype, layout, device, pin_memory):
    return fill_integers(_empty(size, dtype or _core.int64, device, pin_memory), low, high, generator)


@composite(
    f"randperm(SymInt n, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randperm",
    batching="random",
)
def randperm(n, generator, dtype, layout, device, pin_memory):
    check_countable(dtype or _core.int64, n)
    if _core.device(device or "cpu").type == "cpu" and dtype not in (None, _core.int64):
        return _core.function("aten::randperm")(n, generator=generator, device=device).to(dtype)
    keys = _empty((n,), _core.int64, device, pin_memory)
    return fill_random(keys, "integer", 0, 2**62, generator).argsort().to(dtype or _core.int64)


def _like(name: str, fill: Any, signature: str = "", native: str = "randint_like", **traits: Any) -> None:
    def body(self, *args):
        *settings, dtype, layout, device, pin_memory, memory_format = args
        made = torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
        return fill(made, *settings)

    composite(
        f"{name}(Tensor self, {signature}*, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        method=False,
        native=native,
        batching="random",
        **traits,
    )(body)


_like("rand_like", lambda t: t.uniform_(0, 1), native="rand_like", reads_math_bits=True)
_like("randn_like", lambda t: t.normal_(0, 1), native="randn_like", reads_math_bits=True)
_like("randint_like", lambda t, high: fill_integers(t, 0, high, None), "SymInt high, ")
_like("randint_like.low_dtype", lambda t, low, high: fill_integers(t, low, high, None), "SymInt low, SymInt high, ")


def _normal_of(mean, std, generator):
    """Standard normal numbers times ``std`` plus ``mean``: one of the two is a tensor, or both are."""
    tensors = [v for v in (mean, std) if isinstance(v, _core.TensorBase)]
    if not isinstance(std, _core.TensorBase):
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    elif std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif not std.is_meta and std.numel() and bool((std < 0).any()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    shape = _core.broadcast_shapes([t.shape for t in tensors])
    dtype = tensors[0].dtype  # the mean's where it is a tensor, whatever the deviation's
    if not (dtype.is_floating_point or dtype.is_complex):
        raise not_implemented("normal_kernel_cpu", dtype)
    made = _core.empty_tensor(shape, dtype, tensors[0].device).normal_(0, 1, generator=generator) * std + mean
    return made if made.dtype == dtype else made.to(dtype)


for _schema in (
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
    "normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor",
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
):
    # A draw does not move with its mean or deviation: PyTorch's gradients are zero (distributions' rsample has others).
    _still = {name: lambda g: g * 0 for name in ("mean", "std") if f"Tensor {name}" in _schema}
    direct(_schema, method=False, out=True, grad=_still, batching="random", no_complex_gradient="normal")(_normal_of)


@composite(
    f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    method=False,
    native="new_normal",
    out=True,
    batching="random",
    out_error_name="aten::normal",
)
def normal_floats(mean, std, size, generator, dtype, layout, device, pin_memory):
    return _empty(size, dtype, device, pin_memory).normal_(mean, std, generator=generator)
