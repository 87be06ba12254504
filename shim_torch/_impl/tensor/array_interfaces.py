"""Tensors as arrays of NumPy and CUDA, and arrays as tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.arguments import need_bool as _need_bool

# Pickles of before name ``_rebuild`` and ``_rebuild_storage`` here; files of torch.save name ``_rebuild_from_type_v2``.


def numpy(self: Any, *, force: bool = False) -> Any:
    """An array over the tensor's memory; ``force`` detaches, moves and copies as needed."""
    _need_bool(force, "numpy", "force", None)
    if type(self) is not _core.Tensor:
        from shim_torch._impl.tensor.wrapper_subclasses import is_wrapper as _is_wrapper

        if _is_wrapper(self):
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if force:
        return _core.to_numpy(_core.lend_memory(self.detach().cpu().resolve_conj().resolve_neg()))
    if self.requires_grad and _core.is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if str(self.dtype) == "torch.bfloat16":
        raise TypeError("Got unsupported ScalarType BFloat16")
    return _core.to_numpy(_core.lend_memory(self))


def _array(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    import numpy as np

    if self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    array = _core.to_numpy(_core.lend_memory(self))
    if dtype is not None and array.dtype != dtype:
        if copy is False:  # NumPy 2 asks so, and takes what it gets for the tensor's memory
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return np.array(array) if copy else array


def _array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    if array.dtype == bool:  # what NumPy's ufuncs answer comes as uint8, as PyTorch has it
        array = array.astype("uint8")
    return _core.from_numpy(array) if array.ndim else _core.from_numpy(array.reshape(1))[0]


def _cuda_array_interface(self: Any) -> dict[str, Any]:
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() to get "
            "Variable that doesn't require grad."
        )
    size = self.element_size()
    kind = {"torch.bool": "|b1", "torch.bfloat16": "<f2"}.get(str(self.dtype)) or _core.numpy_dtype(self.dtype).str
    return {
        "typestr": kind,
        "shape": tuple(self.shape),
        "strides": None if self.is_contiguous() else tuple(s * size for s in self.stride()),
        "data": (self.data_ptr() if self.numel() else 0, False),
        "version": 2,
    }


naming.present(globals(), "torch._tensor")
