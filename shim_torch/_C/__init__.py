"""``torch._C``: the private names of PyTorch's extension module that libraries reach for. Only those that do something are here."""

from __future__ import annotations

import weakref
from importlib import import_module
from typing import Any

from shim_torch._impl.core_names.dispatch import (
    DispatchKey,
    DispatchKeySet,
    _AutoDispatchBelowAutograd,
    _dispatch_has_kernel_for_dispatch_key,
    _dispatch_tls_local_exclude_set,
    _dispatch_tls_local_include_set,
    _ExcludeDispatchKeyGuard,
    keys_of,
)
from shim_torch._impl.native import _core
from shim_torch._impl.tensor.generator import Generator
from shim_torch.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from shim_torch.overrides import _EnableTorchFunction as _EnableTorchFunction

ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard
TensorBase = _core.TensorBase
_TensorBase = _core.TensorBase
_TensorMeta = type(_core.TensorBase)
Size, device, dtype, layout, memory_format = _core.Size, _core.device, _core.dtype, _core.layout, _core.memory_format
UntypedStorage, StorageBase = _core.UntypedStorage, _core.StorageBase
_disabled_torch_function_impl = _core._disabled_torch_function_impl
_disabled_torch_dispatch_impl = _core._disabled_torch_dispatch_impl
_len_torch_dispatch_stack = _core._len_torch_dispatch_stack
_get_dispatch_stack_at = _core._get_dispatch_stack_at
_push_on_torch_dispatch_stack = _core._push_on_torch_dispatch_stack
_pop_torch_dispatch_stack = _core._pop_torch_dispatch_stack
_has_torch_function = _core._has_torch_function
_has_torch_function_unary = _core._has_torch_function_unary
_has_torch_function_variadic = _core._has_torch_function_variadic
_is_torch_function_enabled = _core._is_torch_function_enabled
_is_torch_function_mode_enabled = _core._is_torch_function_mode_enabled
_push_on_torch_function_stack = _core._push_on_torch_function_stack
_pop_torch_function_stack = _core._pop_torch_function_stack
_set_grad_enabled = _core._set_grad_enabled
_set_view_replay_enabled, _is_view_replay_enabled = _core._set_view_replay_enabled, _core._is_view_replay_enabled
is_grad_enabled, is_autocast_enabled = _core.is_grad_enabled, _core.is_autocast_enabled
_get_default_device = _core.get_default_device
_current_graph_task_id, _current_autograd_node = _core._current_graph_task_id, _core._current_autograd_node
_will_engine_execute_node = _core._will_engine_execute_node
_FunctionBase, _set_fwd_grad_enabled = _core._FunctionBase, _core._pause_tangents
set_anomaly_enabled, is_anomaly_enabled = _core.set_anomaly_enabled, _core.is_anomaly_enabled
is_anomaly_check_nan_enabled = _core.is_anomaly_check_nan_enabled
_from_dlpack = _core.from_dlpack_capsule
_is_cow_tensor, _data_address, _storage_address = _core.is_lazy_clone, _core.data_address, _core.storage_address
_set_conj, _set_neg = _core._set_conj, _core._set_neg

_has_cuda = True
_has_mps = _has_xpu = False
has_mkl = has_lapack = has_openmp = has_spectral = True
_has_distributed = False
_GLIBCXX_USE_CXX11_ABI = True

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "TensorBase"]


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes that this pass of backward will still run, in their order; where they run on one thread, as asked for."""
    from shim_torch.autograd.grad_mode import _multithreading

    if _multithreading and _core._current_graph_task_id() != -1:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled, e.g. "
            "by running:\n\nwith torch.autograd.set_multithreading_enabled(False):\n    ...\n"
        )
    return list(_core._current_graph_task_execution_order())


def _log_api_usage_once(event: str) -> None:
    """PyTorch counts uses of its features; nothing is counted here."""


_log_api_usage_metadata = _log_api_usage_once


def _get_tensor_metadata(tensor: Any) -> dict[str, bool]:
    """The bits ``conj`` and ``neg`` that are set."""
    from shim_torch import _utils

    return _utils.get_tensor_metadata(tensor)


def _set_tensor_metadata(tensor: Any, metadata: dict[str, bool]) -> None:
    """Sets the bits ``conj`` and ``neg``."""
    from shim_torch import _utils

    _utils.set_tensor_metadata(tensor, metadata)


def _xpu_getCurrentRawStream(device: int) -> int:
    """There are no XPU devices."""
    raise RuntimeError("torch.xpu: no XPU device is available")


def parse_schema(schema: str) -> Any:
    """A schema string as FunctionSchema. Errors: RuntimeError with the place where it is bad."""
    from shim_torch._impl.table.schema import FunctionSchema

    head, _, rest = schema.partition("(")
    if "..." in rest:
        arguments, arrow, _ = schema.rpartition("->")
        if "=" in (arguments or schema):
            raise RuntimeError(f"\nschemas with vararg (...) can't have default value args:\n{schema}")
        schema = schema if arrow else f"{schema} -> ..."
    found = FunctionSchema(_core.parse_schema_data(schema))
    if "::" not in head:  # a name of no namespace
        found.name, found._text = found.name.removeprefix("aten::"), found._text.removeprefix("aten::")
    return found


def _jit_get_all_schemas() -> list[Any]:
    """The schemas of all operators."""
    return [s for ns in _core.operator_namespaces() for name in _core.operator_names(ns) for s in _schemas(ns, name)]


def _jit_get_schemas_for_operator(name: str) -> list[Any]:
    """The schemas of an operator's overloads."""
    namespace, _, bare = name.partition("::")
    return _schemas(namespace, bare)


def _schemas(namespace: str, name: str) -> list[Any]:
    from shim_torch._ops import ops

    bare = name.partition("::")[2] or name
    packet = getattr(getattr(ops, namespace), bare)
    return [getattr(packet, overload)._schema for overload in packet.overloads()]


def _dispatch_keys(tensor: Any) -> Any:
    """The dispatch keys of a tensor."""
    return keys_of(tensor)


def _dispatch_key_set(tensor: Any) -> str:
    """The same as a text."""
    return repr(keys_of(tensor))


class _DisableTorchDispatch:
    """Within it no ``__torch_dispatch__`` is called, neither of modes nor of classes."""

    def __init__(self) -> None:
        self._old = _core._set_torch_dispatch_disabled(True)
        self._open = True

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self.__del__()

    def __del__(self) -> None:
        if self._open:
            self._open = False
            _core._set_torch_dispatch_disabled(self._old)


class _DisableFuncTorch:
    """The guard under which functorch's transforms are off: here they are functions and have no levels to leave."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _is_functional_tensor(tensor: Any) -> bool:
    """Whether a tensor's in-place writes give new values (``torch.func.functionalize``)."""
    import sys

    made = sys.modules.get("shim_torch._impl.transforms.functionalization")  # without it there is none
    return made is not None and isinstance(tensor, made.FunctionalTensor)


def _infer_size(a: Any, b: Any) -> Any:
    """The common size of two sizes."""
    return _core.Size(_core.broadcast_shapes([a, b]))


_ELSEWHERE = {
    **dict.fromkeys(
        "_VariableFunctions _VariableFunctionsClass _fft _linalg _special _sparse".split(), "_impl.core_names.tables"
    ),
    **dict.fromkeys(("_ConvBackend", "_select_conv_backend"), "_impl.core_names.convolution"),
    **dict.fromkeys(("PyTorchFileReader", "PyTorchFileWriter"), "_impl.serialization.files"),
    **dict.fromkeys(("FunctionSchema", "Argument"), "_impl.table.schema"),
    "ScriptObject": "_impl.extensions.cxx_classes",
    **dict.fromkeys("ScriptDict ScriptFunction ScriptList ScriptMethod".split(), "jit"),
    **dict.fromkeys(
        "_TorchFunctionState _get_torch_function_state _set_torch_function_state _is_torch_function_all_disabled "
        "_len_torch_function_stack _get_function_stack_at".split(),
        "_impl.core_names.function_state",
    ),
    "Tag": "_impl.table.tags",
    "_group_tensors_by_device_and_dtype": "utils._foreach_utils",
    "Future": "futures",
    "Stream": "cuda",
}
_MODULES = frozenset(("_nn", "_autograd", "_cpu", "_dynamo", "_functions", "_functorch", "_profiler"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"shim_torch._C.{name}")
    if name in _ELSEWHERE:
        return getattr(import_module(f"shim_torch.{_ELSEWHERE[name]}"), name)
    if name == "_LinAlgError":
        from shim_torch.linalg import LinAlgError

        return LinAlgError
    from shim_torch._impl.core_names import cuda, flags, memory, torchscript

    for part in (memory, torchscript, *([cuda] if name.startswith("_cuda_") else [])):
        if name in vars(part):
            return getattr(part, name)
    if name in torchscript.TYPES:
        return torchscript.TYPES[name]
    if name.startswith(("_get_", "_set_")):
        return getattr(flags, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch._C", name)


def _get_accelerator(check: bool = False) -> Any:
    """The GPU's device, or the CPU's without a GPU; with ``check`` RuntimeError without one."""
    from shim_torch import cuda

    if check and not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _core.device("cuda" if cuda.is_available() else "cpu")


def _get_all_dtypes() -> list[Any]:
    """The dtypes that PyTorch's headers list: all but quantized ones and integers of fewer than 8 bits."""
    names = (
        "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16 bits1x8 bits2x4 "
        "bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64 "
        "float8_e8m0fnu float4_e2m1fn_x2"
    )
    return [getattr(_core, n) for n in names.split()]


def _get_cpu_capability() -> str:
    """What ``torch.backends.cpu.get_cpu_capability`` says."""
    from shim_torch.backends import cpu

    return cpu.get_cpu_capability()


def _warn() -> None:
    """A warning, for tests of how warnings look."""
    import warnings

    warnings.warn("Test message for TORCH_WARN", UserWarning, stacklevel=2)


def _warn_deprecation() -> None:
    """A deprecation warning, for tests of how warnings look."""
    import warnings

    warnings.warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning, stacklevel=2)


def _are_functorch_transforms_active() -> bool:
    """Whether a function of torch.func's transforms runs."""
    return _core._count_transforms(0) > 0


def _dispatch_isTensorSubclassLike(tensor: Any) -> bool:
    """Whether a tensor's class has a handler below autograd."""
    return type(tensor).__torch_dispatch__ is not _core._disabled_torch_dispatch_impl


_vmap_fallback_warnings = False


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Whether operators without a batching rule warn; kept, none does here."""
    global _vmap_fallback_warnings
    _vmap_fallback_warnings = enabled


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    return _vmap_fallback_warnings
