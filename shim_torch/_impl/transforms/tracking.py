"""Inputs that a transform follows, the gradients of its results, and what stays connected to the outside."""

from __future__ import annotations

from typing import Any

from shim_torch import autograd
from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.tensors import in_all_levels
from shim_torch._impl.transforms.levels import reaches_outside
from shim_torch.utils._pytree import tree_leaves, tree_map

_leaf: Any = _core._require_grad  # requires_grad_ refuses within a transform


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a tensor."""
    return isinstance(x, _core.TensorBase)


def tracked(x: Any) -> Any:
    """A tensor of its own in the graph, so that the caller's graph goes on through it."""
    if not is_tensor(x):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    x = in_all_levels(x)
    if x.requires_grad and _core.is_grad_enabled():
        return x.view_as(x)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return _leaf(x.detach())


class _Alias(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def made_writable(x: Any) -> Any:
    """The same memory as no leaf and no view of one: functions under ``jvp`` and ``jacfwd`` may write to their arguments."""
    return _Alias.apply(x)


def reached(args: Any) -> bool:
    """Whether someone outside differentiates as well."""
    return _core.is_grad_enabled() and any(is_tensor(x) and x.requires_grad for x in tree_leaves(args))


def kept_connected(enabled: bool, outer: bool, results: Any, given: Any) -> bool:
    """Whether results keep their graph: someone outside differentiates by the arguments, or by what the function captured."""
    return outer or (enabled and reaches_outside(list(filter(is_tensor, tree_leaves(results))), tree_leaves(given)))


def refuse_complex(tensors: list[Any], name: str, what: str) -> None:
    """RuntimeError, with the transform's name and the place, for a complex tensor among ``what`` was given."""
    for i, x in enumerate(tensors):
        if is_tensor(x) and x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def detached(x: Any) -> Any:
    """A tensor without its history; anything else as it is."""
    return x.detach() if is_tensor(x) else x


def zeros(x: Any) -> Any:
    """Zeros of the shape, dtype and device of ``x``."""
    return x.new_zeros(x.shape)


def pick(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """Which arguments are differentiated, none of them counted from the end."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    found = tuple(n % len(args) for n in numbers)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def with_tracked(args: tuple[Any, ...], numbers: tuple[int, ...]) -> list[Any]:
    """The arguments as a list, in which the tensors of those with the given numbers are tracked."""
    given = list(args)
    for n in numbers:
        given[n] = tree_map(tracked, args[n])
    return given


def split_aux(output: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """(output, what is handed through beside it), the second None without ``has_aux``.

    Errors: RuntimeError unless the function gave a pair, and the second holds tensors only.
    """
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for x in tree_leaves(output[1]):
        if not is_tensor(x):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return output


def only_tensors(results: list[Any], name: str) -> None:
    """RuntimeError unless a function gave something, and only tensors."""
    start = f"{name}: expected f(*primals) to return only tensors"
    if not results or len(results) == 1 and results[0] is None:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {results})")
    for r in results:
        if not is_tensor(r):
            raise RuntimeError(f"{start}, got unsupported type {type(r)}")


def only_differentiable(results: list[Any]) -> None:
    """RuntimeError if a result has a dtype that no gradient has."""
    for r in results:
        if not (r.dtype.is_floating_point or r.dtype.is_complex):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {r.dtype}"
            )


def gradients_of(results: list[Any], leaves: list[Any], seeds: list[Any], create_graph: bool) -> list[Any]:
    """Of the results by the leaves, zeros where a leaf has no part in them; the graph is kept."""
    pairs = [(r, s) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
    if not pairs or not leaves:
        return [zeros(x) for x in leaves]
    found = autograd.grad(
        [r for r, _ in pairs],
        leaves,
        [s for _, s in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    return [zeros(x) if g is None else g for g, x in zip(found, leaves, strict=True)]
