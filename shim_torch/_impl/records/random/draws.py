"""Random numbers from the generators of ``shim_torch._impl.tensor.generator``: on the CPU those that PyTorch draws from the same seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import operator
from shim_torch._impl.records.shared.random_range import check_countable, check_uniform, checked, end_of
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import (
    WIDE,
    accumulation_dtype,
    not_implemented,
    same_dtype,
    type_name,
    type_word,
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


def _draw(self: Any, kind: str, a: Any, b: Any, generator: Any) -> Any:
    """Fills ``self`` in place: see ``_core.cpu_draw`` for the kinds, of which CUDA has uniform, normal and integer."""
    from shim_torch._impl.tensor.generator import chosen

    if self.is_meta or self.numel() == 0:
        return self
    source = chosen(generator, self.device)
    if not self.is_cuda:
        return _draw_cpu(self, kind, a, b, source)
    seed, start = source._take(2 * self.numel())
    direct = self.is_contiguous() and not self.is_neg() and not (self.requires_grad and _core.is_grad_enabled())
    filled = self if direct else _core.empty_tensor(self.shape, self.dtype, self.device)
    if _core.cuda_draw(filled, kind, a, b, seed, start + ((1 << 40) if kind == "normal" else 0)):
        return self if direct else self.copy_(filled)
    template = self
    if kind != "integer" and self.dtype not in WIDE:
        template = _core.empty_tensor(self.shape, _core.float32, self.device)
    elif not self.is_contiguous():
        template = _core.empty_tensor(self.shape, self.dtype, self.device)
    return self.copy_(_drawn(template, kind, a, b, seed, start))


def _drawn(template: Any, kind: str, a: Any, b: Any, seed: int, start: int) -> Any:
    import shim_torch

    with shim_torch.no_grad():
        return shim_torch.ops.aten._random_bits(template, kind, a, b, seed, start)


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


def _parts(self: Any, fill: Any) -> None:
    """Fills a complex tensor's real and imaginary parts, which memory does not hold as they are where it is a conjugate."""
    plain = _core.empty_tensor(self.shape, self.dtype, self.device) if self.is_conj() else self
    fill(_core.view_as_real(plain))
    if plain is not self:
        self.copy_(plain)


def _check_float(self: Any, name: str) -> None:
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        from shim_torch._utils import _scalar

        raise NotImplementedError(f"\"{name}\" not implemented for '{_scalar(self.dtype)}'")


@composite(
    "uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_uniform",
)
def uniform_(self, low, high, generator):
    if self.dtype.is_complex:
        _parts(self, lambda parts: parts.uniform_(low, high, generator=generator))
        return self
    _check_float(self, "check_uniform_bounds")
    check_uniform(self.dtype, low, high)
    return _draw(self, "uniform", low, high, generator)


@composite(
    "normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_normal",
)
def normal_(self, mean, std, generator):
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if self.dtype.is_complex:
        _parts(self, lambda parts: parts.normal_(mean, std / math.sqrt(2), generator=generator))
        return self
    _check_float(self, "normal_kernel_cpu")
    return _draw(self, "normal", mean, std, generator)


def _random(self: Any, low: int, high: int, generator: Any) -> Any:
    low, high = checked(self.dtype, low, high)
    return _draw_whole(self, "integer", low, high, generator)


def _draw_whole(self: Any, kind: str, low: int, high: int, generator: Any) -> Any:
    if not self.is_cuda or self.dtype in (_core.int64, _core.int32, _core.int16, _core.int8, _core.uint8):
        return _draw(self, kind, low, high, generator)
    whole = _core.empty_tensor(self.shape, _core.int64, self.device)
    _draw(whole, kind, low, high, generator)
    return self.copy_(whole)


def _end_of(self: Any) -> int:
    return 2**63 if not self.is_cuda and self.dtype == _core.int64 else end_of(self.dtype)


_INTEGERS: dict[str, Any] = {"function": False, "native": "draw_integer"}


@composite("random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)", **_INTEGERS)
def random_(self, generator):
    low, high = checked(self.dtype, 0, _end_of(self))
    short = not self.is_cuda and self.dtype == _core.int32  # one word a number, though the range is wide
    return _draw_whole(self, "word" if short else "integer", low, high, generator)


@composite("random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)", **_INTEGERS)
def random_to(self, to, generator):
    return _random(self, 0, to, generator)


@composite("random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)", **_INTEGERS)
def random_from(self, low, to, generator):
    return _random(self, low, _end_of(self) if to is None else to, generator)


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
        _draw(u, "uniform", 0.0, 1.0, generator)
        return self.copy_(f(u, *settings))

    schema = f"{name}(Tensor(a!) self, {signature}, *, Generator? generator=None) -> Tensor(a!)"
    composite(schema, function=False, **options)(body)


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


_shifted("exponential_", _exponential, "float lambd=1", native="draw_exponential")
_shifted("cauchy_", _cauchy, "float median=0, float sigma=1")


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


_shifted("geometric_", _geometric, "float p")


@composite(
    "log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
)
def log_normal_(self, mean, std, generator):
    _check_float(self, "log_normal_cpu")
    _positive("log_normal_", "std", std)
    if self.device.type != "cpu":
        return _draw(self, "normal", mean, std, generator).exp_()
    wide = _draw(_core.function("aten::empty_like")(self, dtype=_core.float64), "single", mean, std, generator)
    return self.copy_(wide.exp_())


def _chances(like: Any, dtype: Any, generator: Any) -> Any:
    """Uniform draws from [0, 1), as many as ``like`` has elements."""
    return _draw(_core.empty_tensor(like.shape, dtype, like.device), "uniform", 0.0, 1.0, generator)


@direct(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    grad={"self": lambda g: g * 0},
    native="bernoulli",
)
def bernoulli(self, generator):
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{type_name(self.dtype)}'")
    if self.device.type == "cpu" and not bool(((self >= 0) & (self <= 1)).all()):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return (_chances(self, accumulation_dtype(self.dtype), generator) < self).to(self.dtype)


@composite("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
def bernoulli_p(self, p, generator):
    """1 with the chance ``p``, else 0, in a new tensor like ``self``."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    import shim_torch

    return shim_torch.empty_like(self).bernoulli_(p, generator=generator)


@composite("bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)", method=False)
def bernoulli_out(self, generator, out):
    if _core.is_grad_enabled() and (self.requires_grad or out.requires_grad):
        raise RuntimeError(
            "bernoulli(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    return out.resize_(self.shape).copy_(bernoulli(self, generator))


@composite("bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)", function=False)
def bernoulli_tensor(self, p, generator):
    wide = self.device.type == "cpu" and p.dtype == _core.float64
    return self.copy_(_chances(self, _core.float64 if wide else _core.float32, generator) < p)


@composite(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    function=False,
    native="draw_chance",
)
def bernoulli_float(self, p, generator):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if self.device.type == "cpu":
        return _draw(self, "chance", p, 0.0, generator)
    if self.is_cuda and self.numel() and _one_draw(self, "chance", (p,), generator):
        return self
    return self.copy_(_chances(self, _core.float32, generator) < p)


# --- new tensors ------------------------------------------------------------------------------------------------------------


def _empty(size, dtype, device, pin_memory):
    return _core.empty_tensor(size, dtype, device, bool(pin_memory))


@composite(
    f"rand(SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor", out=True, native="rand", dim_names=True
)
def rand(size, generator, dtype, layout, device, pin_memory):
    made = _empty(size, dtype, device, pin_memory)
    return _draw(made, "uniform", 0, 1, generator) if made.dtype in WIDE else made.uniform_(0, 1, generator=generator)


@composite(
    f"randn(SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randn",
    dim_names=True,
)
def randn(size, generator, dtype, layout, device, pin_memory):
    made = _empty(size, dtype, device, pin_memory)
    return _draw(made, "normal", 0, 1, generator) if made.dtype in WIDE else made.normal_(0, 1, generator=generator)


@composite(
    f"randint(SymInt high, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randint",
)
def randint(high, size, generator, dtype, layout, device, pin_memory):
    return randint_low(0, high, size, generator, dtype, layout, device, pin_memory)


@composite(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    out=True,
    native="randint",
)
def randint_low(low, high, size, generator, dtype, layout, device, pin_memory):
    return _random(_empty(size, dtype or _core.int64, device, pin_memory), low, high, generator)


@composite(f"randperm(SymInt n, *, Generator? generator=None, {_OPTIONS}) -> Tensor", out=True, native="randperm")
def randperm(n, generator, dtype, layout, device, pin_memory):
    check_countable(dtype or _core.int64, n)
    if _core.device(device or "cpu").type == "cpu" and dtype not in (None, _core.int64):
        return _core.function("aten::randperm")(n, generator=generator, device=device).to(dtype)
    keys = _empty((n,), _core.int64, device, pin_memory)
    return _draw(keys, "integer", 0, 2**62, generator).argsort().to(dtype or _core.int64)


def _like(name: str, fill: Any, signature: str = "", native: str = "randint_like", **traits: Any) -> None:
    def body(self, *args):
        import shim_torch

        *settings, dtype, layout, device, pin_memory, memory_format = args
        made = shim_torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
        return fill(made, *settings)

    composite(
        f"{name}(Tensor self, {signature}*, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        method=False,
        native=native,
        **traits,
    )(body)


_like("rand_like", lambda t: t.uniform_(0, 1), native="rand_like", reads_math_bits=True)
_like("randn_like", lambda t: t.normal_(0, 1), native="randn_like", reads_math_bits=True)
_like("randint_like", lambda t, high: _random(t, 0, high, None), "SymInt high, ")
_like("randint_like.low_dtype", lambda t, low, high: _random(t, low, high, None), "SymInt low, SymInt high, ")


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
    direct(_schema, method=False, out=True, grad=_still)(_normal_of)


@composite(
    f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
    method=False,
    native="new_normal",
    out=True,
    out_error_name="aten::normal",
)
def normal_floats(mean, std, size, generator, dtype, layout, device, pin_memory):
    return _empty(size, dtype, device, pin_memory).normal_(mean, std, generator=generator)


def _check_chances(p: Any) -> None:
    """Of a CUDA tensor with elements, asking the GPU once."""
    least, most, sums = p.amin(), p.amax(), p.sum(-1).amin()
    least, most, total = operator("stack")([least, most, sums.to(p.dtype)]).tolist()
    if not (least >= 0 and most < math.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not total > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


@composite(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    out=True,
    out_dtype="multinomial expects Long tensor out, got: {O}",
    out_resize="silent",
)
def multinomial(self, num_samples, replacement, generator):

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
        u = _draw(
            _core.empty_tensor((p.size(0), num_samples), _core.float64, self.device), "uniform", 0.0, 1.0, generator
        )
        if self.is_cuda:
            found = operator("searchsorted")(edges, u * edges[:, -1:], right=True).clamp(max=p.size(-1) - 1)
        else:
            found = (edges.unsqueeze(1) <= (u * edges[:, -1:]).unsqueeze(-1)).sum(-1).clamp(max=p.size(-1) - 1)
    else:  # exponential races: the greatest p/E are a sample without replacement
        e = _core.empty_tensor(p.shape, p.dtype, self.device).exponential_(generator=generator)
        found = (p / e).argmax(-1, keepdim=True) if num_samples == 1 else (p / e).topk(num_samples, -1)[1]
    return found if self.dim() == 2 else found.squeeze(0)
