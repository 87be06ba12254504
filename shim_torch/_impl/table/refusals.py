"""Dtypes that PyTorch's CPU kernels do not take, with its errors: ``refusing(rule, ("bc", "fmod_cpu"))`` is a rule that checks.

A refusal is kinds of the compute dtype (b bool, i integer, f floating point, c complex) and a text. A text without a space is the
name of a kernel that lacks the dtype. Others are whole: of a RuntimeError, or of a NotImplementedError after ``!``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import not_implemented

Refusal = tuple[str, str]
Refusals = tuple[Refusal, ...]


def kind(dtype: Any) -> str:
    """b, i, f or c."""
    if dtype.is_complex:
        return "c"
    if dtype.is_floating_point:
        return "f"
    return "b" if dtype is _core.bool else "i"


def refuse(dtype: Any, *refused: Refusal, meta: bool = False) -> None:
    """Raises PyTorch's error where the dtype is refused; meta tensors know no kernels."""
    for kinds, text in refused:
        if kind(dtype) not in kinds or (meta and " " not in text):
            continue
        if " " not in text:
            raise not_implemented(text, dtype)
        raise (NotImplementedError if text[0] == "!" else RuntimeError)(text.removeprefix("!"))


def refusing(rule: Callable[..., Any], *refused: Refusal) -> Callable[..., Any]:
    """The dtype rule ``rule`` of all operands, checked; ``rule`` itself where nothing is refused."""
    if not refused:
        return rule

    def checked(*arguments: Any) -> Any:
        found = rule(*arguments)
        compute = found[0] if isinstance(found, tuple) else found
        without = any(isinstance(a, _core.TensorBase) and a.is_meta for a in arguments)
        try:
            refuse(compute if compute is not None else _core.result_type(*arguments), *refused, meta=without)
        except NotImplementedError as error:
            if compute is not found and hasattr(error, "compute_dtype"):
                error.compute_dtype = found[1]  # of comparisons what is written is bool
            raise
        return found

    checked.takes_all = True  # type: ignore[attr-defined]
    return checked


def refusing_like(refused: Refusal, *others: Any) -> Callable[..., Any]:
    """The dtype rule of results like the input (and others), of which ``refused`` says the dtypes that are not taken."""

    def rule(self: Any) -> Any:
        refuse(self.dtype, refused)
        return (self.dtype, [self.dtype, *others]) if others else self.dtype

    return rule
