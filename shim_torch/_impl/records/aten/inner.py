"""Operators of torch.ops.aten that PyTorch's public ones are made of: their inner forms, and gradients as operators of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradients, recording
from shim_torch._impl.table.aten_declare import by_parts, pulled
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _name(schema: str, body: Callable[..., Any]) -> None:
    composite(schema, **_HIDDEN)(body)


# --- inner forms ------------------------------------------------------------------------------------------------------

for _n in (2, 3):
    _name(
        f"_adaptive_avg_pool{_n}d(Tensor self, SymInt[{_n}] output_size) -> Tensor",
        lambda self, output_size, n=_n: getattr(aten, f"adaptive_avg_pool{n}d")(self, output_size),
    )
_name(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    lambda x1, x2, p, compute_mode: aten.cdist(x1, x2, p, None),
)
_name("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", lambda x1, x2: aten.cdist(x1, x2, 2.0, None))
_name("_pdist_forward(Tensor self, float p=2.) -> Tensor", lambda self, p: aten.pdist(self, p))
_name("_logcumsumexp(Tensor self, int dim) -> Tensor", lambda self, dim: self.logcumsumexp(dim))
_name(
    "_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor",
    lambda self, mask, scale: self * mask.to(self.dtype) * scale,
)


@composite(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    **_HIDDEN,
    autocast="lower_precision",
)
def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark, deterministic,
    cudnn_enabled, allow_tf32,
):  # fmt: skip
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    return aten.convolution(input, weight, bias, *settings)


@composite("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", **_HIDDEN)
def log_sigmoid_forward(self):
    """Also exp(-|x|), which the CPU's backward reads; CUDA's has nothing to keep."""
    kept = (-self.detach().abs()).exp() if self.device.type == "cpu" else self.new_empty((0,))
    return aten.log_sigmoid(self), kept


@composite("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", **_HIDDEN)
def _weight_norm_interface(v, g, dim):
    """The weight of norm ``g`` along ``v``, and the norms of ``v`` in the shape of ``g``."""
    norms = v.norm(2, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)
    return v * (g.reshape(norms.shape) / norms), norms.reshape(g.shape)


# --- indexing without bounds checks: checked here all the same --------------------------------------------------------

_name(
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    lambda self, indices: aten.index(self, indices),
)
_name(
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    lambda self, indices, values, accumulate: aten.index_put(self, indices, values, accumulate),
)
_name(
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
    lambda self, indices, values, accumulate, unsafe: aten.index_put_(self, indices, values, accumulate),
)

# --- decompositions with what their gradients keep --------------------------------------------------------------------


@composite("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", **_HIDDEN)
def _linalg_det(A):
    lu, pivots, _ = aten.linalg_lu_factor_ex(A.detach())
    return aten.linalg_det(A), lu, pivots


@composite("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", **_HIDDEN)
def _linalg_slogdet(A):
    lu, pivots, _ = aten.linalg_lu_factor_ex(A.detach())
    return (*aten.linalg_slogdet(A), lu, pivots)


@composite(
    '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)', **_HIDDEN
)
def _linalg_eigh(A, UPLO, compute_v):
    if compute_v:
        return tuple(aten.linalg_eigh(A, UPLO))
    return aten.linalg_eigvalsh(A, UPLO), A.new_empty((0,))


@composite(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    **_HIDDEN,
)
def _linalg_svd(A, full_matrices, compute_uv, driver):
    if compute_uv:
        return tuple(aten.linalg_svd(A, full_matrices))
    return A.new_empty((0,)), aten.linalg_svdvals(A), A.new_empty((0,))


# --- gradients --------------------------------------------------------------------------------------------------------


def _pulled(function: Callable[..., Any], inputs: tuple[Any, ...], g: Any) -> tuple[Any, ...]:
    """The gradients of ``function`` at ``inputs`` along ``g``, with no history of their own."""
    with recording():
        leaves = tuple(_core._require_grad(x.detach()) for x in inputs)
        return gradients(function(*leaves), leaves, g.detach())


def _resampled(name: str, n: int, align: bool) -> None:
    scales = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[n]
    more = "".join(f", float? {s}=None" for s in scales)
    asked = ", bool align_corners" if align else ""

    def body(grad_output: Any, output_size: Any, input_size: Any, *settings: Any) -> Any:
        forward = by_parts(name)
        zeros = grad_output.new_zeros(tuple(input_size))
        return pulled(lambda x: forward(x, output_size, *settings), (zeros,), grad_output)[0]

    sizes = f"SymInt[{n}] output_size, SymInt[{n + 2}] input_size"
    _name(f"{name}_backward(Tensor grad_output, {sizes}{asked}{more}) -> Tensor", body)


for _n in (1, 2, 3):
    _resampled(f"upsample_nearest{_n}d", _n, False)
    _resampled(f"_upsample_nearest_exact{_n}d", _n, False)
for _n, _kind in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d"), (2, "bicubic2d")):
    _resampled(f"upsample_{_kind}", _n, True)


def _sampled(n: int) -> None:
    def body(grad_output: Any, input: Any, grid: Any, mode: int, padding: int, align: bool, mask: Any) -> Any:
        forward = by_parts(f"grid_sampler_{n}d")
        return pulled(lambda x, at: forward(x, at, mode, padding, align), (input, grid), grad_output, mask)

    _name(
        f"grid_sampler_{n}d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
        "bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
        body,
    )


_sampled(2)
_sampled(3)


@composite(
    "linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN,
)
def linear_backward(self, grad_output, weight, output_mask):
    """The gradients of a linear layer by input, weight and bias, None where the mask is False."""
    rows = grad_output.reshape(-1, grad_output.size(-1))
    return (
        grad_output @ weight if output_mask[0] else None,
        rows.mT @ self.reshape(-1, self.size(-1)) if output_mask[1] else None,
        rows.sum(0) if output_mask[2] else None,
    )


@composite(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    **_HIDDEN,
)
def _cdist_backward(grad, x1, x2, p, cdist):
    return _pulled(lambda a: aten.cdist(a, x2.detach(), p, None), (x1,), grad)[0]


@composite("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", **_HIDDEN)
def _prelu_kernel_backward(grad_output, self, weight):
    above = self > 0
    return torch.where(above, grad_output, weight * grad_output), torch.where(above, 0.0, self * grad_output).to(
        self.dtype
    )


@composite("_assert_async(Tensor self) -> ()", **_HIDDEN)
def _assert_async(self):
    """RuntimeError where the one element is zero: at once, here."""
    if self.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            + ("no values" if not self.numel() else "more than one value")
            + " is ambiguous"
        )
    if not self.is_meta and not bool(self):
        raise RuntimeError(
            f"Expected Tensor with single {'nonzero' if self.dtype is not _core.bool else 'true'} value, but got zero"
        )


# --- copies of the parts of sparse tensors ----------------------------------------------------------------------------

for _part in ("values", "_values", "indices", "_indices", "crow_indices", "col_indices", "ccol_indices", "row_indices"):
    _name(f"{_part}_copy(Tensor self) -> Tensor", lambda self, part=_part: getattr(self, part)().clone())
