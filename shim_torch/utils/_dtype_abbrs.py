"""``torch.utils._dtype_abbrs``: short names of dtypes, as logs of tensors print them (``f32``, ``i64``)."""

from __future__ import annotations

from typing import Any

import shim_torch

_SHORT = {"complex": "c", "float": "f", "bfloat": "bf", "uint": "u", "int": "i", "bool": "b8"}


def _abbreviation(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    if name.startswith("bits"):
        return "b" + (name[4:] if "x" in name else f"{name[4:]}x1")
    kind = name.rstrip("0123456789").split("8_")[0].split("4_")[0]
    return _SHORT.get(kind, kind) + name.removeprefix(kind).replace("_", "") if kind != "bool" else "b8"


dtype_abbrs = {dtype: _abbreviation(dtype) for dtype in shim_torch._C._get_all_dtypes()}
