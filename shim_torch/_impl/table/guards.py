"""Dtypes that PyTorch's CPU kernels do not have, where ours would compute something: asked before an operator runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import Record
from shim_torch._impl.table.refusals import kind
from shim_torch._impl.table.rules import NARROW, type_name

_EMBEDDING_BAG = (
    "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got "
    "CPU{}Type instead (while checking arguments for embedding_bag)"
)
# What PyTorch answers for tensors without elements before it looks for a kernel.
_NEVER_EMPTY = ("linear", "bilinear")
# Of these, operands of different dtypes are refused as such, before any kernel is looked for.
_OF_ONE_DTYPE = (
    "mm",
    "addmm",
    "mv",
    "addmv",
    "bmm",
    "baddbmm",
    "dot",
    "vdot",
    "linear",
    "lerp.Tensor",
    "prelu",
    "group_norm",
)
# The dtypes that these check on meta tensors too, before they look for a kernel.
_ON_META_TOO = ("cholesky_cpu", "cholesky_inverse_out_cpu", "cholesky_solve_cpu", "geqrf_cpu")
# Several rules are a tuple of them. A text with a space is no kernel's name: a RuntimeError, or a NotImplementedError after "!".
# By the operator's key: which kinds (b, i, f, c; l: half and bfloat16, h: half, u: uint8, s: the other integers, m: all but int64, B: bfloat16) are refused, and the kernel's
# name or the whole text.
_KERNELS: dict[str, Any] = {
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
    "topk": ("b", "topk does not support bool dtypes on CPU"),
    "argmax": ("b", "argmax(): does not support bool input"),
    "argmin": ("b", "argmin(): does not support bool input"),
    "_unique2": ("c", "unique"),
    "_unique_consecutive": ("c", "unique"),
    "unique_dim": ("c", "unique"),
    "unique_dim_consecutive": ("c", "unique"),
    "_softmax_backward_data": ("bic", "softmax_backward_lastdim_kernel_impl"),
    "polygamma": ("c", "trigamma"),
    "special_polygamma": ("c", "trigamma"),
    "stft": ("B", "MKL FFT doesn't support tensors of type: {}"),
    "stft.center": ("B", "MKL FFT doesn't support tensors of type: {}"),
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
    "_upsample_bicubic2d_aa": ("bscl", "compute_index_ranges_weights"),
    "_upsample_bicubic2d_aa.vec": ("bscl", "compute_index_ranges_weights"),
    "_batch_norm_with_update": ("bic", "batch_norm"),
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
    "elu": ("bic", "elu_cpu"),
    "gelu": ("bic", "GeluKernelImpl"),
    "silu": ("bi", "silu_cpu"),
    "mish": ("bic", "mish_cpu"),
    "softplus": ("bic", "softplus_cpu"),
    "log_sigmoid": ("bic", "log_sigmoid_cpu"),
    "hardsigmoid": ("bic", "hardsigmoid_cpu"),
    "hardswish": ("bic", "hardswish_cpu"),
    "hardshrink": ("bic", "hardshrink_cpu"),
    "softshrink": ("bic", "softshrink_check"),
    "leaky_relu": ("bic", "leaky_relu_cpu"),
    "glu": ("bic", "glu_cpu"),
    "prelu": ("bic", "prelu_cpu"),
    "rrelu": ("bich", "rrelu_with_noise_out_cpu"),
    "threshold": ("bc", "threshold_cpu"),
    "binary_cross_entropy_with_logits": ("bic", "log_sigmoid_cpu"),
    "ctc_loss.IntList": ("bicl", "ctc_loss_cpu"),
    "ctc_loss.Tensor": ("bicl", "ctc_loss_cpu"),
    "layer_norm": ("bic", "LayerNormKernelImpl"),
    "group_norm": ("bic", "GroupNormKernelImpl"),
    "batch_norm": ("bic", "batch_norm"),
    "instance_norm": ("bic", "batch_norm"),
    "rms_norm": ("bi", "rms_norm"),
    "adaptive_max_pool1d": ("bic", "adaptive_max_pool2d"),
    "adaptive_max_pool2d": ("bic", "adaptive_max_pool2d"),
    "adaptive_max_pool3d": ("bic", "adaptive_max_pool3d_cpu"),
    "avg_pool1d": ("bcm", "avg_pool2d"),
    "avg_pool2d": ("bcm", "avg_pool2d"),
    "avg_pool3d": ("bcml", "avg_pool3d_out_frame"),
    "max_unpool2d": ("bic", "max_unpool2d"),
    "max_unpool3d": ("bic", "max_unpool3d"),
    "fractional_max_pool2d": ("bic", "fractional_max_pool2d_out_frame"),
    "fractional_max_pool3d": ("bic", "fractional_max_pool3d_out_frame"),
    "im2col": ("i", "im2col_out_cpu"),
    "grid_sampler": ("bic", "grid_sampler_2d_cpu_kernel_impl"),
    "nll_loss_nd": ("bic", "nll_loss_out_frame"),
    "multi_margin_loss": ("bicl", "multi_margin_loss_cpu_kernel"),
    "multilabel_margin_loss": ("bicl", "multilabel_margin_loss_forward_out_frame"),
    "max_pool1d": ("bi", "max_pool2d"),
    "linear": ("b", "addmm_impl_cpu_"),
    "bilinear": ("b", "bmm"),
    "special_entr": ("c", "entr_cpu"),
    "special_i0e": ("c", "i0e_cpu"),
    "special_i1": ("c", "i1_cpu"),
    "special_i1e": ("c", "i1e_cpu"),
    "special_ndtr": ("c", "erf_vml_cpu"),
    "max_pool2d_with_indices_backward": ("bic", "max_pool2d_backward"),
    "hardtanh": (("b", "Bool inputs not supported for hardtanh"), ("c", "!clamp is not supported for complex types")),
    "kl_div": (("bi", "kl_div: Integral inputs not supported."), ("c", "kl_div: Complex inputs not supported.")),
    "soft_margin_loss": ("i", "result type Float can't be cast to the desired output type {}"),
    "embedding_bag": ("bc", _EMBEDDING_BAG),
    "embedding_bag.padding_idx": ("bc", _EMBEDDING_BAG),
}
for _name in """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w erfcx hermite_polynomial_h hermite_polynomial_he
    laguerre_polynomial_l legendre_polynomial_p log_ndtr modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w spherical_bessel_j0 zeta""".split():
    _KERNELS[f"special_{_name}"] = ("cl", f"{_name}_cpu")
for _n, _kernel in ((1, "slow_conv2d_cpu"), (2, "slow_conv2d_cpu"), (3, "slow_conv3d_cpu")):
    for _overload in ("", ".padding"):
        _KERNELS[f"conv{_n}d{_overload}"] = ("b", _kernel)
    _KERNELS[f"conv_transpose{_n}d" + (".input" if _n > 1 else "")] = (
        "bm",
        f"slow_conv_transpose{max(_n, 2)}d_out_cpu",
    )
    for _name in (f"upsample_nearest{_n}d", f"_upsample_nearest_exact{_n}d"):
        for _overload in ("", ".vec"):
            _nearest = "upsample_nearest2d_channels_last" if _n == 2 else "compute_indices_weights_nearest"
            _KERNELS[_name + _overload] = ("bsc", _nearest)
for _overload in ("", ".vec"):
    _KERNELS[f"upsample_bilinear2d{_overload}"] = ("bsc", "upsample_bilinear2d_channels_last")
    _KERNELS[f"upsample_bicubic2d{_overload}"] = ("bsc", "compute_indices_weights_cubic")
for _name in ("upsample_linear1d", "upsample_trilinear3d"):
    for _overload in ("", ".vec"):
        _KERNELS[_name + _overload] = ("bic", "compute_indices_weights_linear")
for _name in ("std_mean", "var_mean"):
    for _overload in ("", ".dim", ".correction"):
        _KERNELS[_name + _overload] = ("bi", f"{_name} only support floating point and complex dtypes")
for _overload in (
    "scalarint",
    "scalararray",
    "array",
    "scalarrayint",
    "scalarrayarray",
    "tensorarrayint",
    "tensorarray",
):
    _KERNELS[f"gradient.{_overload}"] = ("u", "torch.gradient does not support uint8 input.")


def _refused(kinds: str, dtype: Any) -> bool:
    own = kind(dtype)
    if "B" in kinds and dtype is _core.bfloat16:
        return True
    if own in kinds or ("l" in kinds and dtype in NARROW) or ("h" in kinds and dtype is _core.float16):
        return True
    return own == "i" and (
        ("u" if dtype is _core.uint8 else "s") in kinds or ("m" in kinds and dtype is not _core.int64)
    )


def _refuse(kinds: str, text: str, dtype: Any, device: str) -> None:
    """Raises where the dtype is of a refused kind. Meta tensors know no kernels; CUDA has those of low precision."""
    kernel = " " not in text
    if kernel and ((device == "meta" and text not in _ON_META_TOO) or (device != "cpu" and dtype in NARROW)):
        return
    if not _refused(kinds, dtype):
        return
    name = type_name(dtype)
    if kernel:
        said = text.replace("_cpu", "_cuda") if device == "cuda" else text
        raise NotImplementedError(f"\"{said}\" not implemented for '{name}'")
    raise (NotImplementedError if text[0] == "!" else RuntimeError)(text.lstrip("!").format(name))


# Composites here, kernels in PyTorch that have no gradient for complex numbers: by key, the name PyTorch gives.
_NO_COMPLEX_GRADIENT = {
    "embedding": "embedding",
    "soft_margin_loss": "soft_margin_loss",
    "bilinear": "_trilinear",
    "select_scatter": "select_scatter",
    "slice_scatter": "slice_scatter",
    "native_dropout_backward": "native_dropout_backward",
    "normal.Tensor_Tensor": "normal",
    "normal.Tensor_float": "normal",
    "normal.float_Tensor": "normal",
}


def _real_with_gradients(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which refuses complex tensors whose gradient is wanted."""

    def checked(*bound: Any) -> Any:
        for t in bound:
            if isinstance(t, _core.TensorBase) and t.requires_grad and t.dtype.is_complex and _core.is_grad_enabled():
                raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
        return run(*bound)

    return checked


def guarded(record: Record, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which refuses first what PyTorch has no kernel for; a given ``dtype=`` counts for the input's."""
    key = record.key.partition("::")[2]
    if key in _NO_COMPLEX_GRADIENT:
        run = _real_with_gradients(_NO_COMPLEX_GRADIENT[key], run)
    found = _KERNELS.get(key)
    if found is None:
        return run
    rules = found if isinstance(found[0], tuple) else (found,)
    first = next(i for i, a in enumerate(record.arguments) if a not in ("n", "equation"))
    asked = record.arguments.index("dtype") if "dtype" in record.arguments else -1
    never_empty = key in _NEVER_EMPTY

    def checked(*bound: Any) -> Any:
        given = bound[first]
        tensor = isinstance(given, _core.TensorBase)
        dtype = bound[asked] if asked >= 0 else None
        if dtype is None and tensor:
            dtype = given.dtype
        others = bound[first + 1 : first + 3] if key in _OF_ONE_DTYPE else ()
        if any(isinstance(t, _core.TensorBase) and t.dtype != dtype for t in others):
            return run(*bound)  # which says first that they differ
        if dtype is not None and not (tensor and never_empty and given.numel() == 0):
            for kinds, text in rules:
                _refuse(kinds, text, dtype, given.device.type if tensor else "cpu")
        return run(*bound)

    return checked
