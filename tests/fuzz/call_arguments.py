"""Arguments for a call, made from its schema: mostly what fits together, some of it what nobody should pass."""

from __future__ import annotations

import random
from typing import Any

DTYPES = "float32 float64 int64 bool float16 bfloat16 complex64 complex128 int32 uint8 int8 int16 float8_e4m3fn float8_e5m2 uint16 uint32 uint64 complex32".split()
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8)
HUGE = (2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30, -(2**31) - 1, -1000000)
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-5, -0.0)
ODD_FLOATS = (float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 5e-324)
WORDS = "sum prod mean amax amin floor trunc none tanh reflect constant replicate circular ij,jk->ik ii->i ... U L fro nuc linear left".split()
ODD_WORDS = (
    "",
    "\0",
    "\ud800",
    "é" * 50,
    "%s%n{0}",
    "a" * 10000,
    "->",
    "ij,jk,kl,lm->",
    "cuda:99999999999",
    "..." * 20,
)
INDICES = ("index", "indices", "target", "offsets", "lengths", "labels", "ind", "boundaries", "batch_sizes", "repeats")
MASKS = ("mask", "condition", "attn_mask", "noise_mask")
DIMENSIONS = (
    "dim",
    "dims",
    "dim0",
    "dim1",
    "dim2",
    "axis",
    "start_dim",
    "end_dim",
    "axis0",
    "axis1",
    "source",
    "destination",
)
SIZED = ("size", "shape", "input_size", "output_size", "sizes", "n", "m", "steps", "length")


class Odd:
    """An object that stands for an int, and does something else while it is asked."""

    def __init__(self, way: str, tensors: list[Any]) -> None:
        self.way, self.tensors = way, tensors

    def __index__(self) -> Any:
        if self.way == "raises":
            raise ValueError("an odd object was asked")
        if self.way == "no int":
            return "1"
        for t in self.tensors:
            try:
                if self.way == "frees":
                    t.untyped_storage().resize_(0)
                elif self.way == "reshapes":
                    t.detach().resize_(3, 3)
            except (RuntimeError, NotImplementedError):
                pass  # meta tensors and those of shared memory keep their storage
        if self.way == "frees":
            self.tensors.clear()
        return 1

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return f"Odd({self.way!r})"


class Maker:
    """Makes the arguments of one call: ``r`` decides, ``torch`` makes; ``tensors`` are those that it made.

    plain: names of arguments that get no odd values.
    """

    def __init__(self, torch: Any, r: random.Random, plain: tuple[str, ...] = ()) -> None:
        self.torch, self.r, self.plain = torch, r, plain
        self.odds = r.choice((0, 0, 0.03, 0.1, 0.3))  # of a value that nobody should pass
        self.base = [r.choice(SIZES) for _ in range(r.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5)))]
        if r.random() < 0.5:
            self.base = [max(n, 1) for n in self.base]
        self.dtype = self.dtype_()
        self.grad = r.random() < 0.4
        self.meta = r.random() < 0.05
        self.tensors: list[Any] = []

    def odd(self) -> bool:
        return self.r.random() < self.odds

    def dtype_(self) -> Any:
        r = self.r
        names = DTYPES[:2] if r.random() < 0.6 else DTYPES[:9] if r.random() < 0.7 else DTYPES
        return getattr(self.torch, r.choice(names))

    def shape(self) -> list[int]:
        r, base = self.r, list(self.base)
        way = r.random()
        if way < 0.6:
            return base
        if way < 0.75:
            return [1 if r.random() < 0.5 else n for n in base][r.choice((0, 0, 1)) :]
        if way < 0.85 and len(base) > 1:
            return [*base[:-2], base[-1], base[-2]]
        return [r.choice(SIZES) for _ in range(r.choice((0, 1, 1, 2, 2, 3, 4)))]

    def filled(self, shape: list[int], dtype: Any, lowest: int = -3, highest: int = 4) -> Any:
        torch, r = self.torch, self.r
        n = 1
        for d in shape:
            n *= d
        values: list[Any]
        if dtype.is_floating_point or dtype.is_complex:
            values = [r.choice(ODD_FLOATS) if self.odd() else r.uniform(lowest, highest) for _ in range(n)]
            return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape)
        if self.plain and not dtype.is_signed:
            lowest = 0  # less would be a very large degree
        values = [
            r.randrange(-(2**63), 2**63) if self.odd() and r.random() < 0.3 else r.randrange(lowest, highest)
            for _ in range(n)
        ]
        return torch.tensor(values, dtype=torch.int64).to(dtype).reshape(shape)

    def placed(self, t: Any) -> Any:
        """The tensor, or one that lies differently in memory: other strides, an offset, elements that share memory."""
        torch, r = self.torch, self.r
        way = r.choice(
            ("itself",) * 6
            + ("transposed", "sliced", "offset", "expanded", "overlapping", "backwards", "conjugated", "part")
        )
        if way == "transposed" and t.dim() > 1:
            return t.transpose(0, -1).contiguous().transpose(0, -1)
        if way == "sliced" and t.dim():
            return torch.cat([t, t], -1)[..., ::2] if t.shape[-1] else t[..., ::2]
        if way == "offset":
            return torch.cat([t.reshape(-1)[:1], t.reshape(-1)])[-t.numel() :].view(t.shape) if t.numel() else t
        if way == "expanded":
            return t[..., :1].expand(t.shape) if t.dim() and t.numel() else t.expand(2, *t.shape)
        if way == "overlapping" and t.numel():
            return torch.as_strided(t, t.shape, [r.randrange(2) for _ in t.shape])
        if way == "backwards" and t.dim() == 4:
            return t.contiguous(memory_format=torch.channels_last)
        if way == "conjugated":
            return t.conj() if t.is_complex() else torch._neg_view(t) if t.is_floating_point() else t
        if way == "part" and t.is_complex():
            return torch.view_as_real(t)[..., 1]
        return t

    def tensor(self, name: str = "") -> Any:
        torch, r = self.torch, self.r
        if self.tensors and r.random() < 0.12:  # the same memory as another argument's
            t = r.choice(self.tensors)
            return (
                t
                if r.random() < 0.6 or not t.dim()
                else t[: r.randrange(3)]
                if r.random() < 0.5
                else t.detach().transpose(0, -1)
            )
        dtype = self.dtype if r.random() < 0.8 else self.dtype_()
        lowest, highest = -3, 4
        if name in INDICES and r.random() < 0.9:
            dtype, lowest, highest = torch.int64, (0 if r.random() < 0.8 else -9), max(self.base or [1], default=1)
            highest = max(1, highest if r.random() < 0.3 else min(self.base or [1]))
            lowest = min(lowest, highest - 1)
        if name in MASKS and r.random() < 0.9:
            dtype = torch.bool
        t = self.filled(self.shape(), dtype, lowest, highest)
        if self.meta and r.random() < 0.8:
            t = t.to("meta")
        t = self.placed(t)
        if r.random() < 0.02 and t.dim() and not t.is_meta:
            t = t.to_sparse()
        elif self.odd() and r.random() < 0.5:
            t = self.freed(t)
        if self.grad and r.random() < 0.7 and (t.is_floating_point() or t.is_complex()):
            t = t.detach().requires_grad_()
            t = t * 1 if r.random() < 0.1 else t
        self.tensors.append(t)
        return t

    def freed(self, t: Any) -> Any:
        """The tensor, whose storage has become smaller than what it needs."""
        if not t.is_meta and t.layout is self.torch.strided:
            storage = t.untyped_storage()
            storage.resize_(self.r.choice((0, 0, storage.nbytes() // 2, max(storage.nbytes() - 1, 0))))
        return t

    def integer(self, name: str = "") -> Any:
        r = self.r
        if self.odd():
            way = r.random()
            if way < 0.35:
                return r.choice(HUGE)
            return (
                Odd(r.choice(("frees", "frees", "raises", "no int", "reshapes", "1")), self.tensors)
                if way < 0.6
                else self.anything()
            )
        if name in DIMENSIONS:
            rank = max(len(self.base), 1)
            return r.randrange(-rank, rank) if r.random() < 0.95 else r.randrange(-9, 9)
        if name == "dtype":
            return self.dtype_()
        if name == "memory_format":
            return r.choice((self.torch.contiguous_format, self.torch.channels_last, self.torch.preserve_format))
        if name == "layout":
            return self.torch.strided
        return r.choice((0, 1, 1, 1, 2, 2, 3, 4, -1, -2, 7)) if name not in SIZED else r.choice((0, 1, 2, 3, 5))

    def anything(self) -> Any:
        """A value of another type than the one that is asked for."""
        r = self.r
        return r.choice((
            lambda: None, lambda: True, lambda: 1.5, lambda: 1 + 2j, lambda: "1", lambda: (), lambda: [1, "2"], lambda: object(),
                dict, lambda: self.tensor(), lambda: self.torch.tensor(2), lambda: b"\xff", lambda: int, lambda: [[1], [2, 3]],
            lambda: float("nan"), lambda: range(3), lambda: iter([1]), lambda: self.torch.float32, lambda: slice(None), lambda: self.torch.Size([2]),
        ))()  # fmt: skip

    def value(self, of: str, name: str, n: int | None = None) -> Any:
        """A value of a type, as its schema spells it ("Optional[List[int]]"); ``n``: the length that an int[n] has."""
        odds = self.odds
        self.odds = 0 if name in self.plain else odds
        try:
            return self.value_(of, name, n)
        finally:
            self.odds = odds

    def value_(self, of: str, name: str, n: int | None) -> Any:
        r = self.r
        if of.startswith("Optional["):
            return None if r.random() < 0.35 else self.value(of[9:-1], name, n)
        if self.odd() and r.random() < 0.25:
            return self.anything()
        if of.startswith("List["):
            if n and r.random() < 0.15:
                return self.value(of[5:-1], name)
            if name in SIZED and of == "List[int]" and r.random() < 0.8:
                return self.shape()
            length = n if n and r.random() < 0.7 else r.choice((0, 1, 2, 3, 3, len(self.base), len(self.base)))
            made = [self.value(of[5:-1], name) for _ in range(length)]
            return tuple(made) if r.random() < 0.3 else made
        if of == "Tensor":
            return self.tensor(name)
        if of in ("int", "SymInt", "ScalarType", "Layout", "MemoryFormat"):
            return self.integer(name)
        if of == "bool":
            return r.random() < 0.5
        if of in ("float", "number", "Scalar"):
            numbers = (
                ODD_FLOATS + HUGE if self.odd() else FLOATS + (1, 2, 0) + ((1 - 2j, True) if of != "float" else ())
            )
            return r.choice(numbers)
        if of == "str":
            return r.choice(ODD_WORDS) if self.odd() else r.choice(WORDS)
        if of == "Device":
            return (
                r.choice(("cpu", "cpu", "meta", "cpu:0"))
                if not self.odd()
                else r.choice((*ODD_WORDS, "cuda", "cuda:7", -1, 3))
            )
        if of == "Generator":
            return None if r.random() < 0.5 else self.torch.Generator()
        return self.anything()


def shown(value: Any, torch: Any) -> str:
    """An argument in words that do not read its elements."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return f"<{value.layout} {value.dtype} {tuple(value.shape)}>"
        held = (
            ""
            if value.is_meta
            else f" of {value.untyped_storage().nbytes()} bytes at {value.untyped_storage()._cdata % 2**20:x}"
        )
        plain = f"{value.dtype} {tuple(value.shape)} strides {value.stride()} offset {value.storage_offset()} {value.device}"
        return f"<{plain}{held}{' requires grad' if value.requires_grad else ''}>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(v, torch) for v in value) + "]"
    return repr(value)[:200]
