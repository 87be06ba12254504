"""Jacobians as functions: row by row from the results, column by column from the arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import for_tangents
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.batching.vmap import vmap
from shim_torch._impl.transforms.levels import gradients
from shim_torch._impl.transforms.tracking import (
    detached,
    gradients_of,
    is_tensor,
    kept_connected,
    made_writable,
    only_differentiable,
    only_tensors,
    pick,
    reached,
    refuse_complex,
    split_aux,
    with_tracked,
)
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


def _basis(result: Any) -> Any:
    count = result.numel()
    return torch.eye(count, dtype=result.dtype, device=result.device).reshape((count, *result.shape))


def _jacobian(
    func: Any, argnums: Any, has_aux: bool, chunk_size: Any, name: str, forward: bool = False
) -> Callable[..., Any]:
    public = "jacfwd" if forward else "jacrev"

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = pick(args, argnums)
        enabled, outer = _core.is_grad_enabled(), reached((args, kwargs))
        refuse_complex(tree_leaves(tuple(args[n] for n in numbers)), public, "inputs")
        with gradients("Jvp" if forward else "Grad", hooks=forward), enable_grad():
            given = with_tracked(args, numbers)
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))
            if forward:
                for n in numbers:
                    given[n] = tree_map(made_writable, given[n])
            output, aux = split_aux(func(*given, **kwargs), has_aux, name)
            results = tree_leaves(output)
            only_tensors(results, name)
            if not forward:
                only_differentiable(results)
            refuse_complex(results, public, "outputs")
            kept = kept_connected(enabled, outer, (output, aux), leaves)

            def jacobian(result: Any) -> Any:
                """One backward pass for all elements of a result at once, as a batch of cotangents."""
                shape = tuple(result.shape)
                if result.requires_grad and result.numel():

                    def row(seed: Any) -> Any:
                        with for_tangents() if forward else nullcontext():
                            return tuple(gradients_of([result], leaves, [seed], True))

                    if chunk_size == 1:  # no vmap, and so none of its limits
                        columns = [torch.stack(c) for c in zip(*map(row, _basis(result).unbind()), strict=True)]
                    else:
                        columns = vmap(row, chunk_size=chunk_size)(_basis(result))
                else:
                    columns = [x.new_zeros((result.numel(), *x.shape)) for x in leaves]
                parts = [c.reshape(shape + tuple(x.shape)) for c, x in zip(columns, leaves, strict=True)]
                found = tree_unflatten(parts, spec)
                return found[0] if isinstance(argnums, int) else found

            found = tree_map(jacobian, output)
        if not kept:
            found, aux = tree_map(detached, (found, aux))
        return (found, aux) if has_aux else found

    return wrapper


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``; ``chunk_size`` rows of it are computed at a time."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, chunk_size, "vjp(f, *primals)")


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    chunk_size: Any = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """As ``jacrev``: the numbers are the same whichever way the chain rule is taken."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacfwd: `chunk_size` should be greater than 0.")
    run = _jacobian(func, argnums, has_aux, None, "jvp(f, primals, tangents)", forward=True)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for n in pick(args, argnums):
            for x in tree_leaves(args[n]):
                if is_tensor(x) and not (x.dtype.is_floating_point or x.dtype.is_complex):
                    raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
        return run(*args, **kwargs)

    return wrapper


naming.present(globals(), "torch.func")
