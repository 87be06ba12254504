"""Operators of tensors that are spread over a mesh: below autograd, each becomes the operator of this process's parts."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

from shim_torch._impl.distributed import redistribute
from shim_torch._impl.distributed.sharding_rules import RULES, Call, Strategy, cost, strategies
from shim_torch._impl.native import _core
from shim_torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from shim_torch.distributed.tensor.placement_types import Placement, Replicate
from shim_torch.utils._pytree import tree_flatten, tree_unflatten

_SIZED = {
    "view": 1,
    "_unsafe_view": 1,
    "reshape": 1,
    "expand": 1,
    "slice_backward": 1,
    "select_backward": 1,
}  # where the result's size stands
_FACTORIES = frozenset("new_zeros new_empty".split())
implicit: list[bool] = []  # within ``implicit_replication``: tensors that are no DTensor are whole copies


@dataclasses.dataclass
class Plan:
    """What a call does: placements that its tensors have to have, and what its results are."""

    inputs: list[tuple[Placement, ...]]
    outputs: list[DTensorSpec] | None  # None: it gives no tensors
    sizes: tuple[int, ...] | None  # of the local result, where an argument says it


_plans: dict[Any, Plan] = {}
registered: dict[Any, Any] = {}  # by ``register_sharding``: the strategies of an operator
OWN: dict[str, Any] = {}  # operators whose parts do something else (parts.py): ``form(func, args, kwargs, mesh)``


def meta_of(x: Any) -> TensorMeta:
    """Shape, strides and dtype."""
    return TensorMeta(x.shape, tuple(x.stride()), x.dtype)


def _fixed(value: Any) -> Any:
    return tuple(map(_fixed, value)) if isinstance(value, (list, tuple)) else value


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], own: bool = True) -> Any:
    """Runs an operator, one that has a form of its own by that unless ``own`` is False. Errors: NotImplementedError for one that has no rule, RuntimeError for tensors that are no DTensor."""
    from shim_torch.distributed.tensor import DTensor

    name = func.__name__.partition(".")[0]
    inplace = name.endswith("_") and not name.endswith("__")
    base = name[:-1] if inplace else name
    flat, tree = tree_flatten((args, kwargs))
    found = [(i, x) for i, x in enumerate(flat) if isinstance(x, _core.Tensor)]
    mesh = next(x._spec.mesh for _, x in found if isinstance(x, DTensor))
    if own and base in OWN:
        return OWN[base](func, args, kwargs, mesh)
    specs = [spec_of(x, mesh, func) for _, x in found]
    if base not in RULES and func not in registered:
        places = ", ".join(f"{tuple(s.shape)} {s.placements}" for s in specs)
        raise NotImplementedError(
            f"torch.distributed.tensor: {func} has no sharding rule in shim-torch (of {places}): redistribute to Replicate and use to_local()"
        )
    numbers = dict(zip((i for i, _ in found), itertools.count()))
    statics = tuple(("tensor", numbers[i]) if i in numbers else _fixed(x) for i, x in enumerate(flat))
    key = (
        func,
        inplace,
        mesh,
        tuple((s.placements, tuple(s.shape), s.stride, s._known().dtype) for s in specs),
        statics,
        str(tree),
    )
    try:
        plan, kept = _plans.get(key), True
    except TypeError:  # an argument that has no hash
        plan, kept = None, False
    if plan is None:
        plan = _planned(func, base, inplace, specs, mesh, flat, tree, numbers)
        if kept:
            _plans[key] = plan
    return _run(plan, func, base, inplace, flat, tree, found, specs, mesh)


def spec_of(x: Any, mesh: Any, func: Any) -> DTensorSpec:
    """How an argument is spread. Errors: RuntimeError for another mesh, and for what is no DTensor."""
    from shim_torch.distributed.tensor import DTensor

    if isinstance(x, DTensor):
        if x._spec.mesh != mesh:
            raise RuntimeError(f"{func}: its tensors are on two meshes, {mesh!r} and {x._spec.mesh!r}")
        return x._spec
    # Numbers, places and masks are whole copies, and so are the zeros that backward puts where there is no gradient.
    if x.dim() == 0 or implicit or not x.is_floating_point() or _core._current_graph_task_id() != -1:
        return DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(x))
    raise RuntimeError(
        f"{func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!"
    )


def _planned(
    func: Any, base: str, inplace: bool, specs: list[DTensorSpec], mesh: Any, flat: list[Any], tree: Any, numbers: dict[int, int]
) -> Plan:  # fmt: skip
    results = _results(func, inplace, specs, flat, tree, numbers)
    metas = [
        meta_of(x)
        for x in (results if isinstance(results, (list, tuple)) else [results])
        if isinstance(x, _core.Tensor)
    ]
    args, kwargs = tree_unflatten([numbers.get(i, x) for i, x in enumerate(flat)], tree)
    shapes = [tuple(spec.shape) for spec in specs]
    outs: list[Placement] = []
    ins: list[list[Placement]] = [[] for _ in specs]
    for i in range(mesh.ndim):
        placed = [spec.placements[i] for spec in specs]
        call = Call(
            base, shapes, tuple(metas[0].shape) if metas else (), args, kwargs, math.prod(mesh.shape[: i + 1]), placed
        )
        ways = _registered(func, specs, flat, tree, numbers) if func in registered else strategies(call)
        out, chosen = _chosen(ways, call, inplace, mesh.shape[i], func)
        outs.append(out)
        for to, p in zip(ins, chosen, strict=True):
            to.append(p)
    if base in _FACTORIES:
        outs = [Replicate()] * mesh.ndim
    spread = [DTensorSpec(mesh, tuple(outs), meta) for meta in metas]
    sizes = redistribute.local_shape(metas[0].shape, mesh, outs)[0] if base in _SIZED else None
    return Plan([tuple(p) for p in ins], spread or None, sizes)


def _results(
    func: Any, inplace: bool, specs: list[DTensorSpec], flat: list[Any], tree: Any, numbers: dict[int, int]
) -> Any:
    """The call's results, without memory."""
    import shim_torch as torch

    def empty(spec: DTensorSpec) -> Any:
        meta = spec.tensor_meta
        assert meta is not None
        return torch.empty_strided(tuple(meta.shape), meta.stride, dtype=meta.dtype, device="meta")

    if inplace:
        return empty(specs[0])
    if func.__name__.partition(".")[0] in ("_local_scalar_dense", "equal"):
        return None
    values = [empty(specs[numbers[i]]) if i in numbers else x for i, x in enumerate(flat)]
    args, kwargs = tree_unflatten(values, tree)
    return func(*args, **{k: v for k, v in kwargs.items() if k != "device"})


def _registered(
    func: Any, specs: list[DTensorSpec], flat: list[Any], tree: Any, numbers: dict[int, int]
) -> list[Strategy]:
    args, kwargs = tree_unflatten([specs[numbers[i]] if i in numbers else x for i, x in enumerate(flat)], tree)
    found: list[Strategy] = []
    for outs, ins in registered[func](*args, **kwargs):
        if any(out != outs[0] for out in outs):
            raise NotImplementedError(
                f"torch.distributed.tensor.experimental.register_sharding: {func}: outputs placed differently are not supported by shim-torch"
            )
        found.append((outs[0], [p for p in ins if isinstance(p, Placement)]))
    return found


def _chosen(ways: list[Strategy], call: Call, inplace: bool, parts: int, func: Any) -> Strategy:
    best, least = None, math.inf
    for out, ins in ways:
        if inplace and (out != call.placed[0] or ins[0] != call.placed[0]):
            continue
        price = sum(cost(old, new, shape, parts) for old, new, shape in zip(call.placed, ins, call.shapes, strict=True))
        if price < least:
            best, least = (out, ins), price
    if best is None:
        raise RuntimeError(
            f"{func}: in-place operations that require placement changes are not supported: {call.shapes} {call.placed}"
        )
    return best


def _run(
    plan: Plan, func: Any, base: str, inplace: bool, flat: list[Any], tree: Any, found: list[tuple[int, Any]],
    specs: list[DTensorSpec], mesh: Any,
) -> Any:  # fmt: skip
    from shim_torch.distributed.tensor import DTensor

    values = list(flat)
    for (i, x), spec, placements in zip(found, specs, plan.inputs, strict=True):
        local = x._local_tensor if isinstance(x, DTensor) else x
        values[i] = redistribute.move(local, spec.shape, mesh, spec.placements, placements)
    args, kwargs = tree_unflatten(values, tree)
    if plan.sizes is not None:
        at = _SIZED[base]
        args = (*args[:at], list(plan.sizes), *args[at + 1 :])
        if base == "view" and not args[0].is_contiguous():
            args = (args[0].contiguous(), *args[1:])
    result = func(*args, **kwargs)
    if inplace:
        return found[0][1]
    if plan.outputs is None:
        return result
    made = iter(plan.outputs)
    if isinstance(result, (list, tuple)):
        return type(result)(DTensor._made(x, next(made)) if isinstance(x, _core.Tensor) else x for x in result)
    return DTensor._made(result, next(made))
