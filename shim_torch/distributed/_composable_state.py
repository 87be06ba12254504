"""``torch.distributed._composable_state``: what functions such as ``fully_shard`` keep of a module, found from the module.

The functions that would keep something need several processes and are not supported; libraries may keep states of their own.
"""

from __future__ import annotations

from weakref import ReferenceType, WeakKeyDictionary
from weakref import ref as _ref

from shim_torch.nn.modules.module import Module


class _State:
    """The base class of what is kept."""


_module_state_mapping: WeakKeyDictionary[Module, ReferenceType[_State]] = WeakKeyDictionary()


def _insert_module_state(module: Module, state: _State) -> None:
    """Keeps a weak reference to a module's state. Errors: AssertionError if the module has one."""
    if module in _module_state_mapping:
        raise AssertionError(f"Inserting {module} more than once.")
    _module_state_mapping[module] = _ref(state)


def _get_module_state(module: Module) -> _State | None:
    """A module's state (itself, if it is one), or None. Errors: AssertionError if the state is gone."""
    if isinstance(module, _State):
        return module
    kept = _module_state_mapping.get(module)
    if kept is None:
        return None
    state = kept()
    if state is None:
        raise AssertionError("State has already been garbage collected")
    return state
