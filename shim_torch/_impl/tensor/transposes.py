"""Transposes that are properties of the tensor type."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.warnings import warn_once


def _matrices(self: Any, name: str) -> Any:
    """The matrices' transposes; None where there are no dims, which is deprecated."""
    if self.dim() >= 2:
        return self.transpose(-2, -1)
    if self.dim() == 0:
        return None
    raise RuntimeError(
        f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
    )


def adjoint(self: Any, name: str) -> Any:
    """The conjugate of matrices with their last two dims exchanged, for ``name``, which errors and warnings say."""
    transposed = _matrices(self, name)
    if transposed is None:
        shown = name if name.endswith("()") else "Tensor." + name
        warn_once(
            f"{shown} is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=5 if name == "mH" else 4
        )
    return (self if transposed is None else transposed).conj()


def _matrix_transpose(self: Any) -> Any:
    transposed = _matrices(self, "mT")
    if transposed is None:
        warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.", stacklevel=4)
    return self if transposed is None else transposed


def _conjugate_transpose(self: Any) -> Any:
    if self.dim() == 0:
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=4)
        return self.conj()
    if self.dim() != 2:
        batches = " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{batches}")
    return self.transpose(-2, -1).conj()


def _reversed_dims(self: Any) -> Any:
    """``x.T``: deprecated for what is not a matrix."""
    if self.dim() == 2:
        return self.permute(1, 0)
    if not self.dim():
        warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    else:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
            "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
            "to reverse the dimensions of a tensor.",
        )
    return self.permute(list(range(self.dim()))[::-1])


def properties() -> dict[str, property]:
    """T, mT, H and mH."""
    return {
        "T": property(_reversed_dims),
        "mT": property(_matrix_transpose),
        "H": property(_conjugate_transpose),
        "mH": property(lambda self: adjoint(self, "mH")),
    }
