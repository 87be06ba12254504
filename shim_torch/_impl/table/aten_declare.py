"""How this package's families declare operators: bodies of torch calls for schemas that stand in ``aten_overloads.txt``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import apart, recording
from shim_torch._impl.table.aten import table
from shim_torch._impl.table.calls import aten as operators
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite

Body = Callable[..., Any]


def schema(full: str) -> str:
    """The table's schema of an operator: ``"_fused_adam_.tensor_lr"``."""
    for text, _ in table()[full.partition(".")[0]]:
        if text.partition("(")[0] == full:
            return text
    raise KeyError(full)


def aten(*names: str, public: bool = False, **traits: Any) -> Callable[[Body], Body]:
    """Gives the operators of these names a body of torch calls, which gets the arguments in the schema's order.

    public: torch has functions of these names, too.
    """

    def declare(body: Body) -> Body:
        for name in names:
            composite(f"aten::{schema(name)}", function=public, method=False, ops_only=not public, **traits)(body)
        return body

    return declare


def _with_history(*groups: Any) -> bool:
    tensors = [t for group in groups for t in (group if isinstance(group, (list, tuple)) else (group,))]
    return any(isinstance(t, _core.TensorBase) and t.requires_grad for t in tensors)


def package() -> Any:
    """The package, for what is no operator: its modules come in when an operator runs."""
    import shim_torch

    return shim_torch


def by_parts(name: str) -> Body:
    """What computes an operator: of a composite its parts, whose gradients do not call for this one's."""
    from shim_torch._impl.table.operators import records

    record = records()[f"aten::{name}"]
    return record.body if record.kind == "composite" else getattr(operators, name)


def pulled(
    function: Body, inputs: Sequence[Any], gradients: Any, mask: Sequence[bool] | None = None
) -> tuple[Any, ...]:
    """The gradients of ``function`` at ``inputs``, None where the mask is False or there is no input; differentiable again."""
    keep = _core.is_grad_enabled()
    wanted = [x is not None and (mask is None or bool(mask[i])) for i, x in enumerate(inputs)]
    with recording():
        leaves = [apart(x if keep else x.detach()) if w else x for x, w in zip(inputs, wanted, strict=True)]
        outputs = function(*leaves)
        asked = [x for x, w in zip(leaves, wanted, strict=True) if w]
        if not asked:
            return tuple(None for _ in inputs)
        found = iter(package().autograd.grad(outputs, asked, gradients, create_graph=keep, allow_unused=True))
    given = [next(found) if w else None for w in wanted]
    if keep and not _with_history(inputs, gradients):  # the graph leads to leaves of our own
        given = [None if g is None else g.detach() for g in given]
    return tuple(torch.zeros_like(x) if w and g is None else g for x, w, g in zip(inputs, wanted, given, strict=True))
