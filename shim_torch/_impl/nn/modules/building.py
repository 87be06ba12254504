"""Shared by constructors of layers: parameters of given shapes, initial values, and settings for ``repr``."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.table.calls import torch
from shim_torch.nn import init
from shim_torch.nn.parameter import Parameter


def make_parameters(layer: Any, device: Any, dtype: Any, **shapes: tuple[int, ...] | None) -> None:
    """Registers uninitialised parameters of these shapes; None registers the name without a parameter."""
    for name, shape in shapes.items():
        if shape is None:
            layer.register_parameter(name, None)
        else:
            setattr(layer, name, Parameter(torch.empty(shape, dtype=dtype, device=device)))


def draw_within(parameters: Iterable[Any], size: int) -> None:
    """Draws each from U(-1/√size, 1/√size), one after another; zeros of size 0."""
    bound = 1 / math.sqrt(size) if size > 0 else 0
    for parameter in parameters:
        init.uniform_(parameter, -bound, bound)


def draw_by_fan_in(layer: Any) -> None:
    """Draws weight and bias from U(-1/√n, 1/√n) for the n inputs of an output."""
    init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
    if layer.bias is not None:
        draw_within([layer.bias], math.prod(layer.weight.shape[1:]))


def fill_affine(layer: Any) -> None:
    """Fills the weight with 1 and the bias with 0, where they exist."""
    if layer.weight is not None:
        init.ones_(layer.weight)
    if getattr(layer, "bias", None) is not None:
        init.zeros_(layer.bias)


def settings_beside(layer: Any, **plain: Any) -> str:
    """``, name=value`` of each setting that differs from the plain one, in this order."""
    values = {name: getattr(layer, name) for name in plain}
    return "".join(f", {name}={value}" for name, value in values.items() if value != plain[name])


def wrapped_index(length: int, i: Any) -> int:
    """An index counted from 0, negative ones from the end; IndexError outside of ``length``."""
    i = operator.index(i)
    if not -length <= i < length:
        raise IndexError(f"index {i} is out of range")
    return i % length


def by_name(layer: str, order: Any, known: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a layer's constructor by name; TypeError for too many, unknown or doubly given ones."""
    for name, value in zip(order, args, strict=False):
        if name in kwargs:
            raise TypeError(f"{layer}.__init__() got multiple values for argument '{name}'")
        kwargs[name] = value
    if len(args) > len(order):
        raise TypeError(f"{layer}.__init__() takes at most {len(order)} arguments, got {len(args)}")
    for name in kwargs:
        if name not in known:
            raise TypeError(f"{layer}.__init__() got an unexpected keyword argument '{name}'")
    return kwargs
