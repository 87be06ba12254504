"""Operators of spread tensors whose parts do something else than the operator: embeddings and losses of a spread vocabulary, norms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shim_torch._impl.distributed import redistribute
from shim_torch._impl.distributed.dispatch import OWN, dispatch, meta_of
from shim_torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from shim_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _Split


def contiguous_strides(shape: Any) -> tuple[int, ...]:
    """Of a contiguous tensor of that shape."""
    found, step = [], 1
    for size in reversed(tuple(shape)):
        found.append(step)
        step *= max(1, size)
    return tuple(reversed(found))


def _made(local: Any, mesh: Any, placements: Any, shape: Any) -> Any:
    import shim_torch as torch
    from shim_torch.distributed.tensor import DTensor

    meta = TensorMeta(torch.Size(shape), contiguous_strides(shape), local.dtype)
    return DTensor(local, DTensorSpec(mesh, tuple(placements), meta))


def _as_copies(x: Any, mesh: Any) -> Any:
    from shim_torch.distributed.tensor import DTensor

    return x if isinstance(x, DTensor) else DTensor(x, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(x)))


def _splitting(placements: Any, dim: int) -> int | None:
    """The one dimension of the mesh that splits a dim, None for none and for several."""
    found = [i for i, p in enumerate(placements) if p == Shard(dim)]
    return found[0] if len(found) == 1 else None


def _mine(index: Any, size: int, mesh: Any, i: int) -> tuple[Any, Any]:
    """(places in this process's part of a dim, which are not there)"""
    part, first = redistribute.chunk(size, mesh.shape[i], redistribute.coordinate(mesh)[i])
    away = (index < first) | (index >= first + part)
    return (index - first).masked_fill(away, 0), away


def _whole_but(x: Any, mesh: Any, keep: Mapping[int, Placement]) -> Any:
    """This process's part, whole copies in all dimensions of the mesh but those in ``keep``."""
    target = [keep.get(i, Replicate()) for i in range(mesh.ndim)]
    return redistribute.move(x._local_tensor, x.shape, mesh, x._spec.placements, target)


def _embedding(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    """Of rows that are spread: each process gives what it has, and the sum is the whole."""
    weight, index = _as_copies(args[0], mesh), _as_copies(args[1], mesh)
    i = _splitting(weight.placements, 0)
    if i is None:
        return dispatch(func, (weight, index, *args[2:]), kwargs, own=False)
    split = {j: p for j, p in enumerate(index.placements) if j != i and isinstance(p, _Split)}
    places, away = _mine(_whole_but(index, mesh, split), weight.shape[0], mesh, i)
    part = func(_whole_but(weight, mesh, {i: Shard(0)}), places, *args[2:], **kwargs).masked_fill(away.unsqueeze(-1), 0)
    placements = [Partial() if j == i else split.get(j, Replicate()) for j in range(mesh.ndim)]
    return _made(part, mesh, placements, (*index.shape, weight.shape[1]))


def _embedding_backward(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    return dispatch(func, (_as_copies(args[0], mesh), _as_copies(args[1], mesh), *args[2:]), kwargs, own=False)


def _norm(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    """The norm of the whole tensor, in each process."""
    x, order = args[0], args[1] if len(args) > 1 else 2
    if (len(args) > 2 and args[2] is not None) or kwargs.get("dim") is not None:
        return _as_copies(func(_whole_but(x, mesh, {}), *args[1:], **kwargs), mesh)
    split = {i: p for i, p in enumerate(x.placements) if isinstance(p, _Split)}
    total = func(_whole_but(x, mesh, split), *args[1:], **kwargs)
    power = order not in (0, math.inf, -math.inf)
    how = "sum" if power or order == 0 else "max" if order > 0 else "min"
    parts = [Partial(how) if i in split else Replicate() for i in range(mesh.ndim)]
    total = total.pow(order) if power else total
    total = redistribute.move(total, total.shape, mesh, parts, [Replicate()] * mesh.ndim)
    return _as_copies(total.pow(1 / order) if power else total, mesh)


def _split_class(x: Any, dim: int) -> int | None:
    dim = dim + x.dim() if dim < 0 else dim
    i = _splitting(x.placements, dim)
    return i if i is not None and x.shape[dim] % x.device_mesh.shape[i] == 0 else None


def _over(x: Any, mesh: Any, i: int, op: str) -> Any:
    """The reduction over one dimension of the mesh."""
    from shim_torch.distributed import ReduceOp, all_reduce

    x = x.contiguous()
    all_reduce(x, ReduceOp.MAX if op == "max" else ReduceOp.SUM, group=mesh.get_group(i))
    return x


def _log_softmax(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    """Of classes that are spread: only the greatest and the sums travel."""
    x, dim, half_to_float = args
    i = _split_class(x, dim)
    if i is None:
        return dispatch(func, args, kwargs, own=False)
    import shim_torch as torch

    keep = {j: p for j, p in enumerate(x.placements) if isinstance(p, _Split)}
    part = _whole_but(x, mesh, keep)
    wide = part.float() if half_to_float or part.dtype in (torch.float16, torch.bfloat16) else part
    wide = wide - _over(wide.amax(dim, keepdim=True), mesh, i, "max")
    result = wide - _over(wide.exp().sum(dim, keepdim=True), mesh, i, "sum").log()
    result = result if half_to_float else result.to(part.dtype)
    return _made(result, mesh, [keep.get(j, Replicate()) for j in range(mesh.ndim)], x.shape)


def _log_softmax_backward(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    grad, output, dim, dtype = args
    i = _split_class(output, dim) if hasattr(output, "_spec") else None
    if i is None:
        return dispatch(func, args, kwargs, own=False)
    keep = {j: p for j, p in enumerate(output.placements) if isinstance(p, _Split)}
    part, known = (_whole_but(_as_copies(t, mesh), mesh, keep).float() for t in (grad, output))
    result = part - known.exp() * _over(part.sum(dim, keepdim=True), mesh, i, "sum")
    return _made(result.to(dtype), mesh, [keep.get(j, Replicate()) for j in range(mesh.ndim)], output.shape)


def _gather(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    """Along a dim that is spread: each process gives what it has, and the sum is the whole."""
    x, dim, index, *rest = args
    index = _as_copies(index, mesh)
    i = _split_class(x, dim) if hasattr(x, "_spec") else None
    if i is None:
        return dispatch(func, (x, dim, index, *rest), kwargs, own=False)
    keep = {
        j: p
        for j, p in enumerate(x.placements)
        if isinstance(p, _Split) and (j == i or index.shape[p.dim] == x.shape[p.dim])
    }
    places, away = _mine(_whole_but(index, mesh, {j: p for j, p in keep.items() if j != i}), x.shape[dim], mesh, i)
    part = func(_whole_but(x, mesh, keep), dim, places, *rest, **kwargs).masked_fill(away, 0)
    placements = [Partial() if j == i else keep.get(j, Replicate()) for j in range(mesh.ndim)]
    return _made(part, mesh, placements, index.shape)


def _scatter_add(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    x, dim, index, source = args
    return dispatch(
        func, (_as_copies(x, mesh), dim, _as_copies(index, mesh), _as_copies(source, mesh)), kwargs, own=False
    )


def _item(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    return func(_whole_but(args[0], mesh, {}))


def _drawn(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    raise NotImplementedError(
        f"torch.distributed.tensor: {func}: random numbers in tensors that are spread are not supported by shim-torch"
    )


OWN.update(
    {
        "embedding": _embedding, "embedding_dense_backward": _embedding_backward, "linalg_vector_norm": _norm,
        "_log_softmax": _log_softmax, "_log_softmax_backward_data": _log_softmax_backward, "gather": _gather,
        "scatter_add": _scatter_add, "_local_scalar_dense": _item,
        **dict.fromkeys("bernoulli normal uniform random rand_like randn_like randint_like native_dropout".split(), _drawn),
    }
)  # fmt: skip
