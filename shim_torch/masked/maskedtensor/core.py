"""``torch.masked.maskedtensor.core``: tensors with a mask, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_MASKED, names
from shim_torch.masked import MaskedTensor as MaskedTensor
from shim_torch.masked import is_masked_tensor as is_masked_tensor

globals().update(
    names(
        "torch.masked.maskedtensor.core",
        NO_MASKED,
        """
        _masks_match _map_mt_args_kwargs _wrap_result _tensors_match
        get_at_least_one_mask
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.masked.maskedtensor.core", name)
