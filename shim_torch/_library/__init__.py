"""Parts of ``torch.library``: schemas inferred from annotations, and custom operators."""

from __future__ import annotations

from shim_torch._impl.surface.missing import asked_of as _asked_of

from . import infer_schema
from .custom_ops import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op", "infer_schema"]

__getattr__ = _asked_of(__name__)
