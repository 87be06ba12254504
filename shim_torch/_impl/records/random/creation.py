"""New tensors of random numbers: uniform, normal and whole ones, and permutations."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import fill_integers, fill_random
from shim_torch._impl.records.shared.random_range import check_countable
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import WIDE, not_implemented

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


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
    """Draws from [0, 1), evenly distributed, in the default float dtype unless ``dtype`` is given."""
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
    """Normally distributed draws of mean 0 and deviation 1, in the default float dtype unless ``dtype`` is given."""
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
    """Whole numbers from ``low`` (0) up to ``high``, which is left out; int64 unless ``dtype`` is given."""
    return randint_low(0, high, size, generator, dtype, layout, device, pin_memory)


@composite(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randint",
    batching="random",
)
def randint_low(low, high, size, generator, dtype, layout, device, pin_memory):
    """Whole numbers from ``low`` up to ``high``, which is left out; int64 unless ``dtype`` is given."""
    return fill_integers(_empty(size, dtype or _core.int64, device, pin_memory), low, high, generator)


@composite(
    f"randperm(SymInt n, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randperm",
    batching="random",
)
def randperm(n, generator, dtype, layout, device, pin_memory):
    """The numbers 0 to n - 1 in random order; int64 unless ``dtype`` is given, which must tell them apart."""
    check_countable(dtype or _core.int64, n)
    if _core.device(device or "cpu").type == "cpu" and dtype not in (None, _core.int64):
        return _core.function("aten::randperm")(n, generator=generator, device=device).to(dtype)
    keys = _empty((n,), _core.int64, device, pin_memory)
    if n <= 4096 and _core.unseen_on_cuda(keys):
        from shim_torch._impl.tensor.generator import chosen

        return shim.permutation(keys, *chosen(generator, keys.device)._take(2 * n)).to(dtype or _core.int64)
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
    made = _core.empty_tensor(shape, dtype, tensors[0].device).normal_(0, 1, generator=generator)
    if made.is_cuda and not isinstance(std, _core.TensorBase):
        return torch.add(mean, made, alpha=std)
    made = made * std + mean
    return made if made.dtype == dtype else made.to(dtype)


for _number, _schema in {
    3: "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
    1: "normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor",
    2: "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
}.items():
    # A draw does not move with its mean or deviation: PyTorch's gradients are zero (distributions' rsample has others).
    _still = {name: lambda g: g * 0 for name in ("mean", "std") if f"Tensor {name}" in _schema}
    direct(_schema, method=False, out=True, grad=_still, batching="random", no_complex_gradient="normal",
           gradient_name=f"NormalBackward{_number}")(_normal_of)  # fmt: skip


@composite(
    f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    method=False,
    native="new_normal",
    out=True,
    batching="random",
    out_error_name="aten::normal",
)
def normal_floats(mean, std, size, generator, dtype, layout, device, pin_memory):
    """Normally distributed draws of one mean and deviation, in a new tensor of the default float dtype or ``dtype``."""
    return _empty(size, dtype, device, pin_memory).normal_(mean, std, generator=generator)
