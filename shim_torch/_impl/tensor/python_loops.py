"""Methods that call a Python function for every element."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming

# Pickles of before name ``_rebuild`` and ``_rebuild_storage`` here; files of torch.save name ``_rebuild_from_type_v2``.


def apply_(self: Any, function: Any) -> Any:
    """Replaces every element by function(element); CPU only and slow."""
    if self.device.type != "cpu":
        raise TypeError("apply_ is only implemented on CPU tensors")
    return _replaced("apply_", self, [], function)


def map_(self: Any, other: Any, function: Any) -> Any:
    """Every element becomes function(element, of other); CPU only and slow."""
    return _replaced("map_", self, [other], function)


def map2_(self: Any, x: Any, y: Any, function: Any) -> Any:
    """Every element becomes function(element, of x, of y); CPU only and slow."""
    return _replaced("map2_", self, [x, y], function)


def _replaced(name: str, self: Any, others: list[Any], function: Any) -> Any:
    from shim_torch._impl.tensor.from_data import tensor

    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    given = [self, *(t.expand(self.shape) for t in others)]
    columns = [t.reshape(-1).tolist() for t in given]
    values = [function(*row) for row in zip(*columns, strict=True)]
    for value in values:
        if not hasattr(value, "__float__") and not isinstance(value, complex):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    return self.copy_(tensor(values, dtype=self.dtype).view(self.shape))


naming.present(globals(), "torch._tensor")
