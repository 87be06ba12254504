"""``torch._functorch.eager_transforms``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.transforms.tracking import pick as _pick
from shim_torch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def grad_impl(func: Any, argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    """``grad(func, ...)(*args, **kwargs)``."""
    return grad(func, argnums, has_aux)(*args, **kwargs)


def grad_and_value_impl(func: Any, argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    """``grad_and_value(func, ...)(*args, **kwargs)``."""
    return grad_and_value(func, argnums, has_aux)(*args, **kwargs)


def _as_tuple(val: Any) -> tuple[Any, ...]:
    """A tuple as it is, anything else as the only item of one."""
    return val if isinstance(val, tuple) else (val,)


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments of those numbers, as a tuple; of one number, the argument itself unless ``as_tuple``."""
    chosen = tuple(args[n] for n in _pick(args, argnums))
    return chosen if as_tuple or isinstance(argnums, tuple) else chosen[0]
