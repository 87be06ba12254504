"""``torch.masked.maskedtensor.core``: tensors with a mask, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_MASKED, declare
from shim_torch.masked import MaskedTensor as MaskedTensor
from shim_torch.masked import is_masked_tensor as is_masked_tensor

__getattr__ = declare(
    globals(),
    NO_MASKED,
    """
    _masks_match _map_mt_args_kwargs _wrap_result _tensors_match
    get_at_least_one_mask
    """,
)
