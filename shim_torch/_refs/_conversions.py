"""``torch._refs._conversions``: a tensor to another dtype, and complex tensors of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import complex as complex
from shim_torch import polar as polar
from shim_torch import preserve_format
from shim_torch._refs import names_of

_DTYPES = (
    "bfloat16:bfloat16 bool:bool byte:uint8 cdouble:complex128 cfloat:complex64 chalf:complex32 char:int8 double:float64 "
    "float:float32 half:float16 int:int32 long:int64 short:int16"
)


def _conversion(name: str, dtype: Any) -> Callable[..., Any]:
    def function(self: Any, memory_format: Any = preserve_format) -> Any:
        return self.to(dtype, memory_format=memory_format)

    function.__name__ = function.__qualname__ = name
    return function


def _install() -> None:
    import shim_torch

    for pair in _DTYPES.split():
        name, dtype = pair.split(":")
        globals()[name] = _conversion(name, getattr(shim_torch, dtype))


_install()
__all__ = names_of(__name__)
