"""``torch.distributed.tensor.parallel``: plans for spreading a module. On a mesh of one device there is nothing to spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]


class ParallelStyle(ABC):
    """How one module is spread."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any: ...


class _Style(ParallelStyle):
    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise NotImplementedError(
            f"torch.distributed.tensor.parallel.{type(self).__name__} is not supported by shim-torch: tensors are on one device"
        )


class ColwiseParallel(_Style):
    """The weight's rows are spread."""


class RowwiseParallel(_Style):
    """The weight's columns are spread."""


class SequenceParallel(_Style):
    """The sequence is spread."""


class PrepareModuleInput(_Style):
    """Inputs are laid out before."""


class PrepareModuleInputOutput(_Style):
    """Inputs are laid out before, outputs after."""


class PrepareModuleOutput(_Style):
    """Outputs are laid out after."""


def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None, **_: Any) -> Any:
    """Spreads a module by a plan: NotImplementedError."""
    raise NotImplementedError(
        "torch.distributed.tensor.parallel.parallelize_module is not supported by shim-torch: tensors are on one device"
    )


def loss_parallel() -> Any:
    """A loss of spread logits: NotImplementedError."""
    raise NotImplementedError(
        "torch.distributed.tensor.parallel.loss_parallel is not supported by shim-torch: tensors are on one device"
    )
