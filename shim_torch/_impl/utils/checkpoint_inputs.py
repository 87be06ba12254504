"""The options and inputs of a checkpoint: what they ask for, their devices, and themselves as leaves."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


class DefaultDeviceType:
    """The device type of checkpoints whose arguments hold no tensor."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets the type of device, "cuda" at first."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type of device that is set."""
        return DefaultDeviceType._default_device_type


def _infer_device_type(*args: Any) -> str:
    """The first accelerator among the arguments' devices, or the default."""
    from shim_torch._impl.utils.pytree import tree_leaves

    found = [x.device.type for x in tree_leaves(args) if isinstance(x, _core.TensorBase) and x.device.type != "cpu"]
    return found[0] if found else DefaultDeviceType.get_device_type()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as leaves, each with its requires_grad."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, _core.TensorBase) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns when no input needs a gradient."""
    if not any(isinstance(x, _core.TensorBase) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def is_reentrant(use_reentrant: bool | None) -> bool:
    """Which kind of checkpoint is asked for; None is the reentrant one, with a warning."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended.",
            stacklevel=3,
        )
    return use_reentrant is None or bool(use_reentrant)


def preserve_rng_state_of(options: dict[str, Any], others: bool) -> bool:
    """The option of that name, taken out; ValueError for ``others`` unless they may be there."""
    preserve = options.pop("preserve_rng_state", True)
    if options and not others:
        raise ValueError("Unexpected keyword arguments: " + ",".join(options))
    return bool(preserve)


naming.present(globals(), "torch.utils.checkpoint")
