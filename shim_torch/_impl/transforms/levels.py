"""The function transforms that run, from the outermost on: a ``vmap`` hides a dim, the others share autograd's one tape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._pytree import tree_leaves

running: list[Any] = []  # Transforms and the Levels of vmap
NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


class Transform:
    """A running transform. ``kind``: its name in ``torch._C._functorch.TransformType``; ``depth``: 1 for the outermost."""

    def __init__(self, kind: str) -> None:
        self.kind, self.depth = kind, 0

    def __enter__(self) -> Transform:
        begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        end(self)


def begin(transform: Any) -> None:
    """From now on it is the innermost; Functions must have a ``setup_context``, ``requires_grad_`` refuses."""
    running.append(transform)
    transform.depth = len(running)
    _core._count_transforms(1)


def end(transform: Any) -> None:
    """It has run."""
    running.remove(transform)
    _core._count_transforms(-1)


def running_vmap() -> Any:
    """The ``Level`` of the innermost ``vmap`` that runs; None where none does."""
    return next((transform for transform in reversed(running) if transform.kind == "Vmap"), None)


@contextmanager
def gradients(kind: str = "Grad", hooks: bool = False) -> Iterator[Transform]:
    """A gradient transform runs. Unless ``hooks``, saved tensor hooks are an error meanwhile."""
    old = _core._saved_tensors_hooks_get_disabled_error_message()
    if not hooks:
        _core._saved_tensors_hooks_disable(NO_HOOKS)
    below = _core._set_below_autograd(False)  # where a guard leaves autograd out, a transform has it all the same
    _core._count_gradient_transforms(1)
    try:
        with Transform(kind) as transform:
            yield transform
    finally:
        _core._count_gradient_transforms(-1)
        _core._set_below_autograd(below)
        if not hooks:
            if old is None:
                _core._saved_tensors_hooks_enable()
            else:
                _core._saved_tensors_hooks_disable(old)


@contextmanager
def writable(given: Any) -> Iterator[None]:
    """The function of the innermost gradient transform may write to these tensors: they are arguments, not captured."""
    level = _core._count_gradient_transforms(0)
    tensors = [x for x in tree_leaves(given) if isinstance(x, _core.TensorBase)]
    before = [_core._set_made_in(x, level) for x in tensors]
    try:
        yield
    finally:
        for x, old in zip(tensors, before, strict=True):
            _core._set_made_in(x, old)


def reaches_outside(outputs: list[Any], leaves: list[Any]) -> bool:
    """Whether results have a part in tensors that need gradients other than ``leaves``: those that a function captured."""
    mine = {id(x) for x in leaves}
    waiting = [x.grad_fn for x in outputs if x.grad_fn is not None]
    if any(x.requires_grad and x.grad_fn is None and id(x) not in mine for x in outputs):
        return True
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in mine:
            return True
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return False
