"""``state_dict`` and ``load_state_dict`` of ``nn.Module``."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from shim_torch.__future__ import get_swap_module_params_on_conversion
from shim_torch._impl.native import _core
from shim_torch._impl.utils.handles import RemovableHandle
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn.parameter import Parameter, is_lazy
from shim_torch.utils import swap_tensors

_EXTRA = "_extra_state"


class _WithModule:
    """A hook that gets its module as first argument, by a weak reference; it can be pickled with the module."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "with_module": True, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.module = state["hook"], weakref.ref(state["module"])


def _as_parameter_like(own: Any, given: Any) -> Any:
    """``given`` as a replacement for the parameter ``own``, with its ``requires_grad``."""
    if not isinstance(own, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(own.requires_grad)
    return Parameter(given, requires_grad=own.requires_grad)


def _load_tree(module: Any, state: Any, prefix: str, metadata: Any, assign: bool, keys: Any, errors: list[str]) -> None:
    """Loads a module, then its children, from what ``state`` has below ``prefix``; runs their hooks."""
    own = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        own["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, own, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = prefix + name + "."
            part = {k: v for k, v in state.items() if k.startswith(below)}
            _load_tree(child, part, below, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )


def own_state(module: Any) -> dict[str, Any]:
    """The parameters and persistent buffers of a module itself, by name."""
    passing = module._non_persistent_buffers_set
    tables = (module._parameters, module._buffers)
    return {
        name: value for table in tables for name, value in table.items() if value is not None and name not in passing
    }


def _collect(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Fills ``destination`` with the state of a module and its children, and runs their hooks."""
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for before in module._state_dict_pre_hooks.values():
        before(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(prefix=f"{prefix}{name}.", destination=destination, keep_vars=keep_vars)
    for after in module._state_dict_hooks.values():
        replaced = after(module, destination, prefix, metadata)
        if replaced is not None and getattr(after, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = destination if replaced is None else replaced
    return destination


def _unknown(module: Any, state_dict: Mapping[str, Any], prefix: str, known: Any) -> list[str]:
    """The keys below ``prefix`` that are none of the module's ``known`` ones and of none of its children."""
    split = {key: key[len(prefix) :].partition(".") for key in state_dict if key.startswith(prefix)}
    return [key for key, (first, dot, _) in split.items() if first not in (module._modules if dot else known)]


class StateDictMixin:
    """Saving to and loading from a flat dict of dotted names."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _version: int

    def get_extra_state(self) -> Any:
        """Further state to save under ``_extra_state``; subclasses override this and ``set_extra_state``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restores what ``get_extra_state`` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not StateDictMixin.get_extra_state

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        passing = self._non_persistent_buffers_set
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                if value is not None and name not in passing:
                    destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_extra_state():
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name; detached unless ``keep_vars``."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            named, default = (destination, prefix, keep_vars), (None, "", False)
            by_place = (*args, *default[len(args) :])[:3]
            choices = zip(named, default, by_place, strict=True)
            destination, prefix, keep_vars = (p if n == d else n for n, d, p in choices)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        return _collect(self, destination, prefix, keep_vars)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata)`` runs after state_dict and may change it in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return self._register(self._state_dict_hooks, hook)  # type: ignore[attr-defined]

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return self._register(self._state_dict_hooks, hook)  # type: ignore[attr-defined]

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` runs before state_dict."""
        return self._register(self._state_dict_pre_hooks, hook)  # type: ignore[attr-defined]

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            hook = _WithModule(hook, self)
        return self._register(self._load_state_dict_pre_hooks, hook)  # type: ignore[attr-defined]

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, ...)`` runs before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` runs after loading."""
        return self._register(self._load_state_dict_post_hooks, hook)  # type: ignore[attr-defined]

    @staticmethod
    def _register(table: Any, hook: Callable[..., Any]) -> RemovableHandle:
        handle = RemovableHandle(table)
        table[handle.id] = hook
        return handle

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        self._update_state_of_old_version(state_dict, prefix, local_metadata.get("version"), error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        own = own_state(self)
        takes_extra = type(self).set_extra_state is not StateDictMixin.set_extra_state
        for name in [*own, _EXTRA] if takes_extra else own:
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
            elif name in own:
                self._load_one(name, key, own[name], state_dict[key], assign, error_msgs)
            else:
                self.set_extra_state(state_dict[key])
        if strict:
            known = {*own, _EXTRA} if takes_extra else own
            unexpected_keys += _unknown(self, state_dict, prefix, known)

    def _update_state_of_old_version(
        self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]
    ) -> None:
        """Converts the state that an older version of the class saved; layers whose state changed override it."""

    def _load_one(self, name: str, key: str, own: Any, given: Any, assign: bool, error_msgs: list[str]) -> None:
        if not isinstance(given, _core.Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
                f"but received {type(given)}"
            )
            return
        lazy = is_lazy(own)
        if not lazy and own.dim() == 0 and given.dim() == 1 and len(given) == 1:
            given = given[0]  # checkpoints of old versions keep scalars as one-element tensors
        if not lazy and own.shape != given.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
                f"the shape in current model is {own.shape}."
            )
            return
        if own.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            with no_grad():
                if get_swap_module_params_on_conversion():
                    loaded = own.module_load(given, assign=assign)
                    if loaded is own or loaded is given:
                        raise RuntimeError("module_load returned one of self or other, please .detach() the result")
                    swap_tensors(own, _as_parameter_like(own, loaded))
                elif assign:
                    setattr(self, name, _as_parameter_like(own, given))
                else:
                    own.copy_(given)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {own.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies (or with ``assign`` takes over) the tensors of ``state_dict``.

        Returns (missing_keys, unexpected_keys). Errors: RuntimeError listing every key and shape that does not fit.
        """
        from shim_torch.nn.modules.module import _IncompatibleKeys

        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # hooks and layers may change it
        if metadata is not None:
            state._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        _load_tree(self, state, "", metadata, assign, keys, errors)
        problems = {"Missing": keys.missing_keys, "Unexpected": keys.unexpected_keys} if strict else {}
        listed = {kind: ", ".join(map('"{}"'.format, names)) for kind, names in problems.items() if names}
        errors[:0] = [f"{kind} key(s) in state_dict: {names}. " for kind, names in listed.items()]
        if errors:
            raise RuntimeError("\n\t".join([f"Error(s) in loading state_dict for {type(self).__name__}:", *errors]))
        return keys
