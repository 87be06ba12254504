"""``torch.masked.maskedtensor``: tensors whose elements may be left out, and what operators do with them."""

from __future__ import annotations

from shim_torch.masked.maskedtensor.binary import _apply_native_binary, _is_native_binary
from shim_torch.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from shim_torch.masked.maskedtensor.passthrough import _apply_pass_through_fn, _is_pass_through_fn
from shim_torch.masked.maskedtensor.reductions import _apply_reduction, _is_reduction
from shim_torch.masked.maskedtensor.unary import _apply_native_unary, _is_native_unary

__all__ = [
    "MaskedTensor", "_apply_native_binary", "_apply_native_unary", "_apply_pass_through_fn", "_apply_reduction",
    "_is_native_binary", "_is_native_unary", "_is_pass_through_fn", "_is_reduction", "is_masked_tensor",
]  # fmt: skip
