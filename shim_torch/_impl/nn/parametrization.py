"""Parametrizations checked before they are registered, and classes of modules that have some."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core


class Lenient:
    """A parametrization whose inverse, where it has none, gives back what it gets."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def right_inverse(self, value: Any) -> Any:
        """The parametrization's own inverse of ``value``; ``value`` where it has none."""
        try:
            return self.module.right_inverse(value) if hasattr(self.module, "right_inverse") else value
        except NotImplementedError:
            return value


def differences(one: Any, other: Any, *what: str) -> Iterator[tuple[str, Any, Any]]:
    """Which attributes two tensors do not share: the name and both values."""
    both = ((name, getattr(one, name), getattr(other, name)) for name in what)
    return (difference for difference in both if difference[1] != difference[2])


def deepcopy_module(self: Any, memo: dict[int, Any]) -> Any:
    """A copy of the same class: the class is the original's own, but says nothing of it."""
    made = memo[id(self)] = self.__new__(self.__class__)
    made.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(made, slot, copy.deepcopy(getattr(self, slot), memo))
    return made


def refuse_pickling(self: Any) -> Any:
    """The ``__getstate__`` of parametrized modules: RuntimeError, for their classes are made at run time."""
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\nhttps://pytorch.org/tutorials/beginner/"
        "saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def check_further(module: Any, name: str, parametrization: Any) -> None:
    """A further parametrization, and its inverse, must keep dtype and shape."""
    value = getattr(module, name)
    changed = parametrization(value)
    if not isinstance(changed, _core.TensorBase):
        raise ValueError(f"A parametrization must return a tensor. Got {type(changed).__name__}.")
    for what, before, after in differences(value, changed, "dtype", "shape"):
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
            f"module.{name}.{what}: {before}\nparametrization(module.{name}).{what}: {after}"
        )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(changed)
    except NotImplementedError:
        return
    if not isinstance(back, _core.TensorBase):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what, before, after in differences(value, back, "dtype", "shape"):
        raise ValueError(
            f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the "
            f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {before}\nreturned {what}: {after}"
        )
