"""A PyTorch-compatible module without PyTorch. Libraries see it as ``torch`` through ``compat.enable_torch_proxy``.

Its own tensor (CuPy's kind of memory on a GPU, NumPy's on a CPU), operator table and autograd engine are in the compiled core (``native/src``);
importing it touches no GPU and needs no CuPy.
"""

from __future__ import annotations

import importlib
import math as _math
import sys
from typing import TYPE_CHECKING, Any

from shim_torch._impl.surface import finder as _finder
from shim_torch._impl.utils import uncollected as _uncollected

_held = _uncollected.Uncollected()  # until the end of the module, or of an import that fails
_finder.install()

from shim_torch._impl.native import _core  # noqa: E402
from shim_torch._impl.surface import torch_version  # noqa: E402

__version__ = torch_version.current()

Tensor = _core.Tensor
dtype, device, Size, layout, memory_format = _core.dtype, _core.device, _core.Size, _core.layout, _core.memory_format
UntypedStorage = _core.UntypedStorage
_DTYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128 "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 "
    "bits1x8 bits2x4 bits4x2 bits8 bits16 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 bit "
    "qint8 quint8 qint32 quint4x2 quint2x4 float double half int long short "
    "chalf cfloat cdouble strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn contiguous_format "
    "preserve_format channels_last channels_last_3d"
).split()
globals().update({_name: getattr(_core, _name) for _name in _DTYPES})
legacy_contiguous_format = _core.contiguous_format
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

from shim_torch import autograd, functional  # noqa: E402
from shim_torch._impl.table.operators import functions as _table_functions  # noqa: E402
from shim_torch._impl.tensor.generator import Generator, default_generator  # noqa: E402
from shim_torch._impl.tensor.type_info import finfo, iinfo  # noqa: E402
from shim_torch._tensor import install as _install  # noqa: E402
from shim_torch.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from shim_torch.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402

_install(Tensor)
globals().update(_table_functions())
globals().update(functional.functions())
_segment_reduce = globals()["segment_reduce"]

from shim_torch._impl.surface.errors import AcceleratorError, OutOfMemoryError  # noqa: E402
from shim_torch._impl.surface.warnings import is_warn_always_enabled, set_warn_always  # noqa: E402
from shim_torch._impl.tensor.from_data import *  # noqa: E402, F403
from shim_torch._impl.tensor.predicates import *  # noqa: E402, F403
from shim_torch._impl.tensor.python_functions import *  # noqa: E402, F403

_core.set_out_of_memory_type(OutOfMemoryError)
_core.set_accelerator_error_type(AcceleratorError)
is_grad_enabled, is_inference_mode_enabled = _core.is_grad_enabled, _core.is_inference_mode_enabled
is_anomaly_enabled, is_anomaly_check_nan_enabled = _core.is_anomaly_enabled, _core.is_anomaly_check_nan_enabled
get_default_dtype = _core.get_default_dtype
promote_types, can_cast = _core.promote_types, _core.can_cast
get_num_threads, set_num_threads = _core.get_num_threads, _core.set_num_threads

from shim_torch import _ops as _operators  # noqa: E402
from shim_torch import version  # noqa: E402

if TYPE_CHECKING:  # imported when first asked for, as the modules of _LAZY
    from shim_torch import nn

ops = _operators.ops  # torch.ops; the package of that name holds the records

if TYPE_CHECKING:  # while the module runs, __all__ is made when it is first asked for (_exported)
    __all__ = [
        "Generator",
        "OutOfMemoryError",
        "Size",
        "Tensor",
        "UntypedStorage",
        "device",
        "dtype",
        "finfo",
        "iinfo",
        "nn",
        "ops",
    ]

# Sub-modules that users reach as attributes; imported when first asked for.
_LAZY = frozenset(
    """__config__ _C _VF _dynamo _utils _tensor _tensor_str _ops accelerator amp autograd backends compiler cpu cuda
    distributed fft func fx functional hub jit library linalg mps mtia multiprocessing nested nn onnx optim overrides profiler
    quantization random return_types serialization sparse special storage testing torch_version types utils version
    xpu _prims_common _guards _subclasses _inductor _logging _library _higher_order_ops export distributions masked
    futures monitor package _functorch _custom_ops _vendor _weights_only_unpickler _thread_safe_fork
    signal _vmap_internals quasirandom""".split()
)
_FROM = {
    "_is_functional_tensor": ("_C", "_is_functional_tensor"),
    "_to_functional_tensor": ("_impl.transforms.functional_state", "_to_functional_tensor"),
    "_from_functional_tensor": ("_impl.transforms.functional_state", "_from_functional_tensor"),
    "_sync": ("_impl.transforms.functional_state", "_sync"),
    "_enable_functionalization": ("_impl.transforms.functional_state", "_enable_functionalization"),
    "_disable_functionalization": ("_impl.transforms.functional_state", "_disable_functionalization"),
    "Future": ("futures", "Future"),
    "classes": ("_classes", "classes"),
    "StorageBase": ("_C", "StorageBase"),
    "ScriptModule": ("jit", "ScriptModule"),
    "ScriptFunction": ("jit", "ScriptFunction"),
    "PyTorchFileReader": ("_impl.serialization.files", "PyTorchFileReader"),
    "PyTorchFileWriter": ("_impl.serialization.files", "PyTorchFileWriter"),
    "compile": ("compiler", "compile"),
    "autocast": ("amp", "autocast"),
    "GradScaler": ("amp", "GradScaler"),
    "save": ("serialization", "save"),
    "load": ("serialization", "load"),
    "is_autocast_enabled": ("amp", "is_autocast_enabled"),
    "get_autocast_dtype": ("amp", "get_autocast_dtype"),
    "set_autocast_enabled": ("amp", "set_autocast_enabled"),
    "set_autocast_dtype": ("amp", "set_autocast_dtype"),
    "get_autocast_gpu_dtype": ("amp", "get_autocast_gpu_dtype"),
    "is_autocast_cache_enabled": ("amp", "is_autocast_cache_enabled"),
    **{
        name: ("_impl.amp.switches", name)
        for name in ("set_autocast_gpu_dtype", "set_autocast_cache_enabled", "clear_autocast_cache")
    },
    **{
        f"autocast_{step}_nesting": ("_impl.amp.switches", f"autocast_{step}_nesting")
        for step in ("increment", "decrement")
    },
    **{name: ("_linalg_utils", name) for name in ("eig", "lstsq", "matrix_rank", "solve")},
    "symeig": ("_linalg_utils", "_symeig"),
    **{name: ("_lowrank", name) for name in ("lobpcg", "lu", "pca_lowrank", "svd_lowrank")},
    "parse_schema": ("_C", "parse_schema"),
    "_nnpack_available": ("backends.nnpack", "is_available"),
    "set_printoptions": ("_tensor_str", "set_printoptions"),
    "typename": ("_utils", "typename"),
    "Stream": ("_streambase", "Stream"),
    "Event": ("cuda", "Event"),
    "vmap": ("func", "vmap"),
    "_assert_async": ("_impl.tensor.python_functions", "_assert_async"),
    **{
        f"_check{kind}": ("_impl.tensor.checks", f"_check{kind}")
        for kind in (
            "",
            "_index",
            "_value",
            "_type",
            "_not_implemented",
            "_is_size",
            "_tensor_all",
            "_tensor_all_with",
            "_with",
        )
    },
    "_assert": ("_impl.tensor.checks", "_assert"),
    "_test_check_tensor": ("_impl.tensor.checks", "_test_check_tensor"),
    "set_vital": ("_impl.tensor.symbols", "set_vital"),
    "get_device_module": ("_utils", "get_device_module"),
    "AcceleratorError": ("_impl.surface.errors", "AcceleratorError"),
    "_disable_dynamo": ("compiler", "disable"),
    "TypedStorage": ("storage", "TypedStorage"),
    **{
        f"sparse_{kind}_tensor": ("_impl.sparse.construct", f"sparse_{kind}_tensor")
        for kind in ("coo", "compressed", "csr", "csc", "bsr", "bsc")
    },
    **{name: ("_impl.sparse.construct", name) for name in ("dsmm", "hsmm", "saddmm", "spmm", "native_norm")},
    **{
        name: ("_impl.tensor.symbols", name)
        for name in """Tag qscheme per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric
        per_channel_affine_float_qparams sym_int sym_float sym_max sym_min sym_not sym_ite sym_sum _sym_sqrt
        is_autocast_cpu_enabled get_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_cpu_dtype cond while_loop
        is_vulkan_available _running_with_deploy TensorType SymInt SymFloat SymBool""".split()
    },
}


def set_default_dtype(d: Any, /) -> None:
    """Sets the dtype of new floating-point tensors."""
    _core.set_default_dtype(d)


_table = sys.modules["shim_torch._impl.table.operators"]  # torch.ops is the namespace of operators


def _publish() -> None:
    for name, function in _table_functions().items():
        globals().setdefault(name, function)


def _all_names() -> list[str]:
    _table.complete()
    return sorted({*globals(), *_FROM, *_LAZY})


def _exported() -> list[str]:
    """What ``from torch import *`` brings: the functions, classes and dtypes of PyTorch's ``torch`` that are here."""
    from shim_torch._impl.surface.missing import own_surface

    here = {
        name
        for name in _all_names()
        if name not in _LAZY and name not in ("ops", "classes", "functional", "TYPE_CHECKING")
    }
    return sorted(here.intersection(name.removeprefix("torch.") for name in own_surface()))


def _attribute(name: str) -> Any:
    if name in _FROM:
        module, attribute = _FROM[name]
        return getattr(importlib.import_module(f"shim_torch.{module}"), attribute)
    if name in _LAZY:
        try:
            return importlib.import_module(f"shim_torch.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"shim_torch.{name}":
                raise
    if name == "__all__":
        globals()[name] = found = _exported()
        return found
    if not name.startswith("__"):
        _table.complete()
        if name in globals():  # now, also where another thread did it in the meantime
            return globals()[name]
    if name.endswith("Tensor"):
        from shim_torch._impl.tensor.legacy_types import TENSORS, legacy_type

        if name in TENSORS:
            return legacy_type(name, "cpu")
    if name.endswith("Storage") and name != "_LegacyStorage":
        from shim_torch._impl.tensor.typed_storage import legacy_storage

        if name == "Storage":  # the storage of the default dtype
            from shim_torch._impl.table.rules import scalar_word

            name = f"{scalar_word(get_default_dtype())}Storage"

        try:
            return legacy_storage(name)
        except KeyError:
            pass
    if name == "_tensor_classes":
        from shim_torch._impl.tensor.legacy_types import all_types

        return all_types()
    if name == "_storage_classes":
        from shim_torch._impl.tensor.typed_storage import storage_classes

        return storage_classes()
    if name == "torch":  # torch.torch is torch
        return importlib.import_module("shim_torch")
    if name == "__future__":
        return importlib.import_module("shim_torch.__future__")
    from shim_torch._impl.surface.missing import has, missing

    if has(f"torch.{name}"):
        from shim_torch._impl.table.aten import public_function

        function = public_function(name)
        if function is not None:
            globals()[name] = function
            return function
        inner = None if name.startswith("_") else getattr(importlib.import_module("shim_torch._C"), name, None)
        if isinstance(inner, type):  # torch shows the classes of torch._C
            return inner
    return missing("torch", name)


_table.when_complete.append(_publish)  # operators that wait to be asked for
_core.set_waiting_operators(_table.complete)
_held.close()
del globals()["_impl"], globals()["_finder"], _held, _uncollected  # what is ours is found by its full name alone
__dir__ = _all_names
__getattr__ = _attribute  # a name and no function: type checkers resolve it within import cycles
