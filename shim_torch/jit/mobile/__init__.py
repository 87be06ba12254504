"""``torch.jit.mobile``: TorchScript's lite interpreter, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_SCRIPT, declare

__getattr__ = declare(
    globals(),
    NO_SCRIPT,
    """
    _load_for_lite_interpreter LiteScriptModule _export_operator_list _get_model_bytecode_version
    _get_mobile_model_contained_types _backport_for_mobile _backport_for_mobile_to_buffer
    _get_model_ops_and_info
    """,
)
