"""``torch.func``: gradients as functions, modules as functions, functions over batches."""

from __future__ import annotations

from typing import Any

from shim_torch.func._functional import functional_call, stack_module_state
from shim_torch.func._transforms import grad, grad_and_value, jacfwd, jacrev, jvp, vjp
from shim_torch.func._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]


def hessian(func: Any, argnums: Any = 0) -> Any:
    """The second derivatives of a function."""
    return jacrev(jacrev(func, argnums), argnums)


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    raise NotImplementedError("torch.func.functionalize is not supported by shim-torch")


def linearize(func: Any, *primals: Any) -> Any:
    raise NotImplementedError(
        "torch.func.linearize is not supported by shim-torch: there is no forward-mode differentiation"
    )


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor itself: there are no wrapped ones."""
    return tensor


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.func", name)
