"""``torch.ao.nn``: quantized modules. There are none: the packages exist, their lists of modules are empty."""

from __future__ import annotations

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.ao.nn import qat as qat
from shim_torch.ao.nn import quantizable as quantizable
from shim_torch.ao.nn import quantized as quantized

__getattr__ = _asked_of(__name__)
