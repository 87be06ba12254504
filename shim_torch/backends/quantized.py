"""``torch.backends.quantized``: engines of quantized operators, of which shim-torch has none."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.backends.flags import has_settings

_settings: dict[str, Any] = {"engine": "none", "supported_engines": ["none"]}
has_settings(__name__)
