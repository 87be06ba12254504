"""What printed graphs say beside the steps: types, the tensors that a trace saw, and where a step was written."""

from __future__ import annotations

import re
import types
from typing import Any

from shim_torch._impl.native import _core


def type_text(o: Any) -> str:
    """A type as ``print(graph)`` has it: classes by module and name, anything else by its repr."""
    if isinstance(o, type) and not isinstance(o, types.GenericAlias):
        module = re.sub(r"^shim_torch\b", "torch", o.__module__)
        return o.__qualname__ if module == "builtins" else f"{module}.{o.__qualname__}"
    if o is ...:
        return "..."
    return str(o.__name__) if isinstance(o, types.FunctionType) else repr(o)


def typed(node: Any) -> str:
    """The type of a step and a space, or nothing."""
    return f"{type_text(node.type)} " if node.type is not None else ""


def value_text(node: Any, include_stride: bool, include_device: bool) -> str | None:
    """``"f32[2, 3]"`` of the tensor that a trace saw at a step; None where it saw none."""
    from shim_torch.utils._dtype_abbrs import dtype_abbrs

    seen = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    tensor = isinstance(seen, _core.TensorBase)
    if not tensor and not (hasattr(seen, "dtype") and hasattr(seen, "shape") and hasattr(seen, "stride")):
        return None
    strides = f"{list(seen.stride() if tensor else seen.stride)}" if include_stride else ""
    device = str(seen.device) if include_device and tensor else ""
    return f'"{dtype_abbrs[seen.dtype]}{list(seen.shape)}{strides}{device}"'


def origin(node: Any) -> str:
    """The comment on where a step was written: the last line of its stack, where that was recorded."""
    if not node.stack_trace:
        return "# No stacktrace found for following nodes"
    found = re.findall(r'File "(.+)", line (\d+), in (.+)\n\s*(.+)', node.stack_trace)
    if not found:
        return "# No stacktrace found for following nodes"
    file, line, name, code = found[-1]
    return f"# File: {file}:{line} in {name}, code: {code.strip()}"
