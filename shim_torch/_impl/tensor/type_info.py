"""``torch.finfo`` and ``torch.iinfo``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import as_dtype, need_dtype

# bits, eps, max, smallest_normal, tiny_subnormal, resolution
_FLOATS: dict[str, tuple[int, float, float, float, float, float]] = {
    "float64": (64, 2.0**-52, 1.7976931348623157e308, 2.0**-1022, 5e-324, 1e-15),
    "float32": (32, 2.0**-23, 3.4028234663852886e38, 2.0**-126, 2.0**-149, 1e-6),
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 2.0**-24, 1e-3),
    "bfloat16": (16, 2.0**-7, 3.3895313892515355e38, 2.0**-126, 2.0**-133, 1e-2),
    "float8_e4m3fn": (8, 0.125, 448.0, 2.0**-6, 2.0**-9, 1.0),
    "float8_e5m2": (8, 0.25, 57344.0, 2.0**-14, 2.0**-16, 1.0),
    "float8_e4m3fnuz": (8, 0.125, 240.0, 2.0**-7, 2.0**-10, 1.0),
    "float8_e5m2fnuz": (8, 0.25, 57344.0, 2.0**-15, 2.0**-17, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 2.0**-127, 1.0),
}


def _limit(name: str) -> Any:
    """A read-only attribute that the class has too."""
    return property(lambda self: self._limits[name])


_KNOWN: dict[Any, dict[str, Any]] = {}
_KNOWN_INTEGERS: dict[Any, dict[str, Any]] = {}
_DEFAULT = object()  # finfo() is of the default dtype; finfo(None) is an error


class finfo:
    """Limits of a floating-point dtype: bits, eps, max, min, tiny, smallest_normal, resolution."""

    def __init__(self, type: Any = _DEFAULT) -> None:
        dtype = _core.get_default_dtype() if type is _DEFAULT else type
        if dtype.__class__ is _core.dtype and dtype in _KNOWN:
            self._limits = _KNOWN[dtype]
            return
        dtype = as_dtype(dtype)
        need_dtype(dtype, "finfo", "type", 1)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        name = str(dtype.to_real()).removeprefix("torch.")
        if name not in _FLOATS:
            raise NotImplementedError(f"\"dtype\" not implemented for '{_core.scalar_name(dtype)}'")
        bits, eps, most, smallest_normal, _, resolution = _FLOATS[name]
        least = -most if name != "float8_e8m0fnu" else 2.0**-127
        self._limits = {
            "dtype": name, "bits": bits, "eps": eps, "max": most, "min": least,
            "resolution": resolution, "smallest_normal": smallest_normal, "tiny": smallest_normal,
        }  # fmt: skip
        _KNOWN[dtype] = self._limits

    dtype, bits, eps, max, min, resolution, smallest_normal, tiny = map(
        _limit, ("dtype", "bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    )

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, type: Any) -> None:
        if type.__class__ is _core.dtype and type in _KNOWN_INTEGERS:
            self._limits = _KNOWN_INTEGERS[type]
            return
        type = as_dtype(type)
        need_dtype(type, "iinfo", "type", 1)
        if type.is_floating_point or type.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type == _core.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        bits, signed = type.itemsize * 8, type.is_signed
        self._limits = {
            "dtype": str(type).removeprefix("torch."), "bits": bits,
            "max": 2 ** (bits - signed) - 1, "min": -(2 ** (bits - 1)) if signed else 0,
        }  # fmt: skip
        _KNOWN_INTEGERS[type] = self._limits

    dtype, bits, max, min = map(_limit, ("dtype", "bits", "max", "min"))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


finfo.__module__ = iinfo.__module__ = "torch"
