"""Products with weights of four bits, two in a byte, on the CPU."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite

_FUNCTION: dict[str, Any] = {"method": False}
_ROWS = 64  # rows that share bytes, as in PyTorch's layout for AVX-512: row i and row i + 32; in a shorter rest 2 i and 2 i + 1


@composite("_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor", **_FUNCTION)
def _convert_weight_to_int4pack_for_cpu(self, innerKTiles):
    """Weights (N, K) int32 from 0 to 15 -> (N, K / 2) uint8 in the layout of the product below."""
    if self.dim() != 2:
        raise RuntimeError("_convert_weight_to_int4pack_cpu : expect weight to be 2D tensor.")
    if self.dtype != _core.int32:
        raise RuntimeError("_convert_weight_to_int4pack_cpu : expect weight to be kInt.")
    rows, columns = self.shape
    if rows % 16:
        raise RuntimeError("_convert_weight_to_int4pack_cpu : expect N to be dividable by 16")
    if columns % 2:
        raise RuntimeError("_convert_weight_to_int4pack: expect K to be dividable by 2")
    whole = rows - rows % _ROWS
    blocks = self[:whole].reshape(-1, 2, _ROWS // 2, columns)  # (block, half, row, column)
    rest = self[whole:].reshape(-1, 2, columns)  # (pair, which, column)
    parts = [
        (blocks[:, 0] | blocks[:, 1] << 4).transpose(1, 2).reshape(-1),
        (rest[:, 0] | rest[:, 1] << 4).t().reshape(-1),
    ]
    return (torch.cat(parts) & 255).to(_core.uint8).reshape(rows, columns // 2)


def _unpacked(packed: Any, columns: int) -> Any:
    """The weights (N, K) again, as numbers from 0 to 15."""
    rows = packed.size(0)
    whole = rows - rows % _ROWS
    blocks = packed[:whole].reshape(-1, columns, _ROWS // 2).transpose(1, 2)
    rest = packed[whole:].reshape(columns, -1).t()
    return torch.cat(
        [
            torch.stack([blocks & 15, blocks >> 4], 1).reshape(whole, columns),
            torch.stack([rest & 15, rest >> 4], 1).reshape(rows - whole, columns),
        ]
    )


def _check_product(self: Any, mat2: Any, group: int, scales: Any) -> None:
    name, rows, columns = "_weight_int4pack_mm_cpu", mat2.size(0), self.size(1)
    if self.dtype not in (_core.bfloat16, _core.float16, _core.float32):
        raise RuntimeError(f"{name} : expect A to be either 32-bit or 16-bit float tensor.")
    if not self.is_contiguous():
        raise RuntimeError(f"{name} : expect A to be contiguous.")
    if self.dim() != 2:
        raise RuntimeError(f"{name} : expect A to be 2D tensor.")
    if mat2.dtype != _core.uint8:
        raise RuntimeError(f"{name} : expect B to be uint8 tensor.")
    if not mat2.is_contiguous():
        raise RuntimeError(f"{name} : expect B to be contiguous.")
    if mat2.size(1) != columns // 2:
        raise RuntimeError(f"{name} : expect B.size(1) to be K/2, got {mat2.size(1)}")
    if group not in (32, 64, 128, 256):
        raise RuntimeError(f"{name}: expect qGroupSize to be 32, 64, 128 or 256, got {group}")
    if scales.dim() != 3 or scales.size(1) != rows or scales.size(2) != 2:
        raise RuntimeError(f"{name}: expect qScaleAndZeros to be 3d tensor with sizes [:, {rows}, 2]")


@composite(
    "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
    **_FUNCTION,
)
def _weight_int4pack_mm_for_cpu(self, mat2, qGroupSize, qScaleAndZeros):
    """self (M, K) times packed weights (N, K): (weight - 8) · scale + zero of each row's group of qGroupSize columns.

    qScaleAndZeros is (groups, N, 2) of self's dtype; sums are of float32.
    """
    _check_product(self, mat2, qGroupSize, qScaleAndZeros)
    rows, columns = mat2.size(0), self.size(1)
    if qScaleAndZeros.dtype != self.dtype:
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(self.dtype)} but found {_core.scalar_name(qScaleAndZeros.dtype)}"
        )
    factors = qScaleAndZeros.float().transpose(0, 1).repeat_interleave(qGroupSize, 1)[:, :columns]
    weights = (_unpacked(mat2, columns).float() - 8) * factors[..., 0] + factors[..., 1]
    return self.float().mm(weights.reshape(rows, columns).t()).to(self.dtype)
