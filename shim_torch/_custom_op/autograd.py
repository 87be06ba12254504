"""The gradient of custom operators of the first form: what is saved, and a dict of gradients by argument."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core


def autograd_kernel(op: Any) -> Callable[..., Any]:
    """The Autograd kernel of a ``CustomOp``, whose formula may be registered later."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        halves = [k for k in ("save_for_backward", "backward") if op._has_impl(k)]
        if len(halves) == 2:
            return _recorded(op, args, kwargs)
        if halves:
            lacking = "backward" if halves[0] == "save_for_backward" else "save_for_backward"
            raise RuntimeError(
                f"We found a '{halves[0]}' registration for {op} at {op._get_impl(halves[0]).location} but were unable to find a "
                f"'{lacking}' registration. To use the CustomOp API to register a backward formula, please provide us both a "
                "backward function and a 'save for backward' function via `impl_backward` and `impl_save_for_backward` respectively."
            )
        if _core.wants_gradient(*_leaves((args, kwargs))[0]):
            raise RuntimeError("Autograd has not been implemented for operator")
        try:
            return _below(op._ophandle, args, kwargs)
        except NotImplementedError as error:
            device = _lacking(str(error), op._qualname)
            if not device:
                raise
            raise NotImplementedError(
                f"{op.__repr__()}: when running with device='{device}' tensors: there is no {device} impl registered for this CustomOp. "
                f"Please register one via CustomOp.impl(device_type='{device}')"
            ) from None

    return kernel


def _lacking(error: str, name: str) -> str:
    """The device type that an operator has no kernel for, by the error of its call; empty where that is about something else."""
    found = re.match(rf"Could not run '{re.escape(name)}' with arguments from the '(CPU|CUDA)' backend", error)
    return found.group(1).lower() if found else ""


def _leaves(values: Any) -> tuple[list[Any], Any]:
    from shim_torch.utils._pytree import tree_flatten

    return tree_flatten(values)


def _below(op: Any, args: Any, kwargs: Any) -> Any:
    from shim_torch._C import _AutoDispatchBelowAutograd

    with _AutoDispatchBelowAutograd():
        return op(*args, **kwargs)


def _recorded(op: Any, args: Any, kwargs: Any) -> Any:
    from shim_torch import autograd
    from shim_torch._library.utils import fill_defaults
    from shim_torch.utils._pytree import tree_map, tree_unflatten

    args, kwargs = fill_defaults(op._schema, args, kwargs)
    names = [a.name for a in op._schema.arguments]
    of_names = namedtuple(f"{op._opname}_args", names)  # type: ignore[misc]
    flat, spec = _leaves((tuple(args), kwargs))
    out_spec: list[Any] = []

    def forward(ctx: Any, *values: Any) -> Any:
        inner, by_name = tree_unflatten(list(values), spec)
        output = _below(op._ophandle, inner, by_name)
        inputs = of_names(*inner, **by_name)
        saved, ctx.saved_spec = _leaves(op._get_impl("save_for_backward").func(inputs, output))
        ctx.plain = [None if isinstance(v, _core.TensorBase) else v for v in saved]
        ctx.is_tensor = [isinstance(v, _core.TensorBase) for v in saved]
        ctx.save_for_backward(*(v for v in saved if isinstance(v, _core.TensorBase)))
        ctx.kinds = tree_map(type, inputs)
        _mark(ctx, output, op._output_differentiability)
        spread, found = _leaves(output)
        out_spec.append(found)
        return tuple(spread)

    def backward(ctx: Any, *grads: Any) -> Any:
        given = tree_unflatten(list(grads), out_spec[0])
        tensors = iter(ctx.saved_tensors)
        saved = [next(tensors) if t else v for t, v in zip(ctx.is_tensor, ctx.plain, strict=True)]
        found = op._get_impl("backward").func(
            object(), tree_unflatten(saved, ctx.saved_spec), *(given if isinstance(given, tuple) else (given,))
        )
        _check(op, found, ctx.kinds)
        return tuple(_spread(found, ctx.kinds))

    made = type(
        f"{op._opname}_customop",
        (autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )
    return tree_unflatten(list(made.apply(*flat)), out_spec[0])  # type: ignore[attr-defined]


def _mark(ctx: Any, output: Any, differentiable: list[bool] | None) -> None:
    if differentiable is None:
        return
    without: list[Any] = []
    for i, (wanted, out) in enumerate(
        zip(differentiable, output if isinstance(output, tuple) else (output,), strict=True)
    ):
        if isinstance(out, (_core.TensorBase, list)):
            without += [] if wanted else out if isinstance(out, list) else [out]
        elif wanted:
            raise RuntimeError(
                f"With output_differentiability={differentiable}. At idx {i}, we received an object of type {type(out)} that is "
                "not a Tensor, so it cannot have be marked as differentiable in output_differentiability."
            )
    if without:
        ctx.mark_non_differentiable(*without)


def _check(op: Any, found: Any, kinds: Any) -> None:
    """RuntimeError unless the gradients are a dict by the names of all arguments that may be tensors, each of its argument's form."""

    def error(what: str) -> None:
        where = op._get_impl("backward").location
        raise RuntimeError(f"In the backward function defined for {op} at {where} using the CustomOp API, {what}")

    if not isinstance(found, dict):
        error(f"expected the output of the backward function to be a dict but got {type(found)}")
    wanted = {a.name for a in op._schema.arguments if "Tensor" in str(a.type)}
    if wanted != found.keys():
        error(
            f"expected the returned grad_input dict to have keys {wanted} but got {found.keys()}. The backward function must "
            "return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or Sequence[Tensor]. "
            "Args declared to be non-Tensor-like types should not appear in the grad_input dict"
        )
    for name, grad in found.items():
        kind = getattr(kinds, name)
        if isinstance(kind, list):
            _check_list(error, name, grad, kind)
        elif grad is None:
            continue
        elif not isinstance(grad, _core.TensorBase):
            error(
                f"got object of type {type(grad)} as the gradient for input '{name}', "
                "but expected the gradient to be either None or a Tensor"
            )
        elif not issubclass(kind, _core.TensorBase):
            error(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' "
                f"was not a Tensor (it was type {kind})."
            )


def _check_list(error: Callable[[str], None], name: str, grad: Any, kinds: list[type]) -> None:
    begin = f"for input '{name}' expected the grad_input dict to hold a list of "
    if not isinstance(grad, (tuple, list)):
        error(f"{begin}gradients but got object of type {type(grad)}.")
    if len(grad) != len(kinds):
        error(f"{begin}{len(kinds)} gradients but got {len(grad)}")
    for i, (g, kind) in enumerate(zip(grad, kinds, strict=True)):
        if g is None:
            continue
        if not isinstance(g, _core.TensorBase):
            error(f"{begin}None or Tensor gradients but got object of {type(g)} at index {i}")
        if not issubclass(kind, _core.TensorBase):
            error(
                f"for input '{name}', got a Tensor as the gradient for the {i}-th value but expected None because the {i}-th "
                f"value was not a Tensor (it was type {kinds}"
            )


def _spread(found: dict[str, Any], kinds: Any) -> list[Any]:
    """The gradients one by one, as the arguments were spread; None for what has none."""
    flat: list[Any] = []
    for name, kind in kinds._asdict().items():
        grads = found.get(name)
        if isinstance(kind, (list, tuple)):
            flat += list(grads) if grads is not None else [None] * len(_leaves(kind)[0])
        else:
            flat.append(grads)
    return flat
