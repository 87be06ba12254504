"""Layers that join and split dims."""

from __future__ import annotations

from typing import Any

from shim_torch.nn.modules.module import Module


class Flatten(Module):
    """Flattens dims start_dim..end_dim into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        """``input`` with the dims made one."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Which dims are made one."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def _check_ints(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
    for at, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {at}"
            )


class Unflatten(Module):
    """Splits one dim into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        _check_ints(unflattened_size)  # sizes with names, a dim's for named tensors, are refused too
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        """``input`` with the dim split."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Which dim is split, and into which sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
