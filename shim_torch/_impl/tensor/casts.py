"""Methods of the tensor type that name a cast or a move."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


def methods() -> dict[str, Any]:
    """They by name."""
    table: dict[str, Any] = {}

    def cast(name: str, dtype: Any) -> None:
        def method(self: Any, *, memory_format: Any = None) -> Any:
            return self.to(dtype) if memory_format is None else self.to(dtype, memory_format=memory_format)

        method.__name__ = name
        table[name] = method

    for name, dtype_name in _CASTS.items():
        cast(name, getattr(_core, dtype_name))

    def cpu(self: Any, memory_format: Any = None) -> Any:
        if memory_format is None and _core.unseen(self):
            return self
        return self.to(_core.device("cpu"), memory_format=memory_format)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        where = (
            _core.device("cuda")
            if device is None
            else _core.device("cuda", device)
            if isinstance(device, int)
            else _core.device(device)
        )
        if where.type != "cuda":
            raise RuntimeError("Invalid device, must be cuda device")
        return self.to(where, non_blocking=non_blocking, memory_format=memory_format)

    def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
        from shim_torch._impl.tensor import legacy_types

        return legacy_types.type_of(self) if dtype is None else legacy_types.cast(self, dtype, non_blocking)

    def pin_memory(self: Any, device: Any = None) -> Any:
        if self.is_pinned():
            return self
        pinned = _core.empty_strided(self.shape, self.stride(), dtype=self.dtype, pin_memory=True)
        return pinned.copy_(self)

    table.update(cpu=cpu, cuda=cuda, type=type_, pin_memory=pin_memory)
    return table
