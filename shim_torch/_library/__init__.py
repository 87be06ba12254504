"""Parts of ``torch.library``: schemas inferred from annotations, and custom operators."""

from __future__ import annotations

from . import infer_schema
from .custom_ops import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op", "infer_schema"]
