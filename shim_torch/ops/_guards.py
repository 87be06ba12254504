"""Dtypes that PyTorch's CPU kernels do not have, where ours would compute something: asked before an operator runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from native import _core

from ._record import Record
from ._refusals import kind
from ._rules import type_name

_LOW = (_core.float16, _core.bfloat16)
# By the operator's key: which kinds (b, i, f, c; l: half and bfloat16, h: half, u: uint8, s: the other integers) are refused, and the kernel's name or the whole text.
_KERNELS: dict[str, tuple[str, str]] = {
    "mm": ("b", "addmm_impl_cpu_"),
    "addmm": ("b", "addmm_impl_cpu_"),
    "mv": ("b", "addmv_impl_cpu"),
    "addmv": ("b", "addmv_impl_cpu"),
    "bmm": ("b", "bmm"),
    "baddbmm": ("b", "baddbmm"),
    "dot": ("b", "dot"),
    "vdot": ("b", "dot"),
    "trace": ("b", "trace"),
    "addcmul": ("b", "addcmul_cpu_out"),
    "argmax": ("b", "argmax(): does not support bool input"),
    "argmin": ("b", "argmin(): does not support bool input"),
    "_unique2": ("c", "unique"),
    "_unique_consecutive": ("c", "unique"),
    "unique_dim": ("c", "unique"),
    "unique_dim_consecutive": ("c", "unique"),
    "softmax.int": ("c", "softmax_lastdim_kernel_impl"),
    "log_softmax.int": ("c", "log_softmax_lastdim_kernel_impl"),
    "_softmax_backward_data": ("bic", "softmax_backward_lastdim_kernel_impl"),
    "polygamma": ("c", "trigamma"),
    "polar": ("h", "polar_cpu"),
    "mvlgamma": ("c", "arange_cpu"),
    "bucketize.Tensor": ("bc", "searchsorted_out_cpu"),
    "cdist": ("l", "cdist"),
    "geometric_": ("bc", "geometric_cpu"),
    "log_normal_": ("c", "log_normal_cpu"),
    "grid_sampler_2d": ("bic", "grid_sampler_2d_cpu_kernel_impl"),
    "grid_sampler_3d": ("bic", "grid_sampler3d_cpu"),
    "index_reduce": ("bc", "index_func_"),
    "lerp.Tensor": ("bi", "lerp_kernel_tensor"),
    "lerp.Scalar": ("bi", "lerp_kernel_scalar"),
    "segment_reduce": ("bic", "_segment_reduce_cpu"),
    "_upsample_bilinear2d_aa": ("bscl", "compute_index_ranges_weights"),
    "_upsample_bilinear2d_aa.vec": ("bscl", "compute_index_ranges_weights"),
    "native_batch_norm": ("bic", "batch_norm"),
    "_native_batch_norm_legit": ("bic", "batch_norm"),
    "native_layer_norm": ("bic", "LayerNormKernelImpl"),
    "native_group_norm": ("bic", "GroupNormKernelImpl"),
    "cholesky": ("bi", "cholesky_cpu"),
    "cholesky_inverse": ("bil", "cholesky_inverse_out_cpu"),
    "cholesky_solve": ("bil", "cholesky_solve_cpu"),
    "geqrf": ("bil", "geqrf_cpu"),
    "histc": ("b", "linspace_cpu"),
    "dist": ("i", "norm(): input dtype should be either floating point or complex. Got {} instead."),
    "isin.Tensor_Tensor": ("bc", "Unsupported input type encountered for isin(): {}"),
    "trapezoid.x": ("b", "trapezoid: received a bool input for `x` or `y`, but bool is not supported"),
    "trapezoid.dx": ("b", "trapezoid: received a bool input for `y`, but bool is not supported"),
    "cumulative_trapezoid.x": (
        "b",
        "cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported",
    ),
    "cumulative_trapezoid.dx": ("b", "cumulative_trapezoid: received a bool input for `y`, but bool is not supported"),
    "nanmean": ("bi", "nanmean(): expected input to have floating point or complex dtype but got {}"),
}
for _name in ("std_mean", "var_mean"):
    for _overload in ("", ".dim", ".correction"):
        _KERNELS[_name + _overload] = ("bi", f"{_name} only support floating point and complex dtypes")
for _overload in ("scalarint", "scalararray", "array", "scalarrayint", "scalarrayarray", "tensorarrayint", "tensorarray"):
    _KERNELS[f"gradient.{_overload}"] = ("u", "torch.gradient does not support uint8 input.")


def _refused(kinds: str, dtype: Any) -> bool:
    own = kind(dtype)
    if own in kinds or ("l" in kinds and dtype in _LOW) or ("h" in kinds and dtype is _core.float16):
        return True
    return own == "i" and ("u" if dtype is _core.uint8 else "s") in kinds


def guarded(record: Record, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which refuses first what PyTorch has no kernel for; a given ``dtype=`` counts for the input's."""
    found = _KERNELS.get(record.key.partition("::")[2])
    if found is None:
        return run
    kinds, text = found
    first = next(i for i, a in enumerate(record.arguments) if a not in ("n", "equation"))
    asked = record.arguments.index("dtype") if "dtype" in record.arguments else -1

    def checked(*bound: Any) -> Any:
        dtype = bound[asked] if asked >= 0 else None
        if dtype is None and isinstance(bound[first], _core.TensorBase):
            dtype = bound[first].dtype
        if dtype is not None and _refused(kinds, dtype):
            name = type_name(dtype)
            if " " in text:
                raise RuntimeError(text.format(name))
            raise NotImplementedError(f"\"{text}\" not implemented for '{name}'")
        return run(*bound)

    return checked
