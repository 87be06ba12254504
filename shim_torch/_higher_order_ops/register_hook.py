"""``torch._higher_order_ops.register_hook``: a hook on a tensor's gradient, as an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._ops import HigherOrderOperator


class RegisterHookOp(HigherOrderOperator):
    """``register_hook_op(tensor, hook_body, *freevars)``: the gradient becomes ``hook_body(grad, *freevars)``."""

    def __init__(self) -> None:
        super().__init__("register_hook")

    def __call__(self, tensor: Any, hook_body: Callable[..., Any], *freevars: Any) -> Any:
        tensor.register_hook(lambda grad: hook_body(grad, *freevars))
        return tensor


register_hook_op = RegisterHookOp()
