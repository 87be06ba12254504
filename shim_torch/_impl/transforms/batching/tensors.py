"""``BatchedTensor``: a tensor that hides a batch dim of another one, and what ``vmap`` keeps while it runs.

A function under ``vmap`` gets these. Autograd records on them as on any tensor; below it ``__torch_dispatch__`` takes
each operator to its rule (rules.py), which runs it once for the whole batch. Values keep their batch dim first.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.own import is_own
from shim_torch.autograd.function import Function

if TYPE_CHECKING:
    from shim_torch._impl.transforms.batching.level import Level

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
stack: list[Level] = []  # the vmaps that run, the innermost last


def wider_than_target(name: str) -> str:
    """Why an operator can't write a batch to a tensor that is none."""
    return (
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
        "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
        f"Please try to use out-of-place operators instead of {name}. If said operator is being called inside the PyTorch "
        "framework, please file a bug report instead."
    )


def whole_batch(x: Any) -> Any:
    """The tensor that holds every item of every batch that ``x`` is one of."""
    while isinstance(x, BatchedTensor):
        x = x.value
    return x


def _agreed(x: Any, refusal: str) -> Any:
    """What our own operators read of an argument, to check it, where all items agree. A user's function may not ask."""
    if not is_own(sys._getframe(2)):
        raise RuntimeError(refusal)
    found = whole_batch(x).reshape(-1)
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
        """Whether the conjugate bit of the value is set."""
        return bool(self.value.is_conj())

    def is_neg(self) -> bool:
        """Whether the negative bit of the value is set."""
        return bool(self.value.is_neg())

    def item(self) -> Any:
        """The number that all items are, for our own operators; RuntimeError for a user's function."""
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
        """Detached, for our own functions; RuntimeError for a user's."""
        if is_own(sys._getframe(1)):
            return self.detach()
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")

    tolist = numpy = data_ptr = __array__ = _no_storage

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Errors: RuntimeError, always: the tape belongs to the transform."""
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Errors: RuntimeError, always: what needs gradients is the transform's to say."""
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
        return released(g, ctx.level, ctx.size), None


class _Unwrap(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, level: int) -> Any:
        ctx.level = level
        return _taken(x, level).detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return wrapped_with_history(g, ctx.level), None


def released(g: Any, level: int, size: int) -> Any:
    """The whole batch of a level, which is its first dim; what is the same for all items is expanded."""
    if level not in _noted(g, {}):
        return g.expand((size, *g.shape))
    return unwrapped_with_history(g, level)


def unwrapped_with_history(x: Any, level: int) -> Any:
    """The value over the batch of a level, which is its first dim; gradients flow through."""
    return _Unwrap._apply_directly(x, level) if x.requires_grad else _taken(x, level)


def wrapped_with_history(x: Any, level: int) -> Any:
    """A tensor whose first dim is the batch of a level, as one without it; gradients flow through."""
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


def lift(args: tuple[Any, ...]) -> Any:
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
                x = wrapped_with_history(x.expand((levels[level], *x.shape)), level)
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
    return wrapped_with_history(x.expand((level.size, *x.shape)), level.id)


def wrapped(found: Any, level: int) -> Any:
    """Results over the batch as batched tensors."""
    if isinstance(found, Tensor):
        return BatchedTensor(found, level)
    return type(found)([wrapped(x, level) for x in found]) if isinstance(found, (list, tuple)) else found
