"""Nested tensors of the strided layout: each part may have sizes of its own in every dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import Nested, seen, wrapper
from shim_torch._impl.table.calls import torch

__all__ = ["StridedNestedTensor"]


class StridedNestedTensor(Nested):
    """A list of tensors of one dtype, device and number of dimensions, as one tensor with one dimension more."""

    _parts: list[Any]

    @staticmethod
    def __new__(cls: Any, parts: Sequence[Any], dtype: Any = None, device: Any = None) -> Any:
        first = parts[0] if parts else None
        made: Any = wrapper(_core.Tensor)(
            cls,
            (len(parts), *(first.shape if first is not None else ())),
            dtype=first.dtype if first is not None else dtype or _core.get_default_dtype(),
            device=first.device if first is not None else device or _core.device("cpu"),
        )
        made._parts = list(parts)
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def parts(self) -> list[Any]:
        """Views of the rows, one tensor each."""
        return [seen(p) for p in self._parts]

    def held(self) -> list[Any]:
        """The tensors that hold the data: one a row."""
        return list(self._parts)

    def like(self, held: list[Any]) -> Any:
        """A nested tensor of other tensors in place of these rows."""
        return StridedNestedTensor(held, self.dtype, self.device)

    def of_parts(self, parts: Sequence[Any]) -> Any:
        """A nested tensor of other rows."""
        return StridedNestedTensor(list(parts), self.dtype, self.device)

    def irregular(self, dim: int) -> bool:
        """Whether the sizes of a dimension differ."""
        return dim > 0 and len({p.shape[dim - 1] for p in self._parts}) > 1

    def contiguous_parts(self) -> bool:
        """Whether the elements of every part lie in order."""
        return all(p.is_contiguous() for p in self._parts)

    def buffer(self) -> Any:
        """The elements of all parts, in one row."""
        if not self._parts:
            return torch.empty(0, dtype=self.dtype, device=self.device)
        return torch.cat([p.reshape(-1) for p in self._parts])

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from textwrap import indent

        inner = ",\n".join(indent(str(p), "  ") for p in self._parts)
        tail = ""
        if self.requires_grad:
            fn = self.grad_fn
            tail = f", grad_fn=<{type(fn).__name__}>" if fn is not None else ", requires_grad=True"
        return f"nested_tensor([\n{inner}\n]{tail})" if self._parts else f"nested_tensor([\n\n]{tail})"

    def _state(self) -> tuple[Any, ...]:
        return "strided", self.parts(), self.dtype, self.device
