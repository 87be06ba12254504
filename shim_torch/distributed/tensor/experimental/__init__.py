"""``torch.distributed.tensor.experimental``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.distributed import dispatch

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]


def register_sharding(op: Any) -> Callable[[Any], Any]:
    """A decorator: the function gives an operator's shardings, ``[([outputs' placements], [inputs' placements, None for others])]``, from
    its arguments with a DTensorSpec for each tensor."""

    def decorate(function: Any) -> Any:
        for one in op if isinstance(op, (list, tuple)) else [op]:
            dispatch.registered[one] = function
        return function

    return decorate


def local_map(
    func: Any = None, out_placements: Any = None, in_placements: Any = None, in_grad_placements: Any = None, device_mesh: Any = None,
    *, redistribute_inputs: bool = False,
) -> Any:  # fmt: skip
    """A function of DTensors made of one of their parts. Errors: ValueError for inputs that are placed otherwise."""
    if func is None:
        return lambda f: local_map(
            f, out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs=redistribute_inputs
        )

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        from shim_torch.distributed.tensor import DTensor

        mesh, parts = device_mesh, []
        for i, x in enumerate(args):
            if isinstance(x, DTensor):
                mesh = x.device_mesh if mesh is None else mesh
                wanted = None if in_placements is None else in_placements[i]
                if wanted is not None and tuple(wanted) != x.placements:
                    if not redistribute_inputs:
                        raise ValueError(
                            f"arg {i} in local_map has a mismatched placements: arg placements is {x.placements} but the input "
                            f"placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                        )
                    x = x.redistribute(placements=wanted)
                x = x.to_local(grad_placements=None if in_grad_placements is None else in_grad_placements[i])
            parts.append(x)
        result = func(*parts, **kwargs)
        if mesh is None:
            return result
        several = isinstance(result, tuple)
        placed = out_placements if several else (out_placements,)
        made = [
            x if p is None else DTensor.from_local(x, mesh, p)
            for x, p in zip(result if several else (result,), placed, strict=True)
        ]
        return tuple(made) if several else made[0]

    return call


@contextlib.contextmanager
def context_parallel(
    mesh: Any, *, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None
) -> Iterator[None]:
    """Attention over a sequence that the mesh's devices share: on one device it is whole. Errors: NotImplementedError for more."""
    if mesh.size() != 1:
        raise NotImplementedError(
            "torch.distributed.tensor.experimental.context_parallel is not supported by shim-torch for several devices"
        )
    if len(buffers or ()) != len(buffer_seq_dims or ()):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    yield


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Plain tensors among the arguments of an operator of DTensors count as whole copies."""
    dispatch.implicit.append(True)
    try:
        yield
    finally:
        dispatch.implicit.pop()
