"""Gradients as functions, on the autograd engine: one tape for all levels, so that a transform of a transform just works."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

from shim_torch import autograd
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import for_tangents
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.batching.tensors import in_all_levels
from shim_torch._impl.transforms.batching.vmap import vmap
from shim_torch._impl.transforms.levels import gradients, reaches_outside, writable
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

_leaf: Any = _core._require_grad  # requires_grad_ refuses within a transform


def _is_tensor(x: Any) -> bool:
    return isinstance(x, _core.TensorBase)


def _tracked(x: Any) -> Any:
    """A tensor of its own in the graph, so that the caller's graph goes on through it."""
    if not _is_tensor(x):
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


def _writable(x: Any) -> Any:
    """The same memory as no leaf and no view of one: functions under ``jvp`` and ``jacfwd`` may write to their arguments."""
    return _Alias.apply(x)


def _outer(args: Any) -> bool:
    """Whether someone outside differentiates as well."""
    return _core.is_grad_enabled() and any(_is_tensor(x) and x.requires_grad for x in tree_leaves(args))


def _kept(enabled: bool, outer: bool, results: Any, given: Any) -> bool:
    """Whether results keep their graph: someone outside differentiates by the arguments, or by what the function captured."""
    return outer or (enabled and reaches_outside(list(filter(_is_tensor, tree_leaves(results))), tree_leaves(given)))


def _refuse_complex(tensors: list[Any], name: str, what: str) -> None:
    for i, x in enumerate(tensors):
        if _is_tensor(x) and x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def _detached(x: Any) -> Any:
    return x.detach() if _is_tensor(x) else x


def _zeros(x: Any) -> Any:
    return x.new_zeros(x.shape)


def _pick(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
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


def _with_tracked(args: tuple[Any, ...], numbers: tuple[int, ...]) -> list[Any]:
    given = list(args)
    for n in numbers:
        given[n] = tree_map(_tracked, args[n])
    return given


def _split_aux(output: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for x in tree_leaves(output[1]):
        if not _is_tensor(x):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return output


def _only_tensors(results: list[Any], name: str) -> None:
    start = f"{name}: expected f(*primals) to return only tensors"
    if not results or len(results) == 1 and results[0] is None:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {results})")
    for r in results:
        if not _is_tensor(r):
            raise RuntimeError(f"{start}, got unsupported type {type(r)}")


def _gradients(results: list[Any], leaves: list[Any], seeds: list[Any], create_graph: bool) -> list[Any]:
    """Of the results by the leaves, zeros where a leaf has no part in them; the graph is kept."""
    pairs = [(r, s) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
    if not pairs or not leaves:
        return [_zeros(x) for x in leaves]
    found = autograd.grad(
        [r for r, _ in pairs],
        leaves,
        [s for _, s in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    return [_zeros(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (gradient of ``func`` by its arguments ``argnums``, ``func``'s value)."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _pick(args, argnums)
        enabled, outer = _core.is_grad_enabled(), _outer((args, kwargs))
        with gradients(), enable_grad():
            given = _with_tracked(args, numbers)
            with writable(([x for n, x in enumerate(args) if n not in numbers], kwargs)):
                output, aux = _split_aux(func(*given, **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not _is_tensor(output):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))
            found = tree_unflatten(_gradients([output], leaves, [None], True), spec)
            kept = _kept(enabled, outer, (output, aux), leaves)
        if not kept:
            found, output, aux = tree_map(_detached, (found, output, aux))
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
        given = tree_map(_tracked, primals)
        output, aux = _split_aux(func(*given), has_aux, "vjp(f, *primals)")
        linked = _kept(True, any(x.requires_grad for x in tree_leaves(primals)), (output, aux), given)
    leaves, spec = tree_flatten(given)
    results, result_spec = tree_flatten(output)
    _only_tensors(results, "vjp(f, *primals)")

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
        found = tree_unflatten(_gradients(results, leaves, seeds, graph), spec)
        return found

    shown = output if enabled and linked else tree_map(_detached, output)
    return (shown, vjp_fn, aux) if has_aux else (shown, vjp_fn)


def _basis(result: Any) -> Any:
    count = result.numel()
    return torch.eye(count, dtype=result.dtype, device=result.device).reshape((count, *result.shape))


def _jacobian(
    func: Any, argnums: Any, has_aux: bool, chunk_size: Any, name: str, forward: bool = False
) -> Callable[..., Any]:
    public = "jacfwd" if forward else "jacrev"

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _pick(args, argnums)
        enabled, outer = _core.is_grad_enabled(), _outer((args, kwargs))
        _refuse_complex(tree_leaves(tuple(args[n] for n in numbers)), public, "inputs")
        with gradients("Jvp" if forward else "Grad", hooks=forward), enable_grad():
            given = _with_tracked(args, numbers)
            leaves, spec = tree_flatten(tuple(given[n] for n in numbers))
            if forward:
                for n in numbers:
                    given[n] = tree_map(_writable, given[n])
            output, aux = _split_aux(func(*given, **kwargs), has_aux, name)
            results = tree_leaves(output)
            _only_tensors(results, name)
            _refuse_complex(results, public, "outputs")
            kept = _kept(enabled, outer, (output, aux), leaves)

            def jacobian(result: Any) -> Any:
                """One backward pass for all elements of a result at once, as a batch of cotangents."""
                shape = tuple(result.shape)
                if result.requires_grad and result.numel():

                    def row(seed: Any) -> Any:
                        with for_tangents() if forward else nullcontext():
                            return tuple(_gradients([result], leaves, [seed], True))

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
            found, aux = tree_map(_detached, (found, aux))
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
        for n in _pick(args, argnums):
            for x in tree_leaves(args[n]):
                if _is_tensor(x) and not (x.dtype.is_floating_point or x.dtype.is_complex):
                    raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
        return run(*args, **kwargs)

    return wrapper


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
            if not _is_tensor(x):
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
    with for_tangents():
        slopes = _gradients([r for r, _ in live], leaves, [d for _, d in live], True) if live else []

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
    enabled, outer = _core.is_grad_enabled(), _outer((primals, tangents))
    with gradients("Jvp", hooks=True), enable_grad():
        given = tree_map(_tracked, primals)
        output, aux = _split_aux(func(*tree_map(_writable, given)), has_aux, name)
        results, spec = tree_flatten(output)
        _only_tensors(results, name)
        if strict:
            _refuse_independent(results, tree_leaves(given))
        kept = _kept(enabled, outer, (output, aux), given)
        push = _pushforward(results, tree_leaves(given), True)
        derivative = tree_unflatten(push(tree_leaves(tangents)), spec)
    if not kept:
        output, derivative, aux = tree_map(_detached, (output, derivative, aux))
    return (output, derivative, aux) if has_aux else (output, derivative)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(``func(*primals)``, a function: tangents -> the derivative along them), for many tangents at one point."""
    leaves, spec = tree_flatten(primals)
    enabled, outer = _core.is_grad_enabled(), _outer(primals)
    with gradients("Jvp", hooks=True), enable_grad():
        given = tree_map(_tracked, primals)
        output = func(*given)
        results, result_spec = tree_flatten(output)
        _only_tensors(results, "linearize(f, *primals)")
        kept = _kept(enabled, outer, output, given)
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

    return (output if kept else tree_map(_detached, output)), jvp_fn


naming.present(globals(), "torch.func")
