"""Parts of ``torch.library``: schemas inferred from annotations, and custom operators."""

from __future__ import annotations

from shim_torch._missing import asked_of as _asked_of

from .custom_ops import CustomOpDef, custom_op
from .infer_schema import infer_schema

__all__ = ["CustomOpDef", "custom_op", "infer_schema"]

__getattr__ = _asked_of(__name__)
