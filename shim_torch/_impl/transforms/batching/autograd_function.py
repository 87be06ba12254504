"""``torch.autograd.Function`` under ``vmap``: by its ``vmap`` staticmethod, or its own operators over the batch."""

from __future__ import annotations

from typing import Any, NamedTuple

from shim_torch._impl.surface import naming
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, lift, released, stack, wrapped_with_history
from shim_torch.autograd.function import Function

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a Function's ``vmap`` is told of the batch."""

    batch_size: int
    randomness: str


def apply(cls: Any, args: tuple[Any, ...]) -> Any:
    """A Function over a batch: by its ``vmap``, or its own operators over the batch."""
    if cls.__module__.partition(".")[0] in ("shim_torch", "torch"):
        return cls._apply_directly(*lift(args))
    own = cls.vmap is not Function.vmap
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            f"the setup_context staticmethod. {_MORE}"
        )
    if cls.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid ambiguity. "
            + _MORE
        )
    if cls.generate_vmap_rule:
        return cls._apply_directly(*lift(args))
    if not own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True. {_MORE}"
        )
    return _by_its_rule(cls, args)


def _by_its_rule(cls: Any, args: tuple[Any, ...]) -> Any:
    from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

    leaves, spec = tree_flatten(args)
    level = max(x.level for x in leaves if isinstance(x, BatchedTensor))
    size = next(x.value.shape[0] for x in leaves if isinstance(x, BatchedTensor) and x.level == level)
    mine = [isinstance(x, BatchedTensor) and x.level == level for x in leaves]
    values = [released(x, level, size) if m else x for x, m in zip(leaves, mine, strict=True)]
    dims = tree_unflatten([0 if m else None for m in mine], spec)
    randomness = next((s.randomness for s in stack if s.id == level), "error")
    found = cls.vmap(VmapInfo(size, randomness), dims, *tree_unflatten(values, spec))
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
            f"the output. Got a {type(found)} instead."
        )
    results, result_spec = tree_flatten(found[0])
    out = _broadcast_to_and_flatten(found[1], result_spec, is_leaf=lambda d: d is None or isinstance(d, int))
    if out is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims="
            f"{found[1]} to be compatible with the structure of `output`. out_dims has structure {tree_flatten(found[1])[1]} "
            f"but output has structure {result_spec}. {_MORE}"
        )
    wrapped = [
        x if d is None else wrapped_with_history(x.movedim(d, 0), level) for x, d in zip(results, out, strict=True)
    ]
    return tree_unflatten(wrapped, result_spec)


naming.present(globals(), "torch._functorch.autograd_function")
