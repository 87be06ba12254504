"""What TorchScript's names in ``torch._C`` answer: switches of fusers that see no function here, and types of schemas."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming


def _get_tracing_state() -> None:
    """No function is being traced."""


def _is_tracing() -> bool:
    return False


def _jit_set_profiling_executor(value: bool) -> bool:
    """There is no TorchScript executor; the old value."""
    return True


_jit_set_profiling_mode = _jit_set_profiling_executor


_jit_fusers = {"cpu": False, "gpu": False, "texpr": True}  # what TorchScript's fusers would be allowed to do


def _jit_can_fuse_on_cpu() -> bool:
    return _jit_fusers["cpu"]


def _jit_can_fuse_on_gpu() -> bool:
    return _jit_fusers["gpu"]


def _jit_texpr_fuser_enabled() -> bool:
    return _jit_fusers["texpr"]


def _jit_override_can_fuse_on_cpu(value: bool) -> None:
    """Kept and readable: functions stay Python functions, which no fuser sees."""
    _jit_fusers["cpu"] = value


def _jit_override_can_fuse_on_gpu(value: bool) -> None:
    _jit_fusers["gpu"] = value


def _jit_set_texpr_fuser_enabled(value: bool) -> None:
    _jit_fusers["texpr"] = value


def _jit_set_emit_hooks(module_hook: Any, function_hook: Any) -> None:
    """Takes what to call for each scripted module and function; there are none."""


def _jit_clear_class_registry() -> None:
    """There are no scripted classes."""


def _jit_resolve_packet(name: str, /, *args: Any, **kwargs: Any) -> str:
    """The name of the overload that a call is of, by the types of its arguments.

    Errors: RuntimeError for no operator, and where no overload takes them.
    """
    from shim_torch._impl.library.overload_choice import overload_of
    from shim_torch._ops import ops

    namespace, _, bare = name.partition("::")
    packet = getattr(getattr(ops, namespace), bare, None)
    if packet is None:
        raise RuntimeError(f"No such operator {name}")
    found = overload_of(packet, args, kwargs)
    if found is None:
        shown = [f"{s}" for s in packet._schemas.values()]
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n".join(shown)
        )
    return found


class Type:
    """The class of types in TorchScript; schemas have texts here."""


class _SchemaType(Type):
    """What ``isinstance(argument.type, torch._C.OptionalType)`` asks: our types are texts with that kind."""


_TEXTS = {
    "TensorType": "Tensor", "IntType": "int", "FloatType": "float", "BoolType": "bool", "StringType": "str", "NumberType": "number",
    "NoneType": "NoneType", "DeviceObjType": "Device", "StreamObjType": "Stream", "ComplexType": "complex", "AnyType": "Any",
}  # fmt: skip


def _type_text(text: str) -> Any:
    from shim_torch._impl.table.schema import SchemaType

    return SchemaType(text)


def _schema_type(name: str) -> Any:
    class Meta(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return getattr(instance, "kind", lambda: None)() == name

    def new(cls: Any, inner: Any) -> Any:
        held = ", ".join(map(str, inner)) if name == "TupleType" else f"{inner:s}"
        return _type_text(f"{name.removesuffix('Type')}[{held}]")

    members: dict[str, Any] = {"__module__": "torch._C"}
    if name in _TEXTS:
        members["get"] = staticmethod(lambda: _type_text(_TEXTS[name]))
    else:
        members["__new__"] = new
        kinds = (
            {"Tensors": "Tensor", "Ints": "int", "Floats": "float", "Bools": "bool"}
            if name == "ListType"
            else {"Tensor": "Tensor"}
        )
        for suffix, text in kinds.items() if name != "TupleType" else ():
            members[f"of{suffix}"] = staticmethod(lambda text=text: new(None, text))
    return Meta(name, (_SchemaType,), members)


TYPES = {n: _schema_type(n) for n in (*_TEXTS, "ListType", "OptionalType", "TupleType")}


for _name in ("Graph", "Value", "Block", "ScriptModule"):  # of TorchScript: without instances
    TYPES.setdefault(_name, type(_name, (_SchemaType,), {"__module__": "torch._C"}))


naming.present(globals(), "torch._C")
