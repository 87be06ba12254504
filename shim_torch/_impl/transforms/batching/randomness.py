"""Random operators under ``vmap``: an error, drawn anew for every item, or once for all."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from shim_torch._impl.native import _core
from shim_torch._impl.table import aten_tags
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.operators import named
from shim_torch._impl.table.tags import Tag
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, whole, wider_than_target, wrapped
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from shim_torch._impl.transforms.batching.level import Level

Tensor = _core.Tensor


class RandomMode(TorchDispatchMode):
    """Sees the operators of a running ``vmap``, those that make tensors too, for the sake of the random ones."""

    def __init__(self, level: Level) -> None:
        super().__init__()
        self.level = level

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._qualified_op_name
        if not is_random(name):
            return func(*args, **(kwargs or {}))
        with no_grad():
            return _random(self.level, func, name, args, kwargs or {})


@cache
def is_random(qualified: str) -> bool:
    """Whether an operator draws numbers: by its record, or by PyTorch's tag where it has none."""
    name = qualified.removeprefix("aten::")
    found = named(name)
    if found or named(name.removesuffix("_")) or name == qualified:
        return any(record.traits.get("batching") == "random" for record in found)
    return aten_tags.has(name, Tag.nondeterministic_seeded)


def _random(level: Level, func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A random operator: drawn anew for every item, or once for all."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if level.randomness == "legacy":
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of vmap "
            "as a workaround"
        )
    op, same = name.removeprefix("aten::"), level.randomness == "same"
    mine = [isinstance(a, BatchedTensor) and a.level == level.id for a in args]
    if op in ("rand", "randn", "randint") or op == "normal" and not any(isinstance(a, Tensor) for a in args):
        if same:
            return func(*args, **kwargs)
        at = next(i for i, a in enumerate(args) if isinstance(a, (list, tuple)))
        size = [level.size, *args[at]]
        return BatchedTensor(func(*args[:at], size, *args[at + 1 :], **kwargs), level.id)
    if op == "randperm":
        if same:
            return func(*args, **kwargs)
        return BatchedTensor(torch.stack([func(*args, **kwargs) for _ in range(level.size)]), level.id)
    if op.endswith("_"):
        if same and not any(mine):
            return func(*args, **kwargs)
        if same:
            if not mine[0] or any(mine[1:]):
                raise RuntimeError(_SAME_OF_BATCH)
            args[0].value.copy_(func(args[0].value.new_empty(args[0].shape), *args[1:], **kwargs))
            return args[0]
        if not same and not mine[0]:
            if any(mine):
                raise RuntimeError(wider_than_target(op))
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
        values = [whole(a, level.id, level.size) if isinstance(a, Tensor) else a for a in args]
        func(*values, **kwargs)
        return args[0]
    if same:
        if op.endswith("_like") and mine[0]:
            return func(args[0].value.select(0, 0), *args[1:], **kwargs)
        if op == "native_dropout" and mine[0]:
            _, keep = func(args[0].value.new_ones(args[0].shape), *args[1:], **kwargs)
            scale = 1 / (1 - args[1]) if args[1] < 1 else 0.0
            return BatchedTensor(args[0].value * keep * scale, level.id), keep
        if any(mine):
            raise RuntimeError(_SAME_OF_BATCH)
        return func(*args, **kwargs)
    values = [whole(a, level.id, level.size) if isinstance(a, Tensor) else a for a in args]
    if op == "multinomial" and values[0].dim() == 3:
        found = func(values[0].flatten(0, 1), *values[1:], **kwargs).unflatten(0, values[0].shape[:2])
    else:
        found = func(*values, **kwargs)
    return wrapped(found, level.id)


_SAME_OF_BATCH = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
