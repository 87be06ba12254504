"""``torch._C._get_cublas_allow_tf32`` and its like: the settings of ``torch.backends`` as PyTorch's C++ names them.

Each getter and setter is the public setting's own: what one changes the other shows. Errors: RuntimeError for a value that is
no bool, in PyTorch's words.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from shim_torch._impl.surface.missing import module_getattr as _module_getattr

# Name in C++ -> (module, its setting, what PyTorch's refusal of another type than bool begins with).
_SETTINGS = {
    "cublas_allow_tf32": ("cuda.matmul", "allow_tf32", "set_allow_tf32_cublas"),
    "cublas_allow_fp16_accumulation": ("cuda.matmul", "allow_fp16_accumulation", "set_allow_fp16_accumulation_cublas"),
    "cudnn_allow_tf32": ("cudnn", "allow_tf32", "set_allow_tf32_cublas"),
    "cudnn_benchmark": ("cudnn", "benchmark", "set_benchmark_cudnn"),
    "cudnn_deterministic": ("cudnn", "deterministic", "set_deterministic_cudnn"),
    "cudnn_enabled": ("cudnn", "enabled", "set_enabled_cudnn"),
    "mkldnn_enabled": ("mkldnn", "enabled", "set_enabled_mkldnn"),
    "mkldnn_deterministic": ("mkldnn", "deterministic", "set_deterministic_mkldnn"),
}
_ATTENTION = ("flash", "math", "mem_efficient", "cudnn", "overrideable")
_REFUSALS = {"cudnn": "set_sdp_use_cudnn", "overrideable": "set_sdp_use_overrideable"}  # the others: set_sdp_use_math


def _home(path: str) -> Any:
    first, _, rest = path.partition(".")
    module = import_module(f"shim_torch.backends.{first}")
    return getattr(module, rest) if rest else module


def _put(setting: Any, name: str, value: Any) -> None:
    """Where a setting is kept; PyTorch freezes the public attributes alone (``disable_global_flags``)."""
    kept = vars(setting).get("_settings")
    if kept is None:
        setattr(setting, name, value)
    else:
        kept[name] = value


def _check(refusal: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise RuntimeError(f"{refusal} expects a bool, but got {type(value).__name__}")


def _pair(name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """The getter and setter of one setting."""
    path, setting, refusal = _SETTINGS[name]

    def get() -> Any:
        return getattr(_home(path), setting)

    def put(value: Any) -> None:
        _check(refusal, value)
        _put(_home(path), setting, value)

    return get, put


def _attention(name: str) -> tuple[Callable[[], bool], Callable[[Any], None]]:
    from shim_torch._impl.backends import attention as switches

    def put(value: Any) -> None:
        _check(_REFUSALS.get(name, "set_sdp_use_math"), value)
        switches._sdp[name] = value

    return lambda: switches._sdp[name], put


def _get_cublas_allow_fp16_reduced_precision_reduction() -> tuple[bool, bool]:
    """Whether sums of half products may be half, and whether they may be split."""
    return _reduction("fp16")


def _get_cublas_allow_bf16_reduced_precision_reduction() -> tuple[bool, bool]:
    return _reduction("bf16")


def _reduction(kind: str) -> tuple[bool, bool]:
    from shim_torch._impl.native import _core

    return bool(_core.gemm_flag(f"{kind}_reduced")), bool(_core.gemm_flag(f"{kind}_split_k"))


def _set_cublas_allow_fp16_reduced_precision_reduction(allow: bool, split_k: bool = True, /) -> None:
    _home("cuda.matmul").allow_fp16_reduced_precision_reduction = (allow, split_k)


def _set_cublas_allow_bf16_reduced_precision_reduction(allow: bool, split_k: bool = True, /) -> None:
    _home("cuda.matmul").allow_bf16_reduced_precision_reduction = (allow, split_k)


def _get_cpu_allow_fp16_reduced_precision_reduction() -> bool:
    """Whether sums of half products on the CPU may be half: they never are."""
    return False


def _set_cpu_allow_fp16_reduced_precision_reduction(value: bool, /) -> None:
    """RuntimeError for True: PyTorch has it on ARM processors only."""
    _check("set_allow_fp16_reduction_cpu", value)
    if value:
        raise RuntimeError("Float16 arithmetic is not supported by the CPU!")


def _get_math_sdp_allow_fp16_bf16_reduction() -> bool:
    return _attention("reduction")[0]()


def _set_math_sdp_allow_fp16_bf16_reduction(value: bool, /) -> None:
    _attention("reduction")[1](value)


def _get_deterministic_algorithms() -> bool:
    from shim_torch._impl.tensor.python_functions import are_deterministic_algorithms_enabled

    return bool(are_deterministic_algorithms_enabled())


def _get_deterministic_algorithms_warn_only() -> bool:
    from shim_torch._impl.tensor.python_functions import is_deterministic_algorithms_warn_only_enabled

    return bool(is_deterministic_algorithms_warn_only_enabled())


def _set_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    from shim_torch._impl.tensor.python_functions import use_deterministic_algorithms

    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    use_deterministic_algorithms(mode, warn_only=warn_only)


def _get_float32_matmul_precision() -> str:
    from shim_torch._impl.tensor.python_functions import get_float32_matmul_precision

    return str(get_float32_matmul_precision())


def _set_float32_matmul_precision(precision: str, /) -> None:
    from shim_torch._impl.tensor.python_functions import set_float32_matmul_precision

    set_float32_matmul_precision(precision)


def _get_fp32_precision_getter(backend: str, op: str, /) -> str:
    from shim_torch._impl.backends import precision as _precision

    return _precision.read(backend, op)


def _set_fp32_precision_setter(backend: str, op: str, precision: str, /) -> str:
    from shim_torch._impl.backends import precision as _precision

    _precision.write(backend, op, precision)
    return precision


def _get_warnAlways() -> bool:
    from shim_torch._impl.surface.warnings import is_warn_always_enabled

    return is_warn_always_enabled()


def _set_warnAlways(value: bool, /) -> None:
    from shim_torch._impl.surface.warnings import set_warn_always

    _check("setWarnOnlyOnce", value)
    set_warn_always(value)


def _get_autograd_fallback_mode() -> str:
    """What becomes of results of an operator without a gradient formula: nothing, only calls within its kernel record history."""
    return "nothing"


def _set_autograd_fallback_mode(mode: str, /) -> None:
    """Takes ``"nothing"``. Errors: NotImplementedError for ``"warn"``, under which PyTorch warns when a gradient would pass."""
    if not isinstance(mode, str):
        raise TypeError(
            f"_set_autograd_fallback_mode(): incompatible function arguments: a str, not {type(mode).__name__}"
        )
    if mode == "warn":
        raise NotImplementedError(
            "torch._C._set_autograd_fallback_mode('warn') is not supported by shim-torch: results of an operator without a gradient "
            "formula get no history of their own"
        )
    if mode != "nothing":
        raise RuntimeError(f"Unsupported AutogradFallbackMode: {mode}")


_missing = _module_getattr("shim_torch._C")


def __getattr__(name: str) -> Any:
    reads, setting = name.startswith("_get_"), name[5:]
    if name[:5] in ("_get_", "_set_"):
        if setting in _SETTINGS:
            found: Any = _pair(setting)
        elif reads and setting.removesuffix("_sdp_enabled") in _ATTENTION:
            found = _attention(setting.removesuffix("_sdp_enabled"))
        elif not reads and setting.removeprefix("sdp_use_") in _ATTENTION:
            found = _attention(setting.removeprefix("sdp_use_"))
        else:
            return _missing(name)
        made = found[0 if reads else 1]
        made.__name__ = made.__qualname__ = name
        globals()[name] = made
        return made
    return _missing(name)


def _get_deterministic_fill_uninitialized_memory() -> bool:
    from shim_torch._impl.tensor.uninitialized import settings

    return settings.fill


def _set_deterministic_fill_uninitialized_memory(mode: Any) -> None:
    """RuntimeError for what is no bool."""
    from shim_torch._impl.tensor.uninitialized import settings

    settings.set_fill(mode)


def _get_privateuse1_backend_name() -> str:
    """What a backend of one's own is called: nobody registers one here."""
    return "privateuseone"
