"""``torch.Tensor(...)``, ``tensor.new(...)`` and what the typed constructors (``torch.FloatTensor``) share with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core

_FORMS = """expected one of:
 * (*, torch.device device = None)
 * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""


_NEW_FROM_TENSOR = {
    "Tensor": "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use "
    "torch.tensor(...) or torch.as_tensor(...) instead.",
    "new": "Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  Use torch.as_tensor(...) instead.",
}


def _check_device(given: Any, expected: str) -> None:
    if given is not None:
        given = given if isinstance(given, _core.device) else _core.device(given)
        if given.type != expected:
            raise RuntimeError(
                f"legacy constructor expects device type: {expected} but device type: {given.type} was passed"
            )


_alias = _core.function("aten::alias", "torch")


def build(args: tuple[Any, ...], kwargs: dict[str, Any], dtype: Any, device: str, typed: bool) -> Any:
    """The tensor that ``torch.Tensor(*args, **kwargs)`` or a typed constructor makes.

    No arguments: empty; integers or a Size: uninitialised of that shape; a tensor: an alias of it; a storage: 1-d over
    it; a sequence or array: a copy as dtype.
    Errors: TypeError for other arguments, RuntimeError for a device of another type.
    """
    unknown = [k for k in kwargs if k not in ("device", "data", "size", "other")]
    if unknown or len(args) + len([k for k in kwargs if k != "device"]) > 1 and "device" not in kwargs and kwargs:
        given = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise TypeError(f"new() received an invalid combination of arguments - got ({given}, ), but {_FORMS}")
    _check_device(kwargs.get("device"), device)
    for name in ("data", "size", "other"):
        if name in kwargs:
            args = (_core.Size(kwargs[name]) if name == "size" else kwargs[name], *args)
    where = _core.device(kwargs.get("device") or device)
    if not args:
        return _core.empty_tensor((0,), dtype, where)
    first = args[0]
    if len(args) > 1 or (isinstance(first, (int, np.integer)) and not isinstance(first, bool)):
        return _core.empty_tensor(_sizes(args), dtype, where)
    if isinstance(first, _core.Size):
        return _core.empty_tensor(first, dtype, where)
    if isinstance(first, _core.TensorBase):
        if kwargs.get("device") is not None:
            raise RuntimeError(_NEW_FROM_TENSOR["new" if typed else "Tensor"])
        if typed and first.dtype is not dtype:
            from shim_torch._impl.tensor.legacy_types import TENSORS

            wanted = next((n for n, d in TENSORS.items() if d is dtype), str(dtype))
            prefix = "torch.cuda." if device == "cuda" else "torch."
            raise TypeError(f"expected {prefix}{wanted} (got {first.type()})")
        return _alias(first)
    if isinstance(first, _core.UntypedStorage) or type(first).__name__ == "TypedStorage":
        from shim_torch._impl.tensor.untyped_storage import over_either

        return over_either(first, dtype)
    return _data(first, dtype, where)


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    for i, n in enumerate(args):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            if i == 0 and len(args) > 1:
                raise TypeError(
                    f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)}), but "
                    "expected one of:\n * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
                    " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)\n"
                )
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {i + 1} with error "
                f'"type must be tuple of ints,but got {type(n).__name__}"'
            )
    sizes = tuple(int(n) for n in args)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def _data(data: Any, dtype: Any, device: Any) -> Any:
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    from shim_torch._impl.tensor.from_data import _from_data

    if isinstance(data, np.ndarray) or not dtype.is_floating_point:
        made = _from_data(data, None, _core.device("cpu")).to(device=device, dtype=dtype)
    else:
        made = _from_data(data, dtype, device)
    if _core._len_torch_dispatch_stack():
        from shim_torch._impl.tensor.from_data import _shown_to_modes

        return _shown_to_modes(made, None)
    return made


def new(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``tensor.new(...)``: the old constructor with the tensor's dtype and device."""
    if self.layout != _core.strided:
        from shim_torch._impl.sparse.legacy import build as build_sparse

        return build_sparse(args, kwargs, self.dtype, self.device)
    return build(args, kwargs, self.dtype, self.device.type, typed=True)


def construct(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """``cls(*args, **kwargs)`` for ``torch.Tensor`` and subclasses that leave ``__new__`` alone."""
    made = build(args, kwargs or {}, _core.get_default_dtype(), _core.get_default_device().type, typed=False)
    return made if cls is _core.Tensor else made.as_subclass(cls)
