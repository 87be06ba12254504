"""Gradients as functions, on the autograd engine: one tape for all levels, so that a transform of a transform just works."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from shim_torch import autograd
from shim_torch._impl.autograd.own_tangents import own_tangents
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import for_tangents
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.levels import gradients, writable
from shim_torch._impl.transforms.tracking import (
    _leaf,
    detached,
    gradients_of,
    is_tensor,
    kept_connected,
    made_writable,
    only_differentiable,
    only_tensors,
    pick,
    reached,
    split_aux,
    tracked,
    with_tracked,
)
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (gradient of ``func`` by its arguments ``argnums``, ``func``'s value)."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = pick(args, argnums)
        enabled, outer = _core.is_grad_enabled(), reached((args, kwargs))
        with gradients(), enable_grad():
            given = with_tracked(args, numbers)
            with writable(([x for n, x in enumerate(args) if n not in numbers], kwargs)):
                output, aux = split_aux(func(*given, **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not is_tensor(output):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))
            found = tree_unflatten(gradients_of([output], leaves, [None], True), spec)
            kept = kept_connected(enabled, outer, (output, aux), leaves)
        if not kept:
            found, output, aux = tree_map(detached, (found, output, aux))
        found = found[0] if isinstance(argnums, int) else found
        return (found, (output, aux)) if has_aux else (found, output)

    return wrapper


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, which has one scalar result."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def _shown(spec: Any) -> str:
    """A structure with a star for each leaf."""
    return repr(tree_unflatten([_Star()] * spec.num_leaves, spec))


class _Star:
    def __repr__(self) -> str:
        return "*"


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(``func(*primals)``, a function: cotangents of the results -> tuple of gradients of the primals)."""
    enabled = _core.is_grad_enabled()
    with gradients(), enable_grad():
        given = tree_map(tracked, primals)
        output, aux = split_aux(func(*given), has_aux, "vjp(f, *primals)")
        linked = kept_connected(True, any(x.requires_grad for x in tree_leaves(primals)), (output, aux), given)
    leaves, spec = tree_flatten(given)
    results, result_spec = tree_flatten(output)
    only_tensors(results, "vjp(f, *primals)")
    only_differentiable(results)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, seed_spec = tree_flatten(cotangents)
        if seed_spec != result_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {_shown(seed_spec)}, primal output: {_shown(result_spec)}"
            )
        for i, (r, s) in enumerate(zip(results, seeds, strict=True)):
            if r.shape != s.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {s.shape} and output[{i}] has a shape of {r.shape}."
                )
        graph = _core.is_grad_enabled() if create_graph is None else create_graph
        graph = graph and (linked or any(s.requires_grad for s in seeds))
        found = tree_unflatten(gradients_of(results, leaves, seeds, graph), spec)
        return found

    shown = output if enabled and linked else tree_map(detached, output)
    return (shown, vjp_fn, aux) if has_aux else (shown, vjp_fn)


def _checked_primals(primals: Any, tangents: Any) -> None:
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(primals)
    seeds, seed_spec = tree_flatten(tangents)
    if spec != seed_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {seed_spec}"
        )
    for what, given in (("primals", leaves), ("tangents", seeds)):
        if not given:
            raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
        for x in given:
            if not is_tensor(x):
                raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(x)}")
    for x, t in zip(leaves, seeds, strict=True):
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(t.shape)}."
            )


def _pushforward(results: list[Any], leaves: list[Any], create_graph: bool) -> Callable[[list[Any]], list[Any]]:
    """Derivatives of results along tangents: the gradient, by its cotangents, of the gradient, which is linear in them."""
    duals = [_leaf(torch.zeros_like(r)) if r.requires_grad else None for r in results]
    live = [(r, d) for r, d in zip(results, duals, strict=True) if d is not None]
    with for_tangents(), own_tangents():
        slopes = gradients_of([r for r, _ in live], leaves, [d for _, d in live], True) if live else []

    def push(tangents: list[Any]) -> list[Any]:
        pairs = [(g, t) for g, t in zip(slopes, tangents, strict=False) if g.requires_grad]
        wanted = [d for _, d in live]
        if pairs and wanted:
            outputs, seeds = [g for g, _ in pairs], [t for _, t in pairs]
            found = autograd.grad(
                outputs, wanted, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True
            )
        else:
            found = (None,) * len(wanted)
        by_id = {id(d): g for d, g in zip(wanted, found, strict=True)}
        return [
            torch.zeros_like(r) if d is None or by_id[id(d)] is None else by_id[id(d)]
            for r, d in zip(results, duals, strict=True)
        ]

    return push


def _refuse_independent(results: list[Any], leaves: list[Any]) -> None:
    for r in results:
        found = autograd.grad(r.sum(), leaves, retain_graph=True, allow_unused=True) if r.requires_grad else ()
        if all(g is None for g in found):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )


def jvp(func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(``func(*primals)``, its derivative along the tangents), by two backward passes."""
    _checked_primals(primals, tangents)
    name = "jvp(f, primals, tangents)"
    enabled, outer = _core.is_grad_enabled(), reached((primals, tangents))
    with gradients("Jvp", hooks=True), enable_grad():
        given = tree_map(tracked, primals)
        output, aux = split_aux(func(*tree_map(made_writable, given)), has_aux, name)
        results, spec = tree_flatten(output)
        only_tensors(results, name)
        if strict:
            _refuse_independent(results, tree_leaves(given))
        kept = kept_connected(enabled, outer, (output, aux), given)
        push = _pushforward(results, tree_leaves(given), True)
        derivative = tree_unflatten(push(tree_leaves(tangents)), spec)
    if not kept:
        output, derivative, aux = tree_map(detached, (output, derivative, aux))
    return (output, derivative, aux) if has_aux else (output, derivative)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(``func(*primals)``, a function: tangents -> the derivative along them), for many tangents at one point."""
    leaves, spec = tree_flatten(primals)
    enabled, outer = _core.is_grad_enabled(), reached(primals)
    with gradients("Jvp", hooks=True), enable_grad():
        given = tree_map(tracked, primals)
        output = func(*given)
        results, result_spec = tree_flatten(output)
        only_tensors(results, "linearize(f, *primals)")
        kept = kept_connected(enabled, outer, output, given)
        push = _pushforward(results, tree_leaves(given), kept)

    def jvp_fn(*tangents: Any) -> Any:
        seeds, seed_spec = tree_flatten(tangents)
        if seed_spec != spec:
            raise RuntimeError(f"Expected the tangents {seed_spec} to have the same argspec as the primals {spec}")
        for i, (x, t) in enumerate(zip(leaves, seeds, strict=True)):
            for what, a, b in (
                ("shape", t.shape, x.shape),
                ("device", t.device, x.device),
                ("dtype", t.dtype, x.dtype),
            ):
                if a != b:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {a} in flattened pytree doesn't match the {what} {b} of the corresponding "
                        "primal."
                    )
        found = push(seeds)
        return tree_unflatten(found if kept else [x.detach() for x in found], result_spec)

    return (output if kept else tree_map(detached, output)), jvp_fn


naming.present(globals(), "torch.func")
