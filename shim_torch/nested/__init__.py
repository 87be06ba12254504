"""``torch.nested``: tensors of tensors of several lengths, which shim-torch has none of; padding a list works."""

from __future__ import annotations

from typing import Any

__all__ = ["nested_tensor", "to_padded_tensor"]


def _refuse(name: str) -> Any:
    raise NotImplementedError(
        f"torch.nested.{name} is not supported by shim-torch: pad the tensors (torch.nn.utils.rnn.pad_sequence)"
    )


def nested_tensor(tensor_list: Any, *_: Any, **__: Any) -> Any:
    return _refuse("nested_tensor")


def as_nested_tensor(ts: Any, *_: Any, **__: Any) -> Any:
    return _refuse("as_nested_tensor")


def nested_tensor_from_jagged(*_: Any, **__: Any) -> Any:
    return _refuse("nested_tensor_from_jagged")


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    return _refuse("to_padded_tensor")


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.nested", name)
