"""``torch.onnx.operators``: sizes as tensors, by older names."""

from __future__ import annotations

import shim_torch

__all__: list[str] = []

shape_as_tensor = shim_torch._shape_as_tensor
reshape_from_tensor_shape = shim_torch.ops.aten._reshape_from_tensor
