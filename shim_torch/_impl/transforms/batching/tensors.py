"""``BatchedTensor``: a tensor that hides a batch dim of another one, and what ``vmap`` keeps while it runs.

A function under ``vmap`` gets these. Autograd records on them as on any tensor; below it ``__torch_dispatch__`` takes
each operator to its rule (_batch_rules.py), which runs it once for the whole batch. Values keep their batch dim first.
"""

from __future__ import annotations

import itertools
import sys
from functools import cache
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.surface.own import is_own
from shim_torch._impl.table import aten_tags
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.operators import named
from shim_torch._impl.table.tags import Tag
from shim_torch._impl.transforms import levels as _levels
from shim_torch.autograd.function import Function
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.utils._python_dispatch import TorchDispatchMode

Tensor = _core.Tensor

CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues ."
)
ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please "
    "file a bug report."
)
_ids = itertools.count(1)  # never the same again: tensors of a vmap may outlive it in a graph
stack: list[Level] = []  # the vmaps that run, the innermost last


def _agreed(x: Any, refusal: str) -> Any:
    """What our own operators read of an argument, to check it, where all items agree. A user's function may not ask."""
    if not is_own(sys._getframe(2)):
        raise RuntimeError(refusal)
    while isinstance(x, BatchedTensor):
        x = x.value
    found = x.reshape(-1)
    if not found.numel() or not bool((found == found[0]).all()):
        raise RuntimeError(refusal)
    return found[0].item()


def _no_storage(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class BatchedTensor(Tensor):
    """``value`` without its first dim, the batch of a ``vmap``."""

    value: Any
    level: int
    __torch_function__ = _core._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, value: Any, level: int) -> Any:
        make: Any = Tensor
        made = make._make_wrapper_subclass(
            cls,
            value.shape[1:],
            strides=value.stride()[1:],
            dtype=value.dtype,
            device=value.device,
            requires_grad=False,
        )
        made.value, made.level = value, level
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from shim_torch._impl.transforms.batching.rules import batched

        return batched(func, args, kwargs or {})

    def __bool__(self) -> bool:
        return bool(_agreed(self, CONTROL_FLOW))

    is_nonzero = __bool__

    def is_conj(self) -> bool:
        return bool(self.value.is_conj())

    def is_neg(self) -> bool:
        return bool(self.value.is_neg())

    def item(self) -> Any:
        return _agreed(self, ITEM)

    def __float__(self) -> float:
        return float(_agreed(self, ITEM))

    def __int__(self) -> int:
        return int(_agreed(self, ITEM))

    __index__ = __int__

    def __complex__(self) -> complex:
        return complex(_agreed(self, ITEM))

    def _take_view(self, view: BatchedTensor) -> None:
        """The value of what takes its place, of transpose_ and its like."""
        self.value = view.value

    @property
    def data(self) -> Any:
        if is_own(sys._getframe(1)):
            return self.detach()
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")

    tolist = numpy = data_ptr = __array__ = _no_storage

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
            "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
            "transformed instead."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        inner = "\n    ".join(repr(self.value).split("\n"))
        return f"BatchedTensor(lvl={self.depth}, bdim=0, value=\n    {inner}\n)"

    @property
    def depth(self) -> int:
        """Which of the running transforms hides the dim, 1 for the outermost; -1 once its ``vmap`` has ended."""
        return next((s.depth for s in stack if s.id == self.level), -1)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("a BatchedTensor can't be pickled: it belongs to the vmap that made it")


class Level:
    """A running ``vmap``: its batch size and what random operators do."""

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness, self.id = size, randomness, next(_ids)
        self.kind, self.depth = "Vmap", 0
        self._mode = _RandomMode(self)

    def __enter__(self) -> Level:
        stack.append(self)
        _levels.begin(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        _levels.end(self)
        stack.remove(self)

    def wrap(self, x: Any, dim: int = 0) -> Any:
        """A tensor whose dim ``dim`` is the batch, as one without it; gradients flow through."""
        x = x.movedim(dim, 0) if dim % x.dim() else x
        return _wrapped_with_history(x, self.id)

    def unwrap(self, x: Any, dim: int) -> Any:
        """The whole batch of a result, its batch dim at ``dim``."""
        if not (isinstance(x, BatchedTensor) and x.level == self.id):
            x = x.expand((self.size, *x.shape))
        elif x.requires_grad:
            x = _Unwrap._apply_directly(x, self.id)
        else:
            x = x.value
        return x.movedim(0, dim) if dim else x


def whole(x: Any, level: int, size: int) -> Any:
    """The value of a tensor of a level, or that of one without it, the same for all."""
    return x.value if isinstance(x, BatchedTensor) and x.level == level else x.expand((size, *x.shape))


class _Wrap(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, level: int) -> Any:
        ctx.level, ctx.size = level, x.shape[0]
        return _put(x.detach(), level)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _released(g, ctx.level, ctx.size), None


class _Unwrap(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, level: int) -> Any:
        ctx.level = level
        return _taken(x, level).detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _wrapped_with_history(g, ctx.level), None


def _released(g: Any, level: int, size: int) -> Any:
    if level not in _noted(g, {}):
        return g.expand((size, *g.shape))
    return _Unwrap._apply_directly(g, level) if g.requires_grad else _taken(g, level)


def _wrapped_with_history(x: Any, level: int) -> Any:
    if _core.is_grad_enabled() and x.requires_grad:
        return _Wrap._apply_directly(x, level)
    return _put(x, level)


def _put(x: Any, level: int) -> Any:
    """A tensor whose first dim is the batch of a level, as one without it: below the levels that began after that one."""
    if isinstance(x, BatchedTensor) and x.level > level:
        return BatchedTensor(_put(x.value.movedim(1, 0), level), x.level)
    return BatchedTensor(x, level)


def _taken(x: Any, level: int) -> Any:
    """The reverse: the batch of a level, wherever among the others it is, as the first dim."""
    if x.level > level:
        return BatchedTensor(_taken(x.value, level).movedim(0, 1), x.level)
    return x.value


# --- the same for a whole batch, and needing gradients --------------------------------------------------------------


def _noted(x: Any, found: dict[int, int]) -> dict[int, int]:
    """The levels of a tensor and their batch sizes."""
    while isinstance(x, BatchedTensor):
        found[x.level] = x.value.shape[0]
        x = x.value
    return found


def _lift(args: tuple[Any, ...]) -> Any:
    """Arguments of an operator, those from outside of a batch made part of it: their gradients add up over it."""
    levels: dict[int, int] = {}
    for a in args:
        for x in a if isinstance(a, (list, tuple)) else (a,):
            _noted(x, levels)

    def lifted(x: Any) -> Any:
        if isinstance(x, (list, tuple)) and any(isinstance(y, Tensor) for y in x):
            return type(x)(map(lifted, x))
        if not isinstance(x, Tensor) or not x.requires_grad:
            return x
        for level in sorted(levels):
            if level not in _noted(x, {}):
                x = _wrapped_with_history(x.expand((levels[level], *x.shape)), level)
        return x

    return tuple(map(lifted, args))


def in_all_levels(x: Any) -> Any:
    """A tensor as part of every batch that runs, for gradients of each item by it."""
    for level in stack:
        x = _in_level(x, level)
    return x


def _in_level(x: Any, level: Level) -> Any:
    if isinstance(x, BatchedTensor) and x.level >= level.id:
        if x.level == level.id or x.requires_grad:
            return x
        return BatchedTensor(_in_level(x.value, level), x.level)
    return _wrapped_with_history(x.expand((level.size, *x.shape)), level.id)


# --- autograd.Function ----------------------------------------------------------------------------------------------

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a Function's ``vmap`` is told of the batch."""

    batch_size: int
    randomness: str


def _apply(cls: Any, args: tuple[Any, ...]) -> Any:
    """A Function over a batch: by its ``vmap``, or its own operators over the batch."""
    if cls.__module__.partition(".")[0] in ("shim_torch", "torch"):
        return cls._apply_directly(*_lift(args))
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
        return cls._apply_directly(*_lift(args))
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
    values = [_released(x, level, size) if m else x for x, m in zip(leaves, mine, strict=True)]
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
        x if d is None else _wrapped_with_history(x.movedim(d, 0), level) for x, d in zip(results, out, strict=True)
    ]
    return tree_unflatten(wrapped, result_spec)


_core.set_batching(BatchedTensor, _lift, _apply)


class _RandomMode(TorchDispatchMode):
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
                from shim_torch._impl.transforms.batching.rules import wider_than_target

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
    return _wrapped(found, level.id)


_SAME_OF_BATCH = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)


def _wrapped(found: Any, level: int) -> Any:
    """Results over the batch as batched tensors."""
    if isinstance(found, Tensor):
        return BatchedTensor(found, level)
    return type(found)([_wrapped(x, level) for x in found]) if isinstance(found, (list, tuple)) else found
