"""``torch.multiprocessing.reductions``: how tensors are pickled for another process: by value."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["ForkingPickler", "init_reductions", "reduce_tensor"]


def reduce_tensor(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """(function, arguments) that make a copy of a CPU tensor; CUDA memory isn't shared between processes."""
    if tensor.is_cuda:
        raise NotImplementedError(
            "torch.multiprocessing.reductions.reduce_tensor of CUDA tensors is not supported by shim-torch"
        )
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it "
            "on the queue)."
        )
    return tensor.__reduce_ex__(4)


def init_reductions() -> None:
    """Tensors pickle by themselves."""
