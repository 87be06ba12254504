"""Gradients as functions, on the autograd engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from native import _core
from shim_torch import autograd
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


def _is_tensor(x: Any) -> bool:
    return isinstance(x, _core.TensorBase)


_leaf: Any = _core.TensorBase.requires_grad_  # type: ignore[attr-defined]  # a batched tensor refuses its own


def _tracked(x: Any) -> Any:
    """A tensor of its own in the graph, so that the caller's graph goes on through it."""
    if not _is_tensor(x) or not (x.dtype.is_floating_point or x.dtype.is_complex):
        return x
    return x.view_as(x) if x.requires_grad else _leaf(x.detach())


def _outer(args: Any) -> bool:
    """Whether someone outside differentiates as well."""
    return _core.is_grad_enabled() and any(_is_tensor(x) and x.requires_grad for x in tree_leaves(args))


def _pick(args: tuple[Any, ...], argnums: Any) -> tuple[Any, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    return tuple(n % len(args) for n in numbers)


def _gradients(output: Any, leaves: list[Any], seed: Any, create_graph: bool, retain: bool = False) -> list[Any]:
    wanted = [x for x in leaves if _is_tensor(x) and x.requires_grad]
    if not _is_tensor(output) or not output.requires_grad or not wanted:
        return [_zeros(x) for x in leaves]
    found = autograd.grad(
        output, wanted, seed, retain_graph=create_graph or retain, create_graph=create_graph, allow_unused=True
    )
    by_id = {id(x): g for x, g in zip(wanted, found, strict=True)}
    return [g if (g := by_id.get(id(x))) is not None else _zeros(x) for x in leaves]


def _zeros(x: Any) -> Any:
    return x.new_zeros(x.shape) if _is_tensor(x) else None


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (gradient of ``func`` by its arguments ``argnums``, ``func``'s value)."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _pick(args, argnums)
        outer = _outer((args, kwargs))
        with enable_grad():
            given = list(args)
            for n in numbers:
                given[n] = tree_map(_tracked, args[n])
            output = func(*given, **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                    )
                output, aux = output
            if not _is_tensor(output):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))
            found = tree_unflatten(_gradients(output, leaves, None, True), spec)
        if not outer:
            found, output, aux = tree_map(_detached, (found, output, aux))
        found = found[0] if isinstance(argnums, int) else found
        return (found, (output, aux)) if has_aux else (found, output)

    return wrapper


def _detached(x: Any) -> Any:
    return x.detach() if _is_tensor(x) else x


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, which has one scalar result."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(``func(*primals)``, a function: cotangents of the results -> tuple of gradients of the primals)."""
    outer = _outer(primals)
    with enable_grad():
        given = tree_map(_tracked, primals)
        output = func(*given)
    aux = None
    if has_aux:
        output, aux = output
    leaves, spec = tree_flatten(given)
    results, result_spec = tree_flatten(output)
    if not all(_is_tensor(r) for r in results):
        raise RuntimeError("vjp(f, *primals): Expected f(*primals) to return tensors")

    def vjp_fn(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, seed_spec = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if len(seeds) != len(results):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {seed_spec}, primal output: {result_spec}"
            )
        wanted = [x for x in leaves if _is_tensor(x) and x.requires_grad]
        pairs = [(r, s) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
        graph = _core.is_grad_enabled() if create_graph is None else create_graph
        graph = graph and (outer or any(s.requires_grad for s in seeds))
        found: Any = [None] * len(wanted)
        if pairs and wanted:
            found = autograd.grad(
                [r for r, _ in pairs],
                wanted,
                [s for _, s in pairs],
                retain_graph=True,
                create_graph=graph,
                allow_unused=True,
            )
        by_id = {id(x): g for x, g in zip(wanted, found, strict=True)}
        flat = [g if (g := by_id.get(id(x))) is not None else _zeros(x) for x in leaves]
        return tree_unflatten(flat, spec)

    shown = output if outer else tree_map(_detached, output)
    return (shown, vjp_fn, aux) if has_aux else (shown, vjp_fn)


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, one backward pass a result element."""
    import shim_torch

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _pick(args, argnums)
        outer = _outer((args, kwargs))
        with enable_grad():
            given = list(args)
            for n in numbers:
                given[n] = tree_map(_tracked, args[n])
            output = func(*given, **kwargs)
            aux = None
            if has_aux:
                output, aux = output
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))

            def jacobian(result: Any) -> Any:
                flat = result.reshape(-1)
                rows = []
                for i in range(flat.numel()):
                    rows.append(_gradients(flat[i], leaves, None, outer or _core.is_grad_enabled(), retain=True))
                columns = [
                    shim_torch.stack([r[k] for r in rows]).reshape(tuple(result.shape) + tuple(x.shape))
                    for k, x in enumerate(leaves)
                ]
                found = tree_unflatten(columns, spec)
                return found[0] if isinstance(argnums, int) else found

            found = tree_map(jacobian, output)
        if not outer:
            found, aux = tree_map(_detached, (found, aux))
        return (found, aux) if has_aux else found

    return wrapper


def jvp(func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(``func(*primals)``, its derivative along the tangents), by two backward passes."""
    import shim_torch

    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples")
    with enable_grad():
        given = tree_map(_tracked, primals)
        output = func(*given)
        aux = None
        if has_aux:
            output, aux = output
        leaves = tree_leaves(given)
        seeds = tree_leaves(tangents)
        if len(leaves) != len(seeds):
            raise RuntimeError(
                "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure"
            )

        def along(result: Any) -> Any:
            dual = shim_torch.zeros_like(result).requires_grad_()
            found = _gradients(result, leaves, dual, True, retain=True)
            total = sum((g * t).sum() for g, t in zip(found, seeds, strict=True) if g.requires_grad)
            if not _is_tensor(total):
                return shim_torch.zeros_like(result)
            return autograd.grad(total, dual, create_graph=_outer((primals, tangents)))[0]

        derivative = tree_map(along, output)
    shown = output if _outer(primals) else tree_map(_detached, output)
    return (shown, derivative, aux) if has_aux else (shown, derivative)


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    chunk_size: Any = None,
    randomness: str = "error",
) -> Any:
    """As ``jacrev``: there is one engine, and it goes backward."""
    return jacrev(func, argnums, has_aux=has_aux)
