"""Parameter groups: the constructor's ``params`` checked and converted to a list of dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._utils import typename as _typename

Tensor = _core.Tensor


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def as_groups(params: Any) -> list[Any]:
    """The constructor's ``params`` as a list of groups (dicts)."""
    if isinstance(params, Tensor):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            + _typename(params)
        )
    groups = list(params)
    if not groups:
        raise ValueError("optimizer got an empty parameter list")
    return groups if isinstance(groups[0], dict) else [{"params": groups}]


def named_parameters(given: Any) -> dict[str, list[Any]]:
    """A group's ``params`` as a list and, where they are pairs of name and tensor, its ``param_names``."""
    if isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    given = [given] if isinstance(given, Tensor) else list(given)
    pairs = [p for p in given if isinstance(p, tuple)]
    if not pairs:
        return {"params": given}
    if len(pairs) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return {"params": [p[1] for p in pairs], "param_names": [p[0] for p in pairs]}


def check_trainable(params: list[Any], differentiable: bool) -> None:
    """TypeError for no tensor; ValueError for a non-leaf without retained gradient, unless ``differentiable``."""
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}")
        if not (differentiable or p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")


def members(groups: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The parameters of all groups."""
    return chain.from_iterable([group["params"] for group in groups])


def numbers_of(groups: Iterable[dict[str, Any]]) -> dict[int, int]:
    """id of a parameter -> its index among the parameters of all groups."""
    return {id(p): number for number, p in enumerate(members(groups))}


def with_gradients(groups: Iterable[dict[str, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The parameters that have a gradient, each with its group."""
    return ((p, group) for group in groups for p in group["params"] if p.grad is not None)


def zero(grad: Any) -> None:
    """Zeroes a gradient and detaches it from its graph."""
    (grad.requires_grad_(False) if grad.grad_fn is None else grad.detach_()).zero_()
