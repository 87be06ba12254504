"""``torch.library.get_kernel``: kernels of operators as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._library.custom_ops import qualified_name


class _SafeKernelFunction:
    """The kernel of an operator at a dispatch key."""

    __module__ = "torch._C"

    def __init__(self, op_handle: Any, function: Callable[..., Any]) -> None:
        self.op_handle, self._function = op_handle, function

    def call_boxed(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the kernel directly, without autograd or other dispatch keys."""
        with _core_no_grad():
            return self._function(*_in_order(self.op_handle._schema, args, kwargs))


def _core_no_grad() -> Any:
    from shim_torch.autograd import no_grad

    return no_grad()


def _in_order(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """All arguments in the order of the schema, defaults filled in."""
    found = list(args)
    for argument in schema.arguments[len(args) :]:
        if argument.name in kwargs:
            found.append(kwargs[argument.name])
        elif argument.has_default_value():
            found.append(argument.default)
        else:
            raise RuntimeError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
    return found


def _own_kernel(name: str, key: str) -> Callable[..., Any] | None:
    """The operator table's kernel for a key; None if there is none."""
    from shim_torch._impl.table.operators import records
    from shim_torch._impl.table.run import make_run

    record = records().get(name)
    if record is None:
        return None
    composite = record.kind in ("composite", "view")
    if key in ("CPU", "CUDA", "Meta") or (composite and key.startswith("Composite")):
        return make_run(record) if record.kind == "kernel" else record.body
    return None


def get_kernel(op: Any, dispatch_key: Any) -> _SafeKernelFunction:
    """The kernel that runs for an operator (its overload or name) at a dispatch key.

    ``kernel.call_boxed(keys, *args)`` calls it; later registrations for the operator do not change it.
    """
    from shim_torch._impl.core_names.dispatch import DispatchKey
    from shim_torch._ops import OpOverload

    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    name = qualified_name(op)
    key = str(dispatch_key).rpartition(".")[2]
    if not hasattr(DispatchKey, key):
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    qualified, _, overload = name.partition(".")
    if overload not in _core.operator_overloads(qualified):
        raise RuntimeError(f"operator {name} does not exist")
    handle = op if isinstance(op, OpOverload) else _overload(qualified, overload)
    function = _core.kernels_of(qualified, overload).get(key) or _own_kernel(name, key)
    if function is None:
        raise RuntimeError(f"no kernel for {key} for {name}")
    return _SafeKernelFunction(handle, function)


def _overload(qualified: str, overload: str) -> Any:
    from shim_torch._ops import ops

    namespace, _, base = qualified.partition("::")
    return getattr(getattr(getattr(ops, namespace), base), overload or "default")


naming.present(globals(), "torch.library")
