"""Small methods of the tensor type that are Python's protocols or combinations of others."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten

Tensor = _core.TensorBase


def _delitem(self: Any, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def is_nonzero(self: Any) -> bool:
    """Whether the one element is not zero; RuntimeError for another number of elements."""
    from shim_torch._impl.tensor.predicates import is_nonzero

    return is_nonzero(self)


def is_same_size(self: Any, other: Any) -> bool:
    """Whether the shapes are equal."""
    return self.shape == other.shape


def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both see the same memory with the same shape and strides."""
    return (
        self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def is_distributed(self: Any) -> bool:
    """False."""
    return False


def float_power_(self: Any, exponent: Any) -> Any:
    """In place; the tensor must be double or complex double, as the result is."""
    made = self.float_power(exponent)
    if made.dtype != self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {_core.scalar_name(self.dtype)} but the operation's result requires "
            f"dtype {_core.scalar_name(made.dtype)}"
        )
    return self.pow_(exponent)


def chalf(self: Any, *, memory_format: Any = _core.preserve_format) -> Any:
    """The tensor as complex32."""
    return self.to(_core.complex32, memory_format=memory_format)


def resize(self: Any, *sizes: Any) -> Any:
    """Deprecated: a view of other sizes with as many elements."""
    import warnings

    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return self.clone().resize_(*sizes) if self.numel() == 0 else self.view(*sizes)


def resize_as(self: Any, tensor: Any) -> Any:
    """A view with the sizes of ``tensor``."""
    return self.view(tensor.shape)


def _fix_weakref(self: Any) -> None:
    """Does nothing: tensors from weak references stay valid here."""


def _fill_grown(self: Any, had: int) -> None:
    """What resize_ calls in deterministic mode: the storage's new bytes, from ``had`` on, get a fixed value."""
    from shim_torch._impl.tensor.uninitialized import fill_grown

    fill_grown(self, had)


def _is_all_true(self: Any) -> Any:
    return self.all()


def _is_any_true(self: Any) -> Any:
    return self.any()


def _is_zerotensor(self: Any) -> bool:
    """False: zero tensors without memory do not exist here."""
    return False


# Methods of operators that the operators themselves leave to ``torch.ops.aten``.
_OPERATORS = """_addmm_activation _autocast_to_full_precision _autocast_to_reduced_precision _conj_physical slice_inverse
    _philox_normal_ _philox_uniform_""".split()
# Methods of quantized, nested and oneDNN's tensors: PyTorch refuses them for any other tensor too.
_REFUSED = """int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme to_mkldnn
    to_padded_tensor _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides""".split()


# Methods of tensors whose dims have names.
_NAMED = "align_as align_to refine_names rename rename_".split()


def _named_method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (
            name in ("rename", "rename_") and args == (None,) and not kwargs
        ):  # removes dim names, of which there are none
            return self if name == "rename_" else self.view_as(self)
        raise NotImplementedError(f"torch.Tensor.{name} is not supported by shim-torch: there are no named tensors")

    method.__name__ = method.__qualname__ = name
    return method


def _operator_method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(aten, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _refusing_method(name: str) -> Any:
    def method(self: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{self.device.type.upper()}' backend: torch.Tensor.{name} is "
            "for quantized, nested or oneDNN tensors, which shim-torch does not have"
        )

    method.__name__ = method.__qualname__ = name
    return method


def lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """As torch.lu, in a plain tuple."""
    from shim_torch._lowrank import lu

    return tuple(lu(self, pivot, get_infos))


# Gone: they say what to use.
_REMOVED = "eig lstsq solve symeig".split()


def _removed_method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from shim_torch import _linalg_utils

        return getattr(_linalg_utils, "_symeig" if name == "symeig" else name)(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"Removed from PyTorch; use torch.linalg.{'eigh' if name == 'symeig' else name}."
    return method


def install(tensor_type: Any) -> None:
    """Gives the tensor type what it does not have yet of the above."""
    names = (is_nonzero, is_same_size, is_set_to, is_distributed, float_power_, chalf,
             resize, resize_as, _fill_grown, lu, _is_all_true, _is_any_true, _fix_weakref, _is_zerotensor,
             *map(_named_method, _NAMED), *map(_removed_method, _REMOVED), *map(_operator_method, _OPERATORS), *map(_refusing_method, _REFUSED))  # fmt: skip
    for function in names:
        if not hasattr(tensor_type, function.__name__):
            setattr(tensor_type, function.__name__, function)
    tensor_type.__delitem__ = _delitem
    tensor_type.__div__ = tensor_type.__truediv__
    tensor_type.__rdiv__ = tensor_type.__rtruediv__
    tensor_type.__idiv__ = tensor_type.__itruediv__
    tensor_type.__nonzero__ = tensor_type.__bool__
    tensor_type.__long__ = tensor_type.__int__
