"""``torch.backends.cuda``: how matrix products on CUDA are computed. Read by the next product; nothing here touches a GPU."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.backends import precision
from shim_torch._impl.backends.attention import (
    SDPAParams,
    allow_fp16_bf16_reduction_math_sdp,
    can_use_cudnn_attention,
    can_use_efficient_attention,
    can_use_flash_attention,
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    fp16_bf16_reduction_math_sdp_allowed,
    is_ck_sdpa_available,
    is_flash_attention_available,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
    sdp_kernel,
)
from shim_torch._impl.native import _core

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


def is_built() -> bool:
    """Whether CUDA tensors are possible where a driver is: always, the driver is loaded at run time."""
    return True


class cuBLASModule:
    """``torch.backends.cuda.matmul``: ``allow_tf32``, ``allow_{fp16,bf16}_reduced_precision_reduction``, ``allow_fp16_accumulation``,
    ``fp32_precision``. The reduction flags take ``(allow, allow_splitk)`` too."""

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return precision.matmul_allows_tf32()
        if name in ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"):
            return _core.gemm_flag(f"{name[6:10]}_reduced")
        if name == "allow_fp16_accumulation":
            return _core.gemm_flag("fp16_accumulation")
        if name == "fp32_precision":
            return precision.read("cuda", "matmul")
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            precision.set_matmul_tf32(value)
        elif name in ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"):
            self._set_reduction(name[6:10], *_pair(value, name))
        elif name == "allow_fp16_accumulation":
            _core.gemm_flag("fp16_accumulation", bool(value))
        elif name == "fp32_precision":
            precision.write("cuda", "matmul", value)
        else:
            raise AttributeError("Unknown attribute " + name)

    @staticmethod
    def _set_reduction(dtype: str, allow: bool, split_k: bool) -> None:
        if allow and not split_k:
            raise RuntimeError("allow_splitk=False is not supported when reduced precision reductions are enabled")
        _core.gemm_flag(f"{dtype}_reduced", bool(allow))
        _core.gemm_flag(f"{dtype}_split_k", bool(split_k))


def _pair(value: Any, name: str) -> tuple[bool, bool]:
    if isinstance(value, bool):
        return value, True
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, bool) for v in value) and len(value) <= 2:
        return value[0], value[1] if len(value) > 1 else True
    raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)}")


class cuFFTPlanCache:
    """CuPy's plan cache on one GPU."""

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index

    def _cache(self) -> Any:
        from importlib import import_module

        return import_module("cupy.fft.config").get_plan_cache()

    @property
    def size(self) -> int:
        """How many plans are cached."""
        return int(self._cache().get_curr_size())

    @property
    def max_size(self) -> int:
        """How many plans may be cached."""
        return int(self._cache().get_size())

    @max_size.setter
    def max_size(self, value: int) -> None:
        """How many plans may be cached."""
        self._cache().set_size(value)

    def clear(self) -> None:
        """Empties the cache."""
        self._cache().clear()


class cuFFTPlanCacheManager:
    """``torch.backends.cuda.cufft_plan_cache``: of the current GPU, or ``[index]``."""

    def __getitem__(self, device: Any) -> cuFFTPlanCache:
        from shim_torch.cuda import _index_of as index_of

        return cuFFTPlanCache(index_of(device))

    def __getattr__(self, name: str) -> Any:
        return getattr(cuFFTPlanCache(_core.cuda_current_device()), name)


cufft_plan_cache = cuFFTPlanCacheManager()


matmul = cuBLASModule()


def preferred_linalg_library(backend: Any = None) -> Any:
    """cuSOLVER through CuPy is the only one."""
    if backend not in (None, "default", "cusolver"):
        raise NotImplementedError(
            f"torch.backends.cuda.preferred_linalg_library({backend!r}) is not supported by shim-torch"
        )
    return "cusolver"


def preferred_blas_library(backend: Any = None) -> Any:
    """cuBLASLt is the only one."""
    if backend not in (None, "default", "cublaslt", "hipblaslt"):
        raise NotImplementedError(
            f"torch.backends.cuda.preferred_blas_library({backend!r}) is not supported by shim-torch"
        )
    return "cublaslt"


def __getattr__(name: str) -> Any:
    if name == "SDPBackend":
        from shim_torch.nn.attention import SDPBackend

        return SDPBackend
    from shim_torch._impl.surface.missing import missing

    return missing("torch.backends.cuda", name)
