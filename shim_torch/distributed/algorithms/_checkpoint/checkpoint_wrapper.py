"""``torch.distributed.algorithms._checkpoint.checkpoint_wrapper``: modules whose forward pass is computed again in backward."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from shim_torch.nn.modules.module import Module
from shim_torch.utils.checkpoint import checkpoint

_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(Enum):
    """Which kind of checkpoint."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another; its parameters keep the names they have without it."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(_without_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_checkpoint_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """The module's parameters under their names without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    def load_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads into the wrapped module."""
        return self._checkpoint_wrapped_module.load_state_dict(state_dict, *args, **kwargs)


def _without_prefix(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name in [n for n in state if n.startswith(prefix + _PREFIX)]:
        state[prefix + name[len(prefix + _PREFIX) :]] = state.pop(name)


class CheckpointWrapper(ActivationWrapper):
    """A module that is checkpointed."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        self._call = (
            (lambda f, *a, **k: checkpoint(f, *a, use_reentrant=reentrant, **kwargs, **k))
            if checkpoint_fn is None
            else (lambda f, *a, **k: checkpoint_fn(f, *a, **kwargs, **k))
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's result; what its forward saves is computed again in backward."""
        return self._call(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Any = None,
    **kwargs: Any,
) -> CheckpointWrapper:
    """The module, checkpointed."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Any] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Checkpoints every sub-module that ``check_fn`` picks."""
    for parent in list(model.modules()):
        if isinstance(parent, ActivationWrapper):
            continue
        for name, child in list(parent.named_children()):
            if check_fn(child) and not isinstance(child, ActivationWrapper):
                setattr(parent, name, checkpoint_wrapper_fn(child))
