"""Paddings that continue the input: reflected, replicated, circular; by their own names and by mode."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import sizes_text
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.formats import gradient_in_format, in_format, suggested_format
from shim_torch._impl.table.record import composite, op

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _framed_shape(self: Any, pad: Any) -> tuple[int, ...]:
    shape = list(self.shape)
    for i in range(len(pad) // 2):
        shape[-1 - i] += pad[2 * i] + pad[2 * i + 1]
    return tuple(shape)


def _source_indices(xp: Any, size: int, before: int, after: int, reflect: bool) -> Any:
    place = xp.arange(-before, size + after)
    return (size - 1) - abs((size - 1) - abs(place)) if reflect else place.clip(0, size - 1)


@op(
    "shim::reflect_replicate_pad(Tensor self, int[] pad, bool reflect) -> Tensor",
    shape=_framed_shape,
    dtype=lambda self: self.dtype,
    native="reflect_replicate_pad",
    grad={
        "self": lambda g, self_shape, pad, reflect: shim.reflect_replicate_pad_backward(
            g, list(self_shape), pad, reflect
        )
    },
    function=False,
)
def reflect_replicate_pad(xp, self, pad, reflect):
    """The last dims by pairs of ``pad`` as reflection_pad (or replication_pad) makes them, of sizes that fit."""
    for i in range(len(pad) // 2):
        axis = self.ndim - 1 - i
        self = xp.take(self, _source_indices(xp, self.shape[axis], pad[2 * i], pad[2 * i + 1], reflect), axis=axis)
    return self


@op(
    "shim::reflect_replicate_pad_backward(Tensor grad_output, int[] sizes, int[] pad, bool reflect) -> Tensor",
    shape=lambda sizes: tuple(sizes),
    dtype=lambda grad_output: grad_output.dtype,
    native="reflect_replicate_pad_backward",
    grad={"grad_output": lambda g, pad, reflect: shim.reflect_replicate_pad(g, pad, reflect)},
    function=False,
)
def reflect_replicate_pad_backward(xp, grad_output, sizes, pad, reflect):
    """The gradient of ``reflect_replicate_pad`` by a tensor of ``sizes``."""
    for i in range(len(pad) // 2):
        axis = grad_output.ndim - 1 - i
        places = _source_indices(xp, sizes[axis], pad[2 * i], pad[2 * i + 1], reflect)
        which = (places[:, None] == xp.arange(sizes[axis])[None]).astype(grad_output.dtype)
        grad_output = xp.moveaxis(xp.tensordot(grad_output, which, axes=(axis, 0)), -1, axis)
    return grad_output


def _continued(self: Any, pad: Any, mode: str) -> Any:
    """The last dims by pairs of ``pad``, last dim first; each place reads the one that the mode continues it with."""
    n = len(pad) // 2
    if self.dim() not in (n + 1, n + 2) or any(s == 0 for s in self.shape[self.dim() - n - 1 :]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {sizes_text(self.shape)}"
        )
    if self.dtype == _core.bool and self.device.type == "cpu":
        kind = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(f"\"{kind}_pad{n}d\" not implemented for 'Bool'")
    x = _core.flat_input(gradient_in_format(self))
    kernel = (
        x.is_cuda and x.is_floating_point() and x.itemsize > 1 and 0 < x.numel() < 2**30 and _core.unseen_on_cuda(x)
    )
    for i in range(n):
        before, after = pad[2 * i], pad[2 * i + 1]
        d = self.dim() - 1 - i
        size = self.size(d)
        if size + before + after < 1:
            name = ("W", "H", "D")[i]
            raise RuntimeError(
                f"input ({name}: {size}) is too small. Calculated output {name}: {size + before + after}"
            )
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #{2 * i + 4}: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {d} of input {sizes_text(self.shape)}"
            )
        if kernel:
            continue
        place = aten.arange(-before, size + after, device=x.device)
        if mode == "reflect":
            place = (size - 1) - ((size - 1) - place.abs()).abs()
        else:
            place = place.clamp(0, size - 1)
        x = x.index_select(d, place)
    return shim.reflect_replicate_pad(x, list(pad), mode == "reflect") if kernel else x


def _circular_grad(g: Any, self_shape: Any, pad: Any) -> Any:
    """What each element was read for, along one dim after another: its own place, and those behind the other end."""
    for i in range(len(pad) // 2):
        before, after, size = pad[2 * i], pad[2 * i + 1], self_shape[-1 - i]
        d = g.dim() - 1 - i
        own, left, right = (
            g.split([before, size, after], d)[1],
            g.narrow(d, 0, before),
            g.narrow(d, before + size, after),
        )
        if before:
            first, last = own.split([size - before, before], d)
            own = torch.cat([first, last + left], d)
        if after:
            first, last = own.split([after, size - after], d)
            own = torch.cat([first + right, last], d)
        g = own
    return g


@op(
    "shim::circular_pad(Tensor self, int[] pad) -> Tensor",
    shape=_framed_shape,
    dtype=lambda self: self.dtype,
    keep=("self",),
    native="circular_pad",
    grad={"self": _circular_grad},
    function=False,
)
def circular_pad(xp, self, pad):
    """The last dims by pairs of ``pad``, each continued from its other end; no pair below 0 or above its dim's size."""
    for i in range(len(pad) // 2):
        axis = self.ndim - 1 - i
        size = self.shape[axis]
        self = xp.take(self, xp.arange(-pad[2 * i], size + pad[2 * i + 1]) % size, axis=axis)
    return self


def _circular(self: Any, pad: Any) -> Any:
    """Cut where the padding is negative, then continued from the other end."""
    n = len(pad) // 2
    x, fresh = self, False
    if (
        _core.unseen_on_cuda(self)
        and self.numel()
        and not any(p < 0 or p > self.size(-1 - i // 2) for i, p in enumerate(pad))
    ):
        return shim.circular_pad(self, list(pad))
    for i in range(n):
        d = self.dim() - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        size = self.size(d)
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        cut = max(-before, 0), max(-after, 0)
        x = x.narrow(d, min(cut[0], size), max(size - cut[0] - cut[1], 0)) if any(cut) else x
        if max(before, 0) or max(after, 0):
            left = x.size(d)
            place = aten.arange(-max(before, 0), left + max(after, 0), device=x.device)
            x, fresh = x.index_select(d, place.remainder(left) if left else place[:0]), True
    if fresh:
        return x
    return x.clone(memory_format=_core.contiguous_format) if x is not self else x.clone()


def _kernel(n: int, mode: str) -> Any:
    def run(self, padding):
        if len(padding) != 2 * n:
            got = f", but got: {len(padding)}" if mode == "reflect" else ""
            raise RuntimeError(f"padding size is expected to be {2 * n}{got}")
        return _continued(self, padding, mode)

    return run


_OPERATOR = {"reflect": "reflection", "replicate": "replication"}


def _declare(n: int) -> None:
    size = f"SymInt[{2 * n}] padding"
    for name, mode in (("reflection_pad", "reflect"), ("replication_pad", "replicate")):
        schema = f"{name}{n}d(Tensor self, {size}) -> Tensor"
        autocast = {} if (mode, n) == ("reflect", 3) else {"autocast": "float32_cpu"}
        composite(schema, **autocast, out=True, follows=("self",), native=name, gradient_name=True, **_HIDDEN)(
            _kernel(n, mode)
        )


for _n in (1, 2, 3):
    _declare(_n)

composite("_pad_circular(Tensor self, SymInt[] pad) -> Tensor", **_HIDDEN)(_circular)

_SUPPORTED = (
    "\nSupported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


@composite('pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor', native="pad", **_HIDDEN)
def pad(self, pad, mode, value):
    """Pairs (before, after) from the last dim on; mode constant, reflect, replicate or circular."""
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {self.dim()}"
        )
    if mode == "constant":
        return aten.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    n = len(pad) // 2
    if n not in (1, 2, 3) or self.dim() not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor." + _SUPPORTED
        )
    if mode == "circular":
        return _circular(self, pad)
    padded = getattr(aten, f"{_OPERATOR[mode]}_pad{n}d")(self, pad)
    return in_format(padded, suggested_format([self]))
