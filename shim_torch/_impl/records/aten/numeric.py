"""Inner numeric operators: sums with relu, products that name their dtype, jagged and padded rows, histograms, running extremes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, package
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch


@aten("_add_relu.Tensor", "_add_relu.Scalar", public=True)
def _add_relu(self: Any, other: Any, alpha: Any) -> Any:
    return torch.add(self, other, alpha=alpha).clamp(min=0)


@aten("_add_relu_.Tensor", "_add_relu_.Scalar", public=True)
def _add_relu_(self, other, alpha):
    return self.add_(other, alpha=alpha).clamp_(min=0)


aten("isin.Tensor_Scalar", "isin.Scalar_Tensor", numbers="not_all", out_dtype="structured")(
    lambda elements, tests, unique, invert: torch.isin(elements, tests, assume_unique=unique, invert=invert)
)
for _rank in (1, 2, 3):
    aten(f"atleast_{_rank}d.Sequence")(
        (lambda name: lambda tensors: [getattr(ops, name)(t) for t in tensors])(f"atleast_{_rank}d")
    )


@aten("_linalg_eigvals")
def _linalg_eigvals(self):
    return ops.linalg_eigvals(self)


@aten("_linalg_solve_ex", public=True)
def _linalg_solve_ex(A, B, left, check_errors):
    lu, pivots, info = ops.linalg_lu_factor_ex(A.detach())
    result, _ = ops.linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, lu, pivots, info


@aten("linalg__powsum")
def linalg__powsum(self, ord, dim, keepdim, dtype):
    """Σ |x| ** ``ord`` over ``dim``, computed in ``dtype``."""
    x = self if dtype is None else self.to(dtype)
    return (x.abs() ** ord).sum(dim, keepdim)


@aten("native_norm")
def native_norm(self, p):
    """The norm of order ``p`` of all elements."""
    return package().norm(self, p)


@aten("native_norm.ScalarOpt_dim_dtype")
def native_norm_dim(self, p, dim, keepdim, dtype):
    """Norms of order ``p`` (None: 2) over ``dim``, computed in ``dtype``."""
    return package().norm(self, 2 if p is None else p, list(dim), keepdim, dtype=dtype)


@aten("_cholesky_solve_helper")
def _cholesky_solve_helper(self, A, upper):
    return torch.cholesky_solve(self, A, upper)


@aten("_compute_linear_combination", public=True)
def _compute_linear_combination(input, coefficients):
    """Sums of the rows of input (n, ...) by every row of coefficients (m, n)."""
    return torch.tensordot(coefficients.to(input.dtype), input, [-1], [0])


@aten("_trilinear", public=True)
def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim):
    """The product of three tensors, each with new dims at its ``expand``, summed over ``sumdim``."""

    def opened(x: Any, dims: Any) -> Any:
        for d in sorted(dims):
            x = x.unsqueeze(d)
        return x

    made = opened(i1, expand1) * opened(i2, expand2) * opened(i3, expand3)
    return made.sum(list(sumdim)) if len(sumdim) else made


def _running(name: str) -> Any:
    def body(self: Any, values: Any, indices: Any, dim: int) -> None:
        found = getattr(torch, name)(self, dim)
        values.copy_(found.values)
        indices.copy_(found.indices)

    return body


aten("_cummax_helper", public=True)(_running("cummax"))
aten("_cummin_helper", public=True)(_running("cummin"))


# --- rows of different lengths ----------------------------------------------------------------------------------------


@aten("_jagged_to_padded_dense_forward")
def _jagged_to_padded_dense_forward(values, offsets, max_lengths, padding_value):
    """Rows values[offsets[i]:offsets[i + 1]] as (rows, max length, ...), filled up or cut."""
    starts, ends = offsets[0][:-1], offsets[0][1:]
    at = starts.unsqueeze(1) + torch.arange(max_lengths[0], device=values.device)
    inside = at < ends.unsqueeze(1)
    rows = (
        values[at.clamp(max=max(values.shape[0] - 1, 0))]
        if values.shape[0]
        else values.new_zeros((*at.shape, *values.shape[1:]))
    )
    return rows.where(inside.reshape(*inside.shape, *[1] * (values.dim() - 1)), padding_value)


@aten("_padded_dense_to_jagged_forward")
def _padded_dense_to_jagged_forward(dense, offsets, total_L):
    """The rows of dense (rows, length, ...) one after another, each of its own length by the offsets."""
    lengths = offsets[0][1:] - offsets[0][:-1]
    total = int(offsets[0][-1]) if total_L is None else total_L
    if type(lengths) is _core.Tensor and lengths.device.type == "cpu":
        longest = int(lengths.max()) if lengths.numel() else 0
        if longest > dense.shape[1]:
            raise RuntimeError(
                f"_padded_dense_to_jagged_forward(): found batch item of length {longest} when max length specified by padded input is "
                f"{dense.shape[1]}"
            )
        if total != int(offsets[0][-1]):
            raise RuntimeError("_padded_dense_to_jagged_forward(): final offset should match total_L value")
    row = torch.repeat_interleave(torch.arange(dense.shape[0], device=dense.device), lengths, output_size=total)
    at = torch.arange(total, device=dense.device) - offsets[0][:-1][row]
    fits = (at < dense.shape[1]).reshape(-1, *[1] * (dense.dim() - 2))
    return dense[row, at.clamp(max=max(dense.shape[1] - 1, 0))].where(fits, 0)


@aten("_pack_padded_sequence_backward")
def _pack_padded_sequence_backward(grad, input_size, batch_sizes, batch_first):
    sizes = list(input_size)
    if batch_first:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    made = grad.new_zeros(sizes)
    at = 0
    for step, n in enumerate(batch_sizes.tolist()):
        made[step, :n] = grad[at : at + n]
        at += n
    return made.transpose(0, 1) if batch_first else made


@aten("_pad_enum")
def _pad_enum(self, pad, mode, value):
    """mode: 0 reflect, 1 replicate, 2 circular, 3 constant."""
    return ops.pad(self, list(pad), ("reflect", "replicate", "circular", "constant")[mode], value)


# --- histograms -------------------------------------------------------------------------------------------------------


def _edges(found: Any) -> list[Any]:
    return list(found.bin_edges)


@aten("_histogramdd_bin_edges", public=True)
def _histogramdd_bin_edges(self, bins, range, weight, density):
    return _edges(
        torch.histogramdd(
            self, list(bins), range=None if range is None else list(range), weight=weight, density=density
        )
    )


@aten("_histogramdd_from_bin_cts", public=True)
def _histogramdd_from_bin_cts(self, bins, range, weight, density):
    return torch.histogramdd(
        self, list(bins), range=None if range is None else list(range), weight=weight, density=density
    ).hist


@aten("_histogramdd_from_bin_tensors", public=True)
def _histogramdd_from_bin_tensors(self, bins, weight, density):
    return torch.histogramdd(self, list(bins), weight=weight, density=density).hist


# --- sparse -----------------------------------------------------------------------------------------------------------


def _sparse(kind: str, given: int) -> Any:
    def body(*bound: Any) -> Any:
        *parts, dtype, layout, device, pin_memory = bound[: given + 4]
        keywords = {"dtype": dtype, "device": device, **({"layout": layout} if kind == "compressed" else {})}
        return getattr(package(), f"sparse_{kind}_tensor")(
            *parts, **{k: v for k, v in keywords.items() if v is not None}
        )

    return body


for _kind, _parts in (
    ("csr", "crow_col"),
    ("csc", "ccol_row"),
    ("bsr", "crow_col"),
    ("bsc", "ccol_row"),
    ("compressed", "comp_plain"),
):
    aten(f"sparse_{_kind}_tensor.{_parts}_value")(_sparse(_kind, 3))
    aten(f"sparse_{_kind}_tensor.{_parts}_value_size")(_sparse(_kind, 4))
aten("sparse_coo_tensor.indices")(_sparse("coo", 2))
aten("sparse_coo_tensor.indices_size")(_sparse("coo", 3))


@aten("sparse_coo_tensor.size")
def sparse_coo_tensor_size(size, dtype, layout, device, pin_memory):
    """A sparse COO tensor of this size without values."""
    indices = torch.empty((len(size), 0), dtype=_core.int64, device=device)
    values = torch.empty((0,), dtype=dtype, device=device)
    return package().sparse_coo_tensor(indices, values, tuple(size))


@aten("_spdiags", public=True)
def _spdiags(diagonals, offsets, shape, layout):
    return package().sparse.spdiags(diagonals, offsets, tuple(shape), layout)


@aten("_sparse_mm.reduce")
def _sparse_mm_reduce(sparse, dense, reduce):
    return package().sparse.mm(sparse, dense, reduce)


# --- CTC --------------------------------------------------------------------------------------------------------------


@aten("_ctc_loss", "_ctc_loss.Tensor", public=True)
def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """The loss of every sequence; the second result, PyTorch's table of alignments, is empty: gradients come of the first."""
    return ops.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, 0, zero_infinity
    ), log_probs.new_empty((0,))
