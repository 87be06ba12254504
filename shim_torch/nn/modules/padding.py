"""Padding layers."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module
from shim_torch.nn.modules.utils import _ntuple


class _Pad(Module):
    _dims = 0
    _mode = "constant"
    value = 0.0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self._mode, self.value if self._mode == "constant" else None)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        return super().forward(input)


class _ZeroPad:
    """The constant is zero."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)  # type: ignore[call-arg]

    def extra_repr(self) -> str:
        return f"{self.padding}"  # type: ignore[attr-defined]


def _pads(kind: str, bases: Any) -> list[Any]:
    """The layers of a kind of padding for one, two and three dims, given the bases of each."""
    doc = f"Pads the last dims ({kind.lower()})."
    return [
        type(f"{kind}Pad{n}d", own if isinstance(own, tuple) else (own,), {"_dims": n, "__doc__": doc})
        for n, own in zip((1, 2, 3), bases if isinstance(bases, list) else [bases] * 3, strict=True)
    ]


ConstantPad1d, ConstantPad2d, ConstantPad3d = _constant = _pads("Constant", _ConstantPadNd)
ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads("Zero", [(_ZeroPad, base) for base in _constant])
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads("Reflection", _ReflectionPadNd)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads("Replication", _ReplicationPadNd)
CircularPad1d, CircularPad2d, CircularPad3d = _pads("Circular", _CircularPadNd)
