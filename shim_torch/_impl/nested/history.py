"""What autograd knows of a nested tensor: its gradient, hooks and views, backward over its parts."""

from __future__ import annotations

from typing import Any

from shim_torch import autograd
from shim_torch._impl.nested.base import Nested, handles, is_nested
from shim_torch._impl.table.calls import torch
from shim_torch.nested._internal.nested_tensor import NestedTensor


@handles("requires_grad.get")
def _requires_grad(func: Any, args: Any, kwargs: Any) -> bool:
    return any(h.requires_grad for h in args[0].held())


@handles("requires_grad_", "requires_grad.set")
def _set_requires_grad(func: Any, args: Any, kwargs: Any) -> Any:
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    for h in args[0].held():
        h.requires_grad_(wanted)
    return args[0]


@handles("grad_fn.get")
def _grad_fn(func: Any, args: Any, kwargs: Any) -> Any:
    return next((h.grad_fn for h in args[0].held() if h.grad_fn is not None), None)


@handles("is_leaf.get")
def _is_leaf(func: Any, args: Any, kwargs: Any) -> bool:
    return all(h.is_leaf for h in args[0].held())


@handles("_version.get", "output_nr.get")
def _count(func: Any, args: Any, kwargs: Any) -> int:
    name = func.__self__.__name__
    return max((getattr(h, name) for h in args[0].held()), default=0)


@handles("grad.get")
def _grad(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    grads = [h.grad for h in x.held()]
    if all(g is None for g in grads):
        return None
    return x.like([torch.zeros_like(h) if g is None else g for g, h in zip(grads, x.held(), strict=True)])


@handles("grad.set", "grad.del")
def _set_grad(func: Any, args: Any, kwargs: Any) -> None:
    given = args[1] if len(args) > 1 else None
    grads = given.held() if isinstance(given, Nested) else [None] * len(args[0].held())
    for h, g in zip(args[0].held(), grads, strict=True):
        h.grad = g


@handles("_base.get")
def _base(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0].__dict__.get("_viewed")


@handles("_is_view")
def _is_view(func: Any, args: Any, kwargs: Any) -> bool:
    return args[0].__dict__.get("_viewed") is not None


@handles("_view_func", "_view_func_unsafe")
def _view_func(func: Any, args: Any, kwargs: Any) -> Any:
    """The same view of another base."""
    x, base = args[0], args[1]
    if isinstance(x, NestedTensor):
        values = x._values
        return x.with_values(base.as_strided(values.shape, values.stride(), values.storage_offset()))
    return x.of_parts([base.as_strided(p.shape, p.stride(), p.storage_offset()) for p in x._parts])


@handles("retain_grad")
def _retain_grad(func: Any, args: Any, kwargs: Any) -> None:
    for h in args[0].held():
        h.retain_grad()


@handles("retains_grad.get")
def _retains_grad(func: Any, args: Any, kwargs: Any) -> bool:
    return any(h.retains_grad for h in args[0].held())


@handles("register_hook")
def _register_hook(func: Any, args: Any, kwargs: Any) -> Any:
    x, hook = args

    def on_held(grad: Any) -> Any:
        found = hook(x.like([grad]))
        return found.held()[0] if is_nested(found) else found

    if len(x.held()) != 1:
        raise NotImplementedError(
            "_core.Tensor.register_hook of a nested tensor of several parts is not supported by shim-torch"
        )
    return x.held()[0].register_hook(on_held)


def _spread(tensors: Any) -> tuple[list[Any], list[int]]:
    """The plain tensors of nested and plain ones, and how many each has."""
    flat: list[Any] = []
    counts = []
    for t in tensors:
        held = t.held() if is_nested(t) else [t]
        flat += held
        counts.append(len(held))
    return flat, counts


def _spread_grads(outputs: Any, grads: Any) -> list[Any] | None:
    if grads is None:
        return None
    found: list[Any] = []
    for out, g in zip(outputs, grads, strict=True):
        if not is_nested(out):
            found.append(g)
        elif g is None:
            found += [None] * len(out.held())
        elif is_nested(g):
            same = type(g) is type(out) and [a.shape for a in g.held()] == [a.shape for a in out.held()]
            found += g.held() if same else out.of_parts(g.parts()).held()
        else:
            found += out.of_parts(list(g.expand(out.size(0)) if g.dim() < 2 else g)).held()
    return found


def _sequence(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


@handles("backward")
def _backward(func: Any, args: Any, kwargs: Any) -> None:
    """``Tensor.backward`` and ``autograd.backward``."""
    outputs = _sequence(args[0])
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = dict(zip(names, args[1:], strict=False)) | kwargs
    grads = given.get("gradient", given.get("grad_tensors"))
    grads = None if grads is None else _sequence(grads)
    inputs = given.get("inputs")
    if inputs is not None:
        inputs = _spread(_sequence(inputs))[0]
    flat, _ = _spread(outputs)
    if grads is None and any(h.numel() != 1 for h in flat):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    wanted = [i for i, h in enumerate(flat) if h.requires_grad]
    spread = _spread_grads(outputs, grads)
    autograd.backward(
        [flat[i] for i in wanted], None if spread is None else [spread[i] for i in wanted],
        retain_graph=given.get("retain_graph"), create_graph=bool(given.get("create_graph")), inputs=inputs,
    )  # fmt: skip


@handles("grad")
def _autograd_grad(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("outputs", "inputs", "grad_outputs")
    given = dict(zip(names, args, strict=False)) | kwargs
    outputs, inputs = _sequence(given.pop("outputs")), _sequence(given.pop("inputs"))
    grads = given.pop("grad_outputs", None)
    flat_in, counts = _spread(inputs)
    grads = _spread_grads(outputs, None if grads is None else _sequence(grads))
    found = iter(func(_spread(outputs)[0], flat_in, grads, *args[3:], **given))
    answers = []
    for x, n in zip(inputs, counts, strict=True):
        of_x = [next(found) for _ in range(n)]
        if is_nested(x):
            answers.append(None if all(g is None for g in of_x) else x.like(of_x))
        else:
            answers.append(of_x[0])
    return tuple(answers)
