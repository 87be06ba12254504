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


def _cast(value: Any, kind: str) -> Any:
    """A result as the schema's type has it; RuntimeError where it is of another."""
    if kind == "Tensor":
        fits = value is None or isinstance(value, _core.TensorBase)
    elif kind == "Tensor[]" or kind.startswith("List"):
        fits = isinstance(value, (list, tuple))
    elif kind == "float" and type(value) is int:
        return float(value)
    elif kind == "bool" and type(value) is int:
        return bool(value)
    else:
        fits = kind not in ("int", "SymInt") or not isinstance(value, float)
    if not fits:
        raise RuntimeError(f"Unable to cast Python instance of type {type(value)} to C++ type '{kind}'")
    return value


def declared_results(name: str, kinds: list[str]) -> Callable[[Any], Any]:
    """What makes of a kernel's result what the schema declares: None, one value, or a tuple of several."""

    def nothing(result: Any) -> None:
        if result is not None:
            raise RuntimeError(
                f"Expected PythonKernelHolder for {name} to return None but it returned something else instead."
            )

    def several(result: Any) -> tuple[Any, ...]:
        if not isinstance(result, (list, tuple)) or len(result) != len(kinds):
            count = len(result) if isinstance(result, (list, tuple)) else 1
            raise RuntimeError(f"{name}: expected the kernel to return {len(kinds)} values but it returned {count}")
        return tuple(map(_cast, result, kinds))

    if not kinds:
        return nothing
    return several if len(kinds) > 1 else lambda result: _cast(result, kinds[0])


def checked(definition: Any, device_type: str | None) -> Callable[..., Any]:
    """The kernel with the check that no result is an input or another result."""
    schema = definition._opoverload._schema
    takes_tensors = any("Tensor" in str(a.type) for a in schema.arguments)
    as_declared = declared_results(definition._qualname, [str(r.type) for r in schema.returns])

    def kernel(*args: Any, **kwargs: Any) -> Any:
        kind = device_type if takes_tensors else _device_of_call(definition, args, kwargs)
        chosen = definition._init_fn if kind in definition._disabled else definition._backend_fns[kind]
        result = as_declared(chosen(*args, **kwargs))
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
