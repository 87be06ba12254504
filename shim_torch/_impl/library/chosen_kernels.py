"""Which kernel a call of a custom operator runs, and the check of what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._library.utils import check_aliasing_constraint


def _tensors(values: Any) -> list[Any]:
    found = []
    for v in values:
        if isinstance(v, _core.TensorBase):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _tensors(v)
    return found


def checked(definition: Any, device_type: str | None) -> Callable[..., Any]:
    """The kernel with the check that no result is an input or another result."""
    takes_tensors = any("Tensor" in str(a.type) for a in definition._opoverload._schema.arguments)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        kind = device_type if takes_tensors else _device_of_call(definition, args, kwargs)
        chosen = definition._init_fn if kind in definition._disabled else definition._backend_fns[kind]
        result = chosen(*args, **kwargs)
        given = _tensors((*args, *kwargs.values()))
        check_aliasing_constraint(definition._name, given, result, lambda: str(chosen.__module__))
        return result

    return kernel


def _device_of_call(definition: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Where no tensor says it, the argument ``device`` does: the key of the kernel for it. RuntimeError without a kernel."""
    names = [a.name for a in definition._opoverload._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    if given.get("device") is None:
        return None
    kind: str = _core.device(given["device"]).type
    if kind in definition._backend_fns:
        return kind
    if None not in definition._backend_fns:
        raise RuntimeError(
            f"{definition._name} does not have a kernel registered for {kind}. Please use register_kernel to do so."
        )
    return None
