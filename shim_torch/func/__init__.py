"""``torch.func``: gradients as functions, modules as functions, functions over batches."""

from __future__ import annotations

from functools import wraps
from typing import Any

from shim_torch._impl.transforms.batching.vmap import vmap
from shim_torch._impl.transforms.gradients import grad, grad_and_value, jvp, linearize, vjp
from shim_torch._impl.transforms.jacobians import jacfwd, jacrev
from shim_torch._impl.transforms.levels import Transform as _Transform
from shim_torch._impl.transforms.stateless import functional_call, stack_module_state

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
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


def hessian(func: Any, argnums: Any = 0) -> Any:
    """The second derivatives of a function."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """A function that runs without writes: in-place and ``out=`` operators as those that give new values.

    What the function writes to its arguments is copied into them at its end. ``remove="mutations_and_views"`` runs views as copies
    (``aten.view_copy``), too. Seen by tracing (``make_fx``) and by dispatch modes around it. NotImplementedError: operators that
    change a tensor's shape in place, and custom operators that write.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with "
            "their non-aliasing counterparts, {view}_copy.\n"
        )

    from shim_torch._impl.transforms.functionalize import functional

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with _Transform("Functionalize"):
            return functional(func, remove == "mutations_and_views")(*args, **kwargs)

    return wrapped


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The value of a tensor that hides a batch dim, of all of them where ``recurse``; another tensor itself."""
    from shim_torch._impl.transforms.batching.tensors import BatchedTensor

    while isinstance(tensor, BatchedTensor):
        tensor = tensor.value
        if not recurse:
            break
    return tensor


def __getattr__(name: str) -> Any:
    if name == "replace_all_batch_norm_modules_":
        from shim_torch._functorch.batch_norm_replacement import replace_all_batch_norm_modules_

        return replace_all_batch_norm_modules_
    from shim_torch._impl.surface.missing import missing

    return missing("torch.func", name)
