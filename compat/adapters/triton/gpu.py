"""Triton on a GPU: its own driver, launcher and compiler, over our tensors and our current stream."""

from __future__ import annotations

from contextlib import ExitStack


def install(stack: ExitStack) -> None:
    """Called before Triton is imported, when ``torch.cuda.is_available()``.

    Triton's own driver takes device, stream and capability from the torch that its scope gives it.
    """
