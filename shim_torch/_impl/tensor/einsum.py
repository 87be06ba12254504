"""``torch.einsum``: its arguments. What they ask for is computed by einsum_products.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import need_str, type_name

Tensor = _core.Tensor


def einsum(*args: Any) -> Any:
    """Sums of products by index names: ``einsum("ij,jk->ik", a, b)``; also the form with lists of numbers for names.

    Operands of any dtypes that ``matmul`` takes together. RuntimeError, in PyTorch's words, for equations that do not fit.
    """

    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])
    if _core._has_torch_function(args[1:] if args and isinstance(args[0], str) else args):
        from shim_torch._impl.tensor.torch_function import handle_torch_function

        return handle_torch_function(einsum, args[1:] if isinstance(args[0], str) else args, *args)
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _of_lists(args)
    else:
        equation, operands = args[0], list(args[1:])
        need_str(equation, "einsum", "equation")
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    for k, t in enumerate(operands):
        if not isinstance(t, _core.TensorBase):
            raise TypeError(f"expected Tensor as element {k} in argument 1, but got {type_name(t)}")
    return _summed()(equation, operands)


@cache
def _summed() -> Callable[[str, list[Any]], Any]:
    """Imported late: many programs have no equations. (An import statement in each call costs a fifth of a small one.)"""
    from shim_torch._impl.tensor.einsum_products import summed

    return summed


einsum.__module__ = "torch.functional"  # torch.functional.einsum in generated code


def _of_lists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation and operands of ``operand, names, operand, names, ..., names of the result``."""

    def word(names: Any) -> str:
        return "".join("..." if i is Ellipsis else chr(65 + i) if i < 26 else chr(71 + i) for i in names)

    operands, lists = list(args[0::2])[: len(args) // 2], list(args[1::2])
    result = args[-1:][: len(args) % 2]
    if any(i is not Ellipsis and not 0 <= i < 52 for part in (*lists, *result) for i in part):
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    equation = ",".join(word(part) for part in lists)
    return (equation + "->" + word(result[0]) if result else equation), operands
