"""``_single_tensor_adam`` and its like: private functions of the optimizers' modules that libraries import.

In PyTorch ``_single_tensor_adam`` loops over parameters, ``_multi_tensor_adam`` uses foreach, ``_fused_adam`` one
kernel; here all are the same update of lists (``_functional``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_KINDS: dict[str, dict[str, bool]] = {
    "_single_tensor_": {},
    "_multi_tensor_": {"foreach": True},
    "_fused_": {"fused": True},
}
_FUSED = ("adam", "adagrad", "sgd")


@functools.lru_cache(maxsize=64)
def form(name: str) -> Callable[..., None]:
    """The function of that name. It takes lists, ``grad_scale`` and ``found_inf`` by position, settings by name.

    Errors: AttributeError for a name that PyTorch has not, AssertionError for ``differentiable=True`` over lists.
    """
    import inspect

    from shim_torch.optim import _functional

    prefix = next((p for p in _KINDS if name.startswith(p)), None)
    rule = name.removeprefix(prefix or "")
    lacks = prefix is None or (prefix == "_fused_" and rule not in _FUSED) or name == "_multi_tensor_muon"
    if lacks or rule not in (*_functional.__all__, "adafactor", "muon") or rule in ("adamw", "sparse_adam"):
        raise AttributeError(name)
    update = getattr(_functional, rule)
    taken = inspect.signature(update).parameters
    lists = [n for n, p in taken.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    scales = [n for n in ("grad_scale", "found_inf") if n in taken]
    chosen = {k: v for k, v in _KINDS[prefix or ""].items() if k in taken}
    lists = ["grads" if n == "d_p_list" else n for n in lists]

    def run(*args: Any, **settings: Any) -> None:
        given = dict(zip(lists + scales, args, strict=False))
        if len(args) > len(given) or given.keys() & settings.keys():
            raise TypeError(f"{name}() takes {len(lists + scales)} positional arguments but {len(args)} were given")
        given |= {n: settings.pop(n) for n in lists + scales if n in settings}
        if prefix != "_single_tensor_" and settings.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        values = [given.pop(n) for n in lists if n in given]
        update(*values, **given, **chosen, **settings)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"One step of {rule} for lists of parameters, gradients and states (see ``{rule}``)."
    return run


def module_getattr(module: str, *functions: str) -> Callable[[str], Any]:
    """The module-level ``__getattr__`` of an optimizer's module: functions, their implementations, helpers."""

    def find(name: str) -> Any:
        from shim_torch._impl.optim import helpers
        from shim_torch.optim import _functional, optimizer

        if name in functions or name == "_make_sparse":
            return getattr(_functional, name)
        for home in (optimizer, helpers):
            if name in home.__dict__ and name not in ("required", "check", "check_rate", "closure_loss"):
                return home.__dict__[name]
        if name.startswith(tuple(_KINDS)) and any(name.endswith("_" + f) for f in functions):
            try:
                return form(name)
            except AttributeError:
                pass
        from shim_torch._impl.surface.missing import missing

        return missing(module, name)

    return find
