"""``torch.masked.maskedtensor``: tensors with a mask, by name."""

from shim_torch.masked import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
