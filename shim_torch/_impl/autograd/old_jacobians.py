"""``get_numerical_jacobian`` and ``get_analytical_jacobian``, which PyTorch keeps for old callers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shim_torch._impl.autograd.jacobians import (
    Tensor,
    as_tuple,
    close,
    flat_inputs,
    float_outputs,
    indices,
    numerical_jacobians,
    pull_back,
)
from shim_torch._impl.table.calls import torch


def _whole(jacobian: Any) -> Any:
    return jacobian


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """Deprecated: for each input the Jacobian of the first output by differences, as (input.numel(), output.numel())."""
    warnings.warn(
        "`get_numerical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it "
        "will be removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=2,
    )
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0."
        )
    given = as_tuple(inputs)
    for output in float_outputs(fn(given)):
        if output.is_complex():
            raise ValueError(
                "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
            )
    wanted = [t for t in as_tuple(target if target is not None else given) if isinstance(t, Tensor)]
    return [numerical_jacobians(lambda *xs: fn(xs), given, x, eps)[0](_whole) for x in wanted if x.requires_grad]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors of nested iterables, those alone that require gradients where asked."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for part in x:
            yield from _iter_tensors(part, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Any, ...]]:
    """For each tensor of ``target`` (the inputs) that requires gradients, its Jacobians of all outputs, by differences.

    ``target`` may hold tensors that ``fn`` does not take as arguments. ValueError where an output is complex.
    """
    given = as_tuple(inputs)
    found = float_outputs(fn(*given)) if outputs is None else list(outputs)
    if not is_forward_ad and any(o.is_complex() for o in found):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
        )
    wanted = _iter_tensors(given if target is None else target, True)
    return [tuple(of(_whole) for of in numerical_jacobians(fn, given, x, eps)[: len(found)]) for x in wanted]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """Deprecated: (Jacobians of the inputs, reentrant, sizes are right, dtypes are right)."""
    warnings.warn(
        "`get_analytical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it "
        "will be removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=2,
    )
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0."
        )
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs."
        )
    wanted = flat_inputs(as_tuple(inputs))
    sizes, dtypes = True, True
    columns: list[list[Any]] = [[] for _ in wanted]
    again: list[list[Any]] = [[] for _ in wanted]
    for kept in (columns, again):
        for index in indices(tuple(output.shape)):
            seed = torch.zeros_like(output)
            seed[index] = grad_out
            for i, (g, x) in enumerate(zip(pull_back(output, wanted, seed), wanted, strict=True)):
                right = g is None or g.shape == x.shape
                sizes, dtypes = sizes and right, dtypes and (g is None or g.dtype == x.dtype)
                kept[i].append(x.new_zeros(x.numel()) if g is None or not right else g.detach().reshape(-1))
    first, second = ([torch.stack(c, 1) for c in kept] for kept in (columns, again))
    reentrant = all(close(a, b, 0.0, nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(first), reentrant, sizes, dtypes
