"""``torch._functorch.autograd_function``: what a Function's rule for ``vmap`` is made from by hand."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.transforms.batching.autograd_function import VmapInfo as VmapInfo


class WrappedCtx:
    """A context that hands everything on to the one within, but for attributes of its own."""

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx: Any) -> None:
        if not isinstance(ctx, WrappedCtx):
            reserved = type(self)._pt_reserved_attrs
            for name in reserved:
                if hasattr(ctx, name):
                    raise RuntimeError(
                        f"PyTorch reserves the {reserved} field on ctx. Please name your fields on ctx something else to avoid name "
                        "collision."
                    )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A context whose ``saved_tensors`` are others than it saved."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        """The tensors of this level that forward saved."""
        return self._pt_new_saved_tensors


def reductify_leaf(
    grad_input: Any,
    grad_input_bdim: int | None,
    input_bdim: int | None,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: Any = None,
) -> Any:
    """A gradient with the batch where its input has it: summed over where the input has none, repeated where only it has one.

    ``target_shape_without_bdim_to_reduce_to``: the input's shape, to which the gradient of each item is summed.
    """
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    if grad_input_bdim is None:
        shape = [*grad_input.shape[:input_bdim], batch_size, *grad_input.shape[input_bdim:]]
        grad_input, grad_input_bdim = grad_input.unsqueeze(input_bdim).expand(shape), input_bdim
    if target_shape_without_bdim_to_reduce_to is None:
        return grad_input.movedim(grad_input_bdim, input_bdim)
    from shim_torch.func import vmap

    target = tuple(target_shape_without_bdim_to_reduce_to)
    return vmap(lambda g: g.sum_to_size(target), in_dims=grad_input_bdim, out_dims=input_bdim)(grad_input)


def reductify(
    grad_input: Any,
    grad_input_bdim: Any,
    input_bdim: Any,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: Any = None,
) -> tuple[Any, ...]:
    """``reductify_leaf`` for each of several gradients, or for one."""

    def several(x: Any) -> Any:
        return x if isinstance(x, tuple) else (x,)

    grads = several(grad_input)
    shapes = target_shape_without_bdim_to_reduce_to
    rows = zip(grads, several(grad_input_bdim), several(input_bdim), shapes or len(grads) * (None,), strict=True)
    return tuple(reductify_leaf(g, gdim, dim, batch_size, shape) for g, gdim, dim, shape in rows)
