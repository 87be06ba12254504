"""What communication hooks get of DistributedDataParallel, and what they may look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from shim_torch._impl.distributed.groups import GradBucket


class Bucket(GradBucket):
    """Gradients that are reduced together, as communication hooks get them."""

    def __init__(self, index: int, last: bool, flat: Any, parts: list[Any], parameters: list[Any]) -> None:
        self._index, self._last, self._flat, self._parts, self._parameters = index, last, flat, parts, parameters

    def index(self) -> int:
        """The bucket's number, in the order of reduction."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the iteration's last."""
        return self._last

    def buffer(self) -> Any:
        """The gradients, flat."""
        return self._flat

    def set_buffer(self, tensor: Any) -> None:
        """Puts other values in the buffer's place."""
        self._flat = tensor

    def gradients(self) -> list[Any]:
        """The gradients, in their parameters' shapes."""
        return self._parts

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._parameters


def check_hook(hook: Callable[..., Any]) -> None:
    """ValueError where a communication hook's annotations say that it takes or gives something else."""
    from shim_torch.futures import Future

    signature = inspect.signature(hook)
    bucket = signature.parameters.get("bucket")
    if bucket is not None and bucket.annotation not in (inspect.Parameter.empty, GradBucket, Any, "Any"):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    fine = (inspect.Signature.empty, Future, Any, "Any")
    result = signature.return_annotation
    if result not in fine and getattr(result, "__origin__", None) is not Future and not isinstance(result, str):
        raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")
