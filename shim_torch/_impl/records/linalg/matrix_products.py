"""Powers and exponentials of matrices, products of several, and what is made of inverses: tensorinv, tensorsolve."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.matrices import check_matrix, identity
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import NARROW, wrap_dim

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _power(self: Any, n: int) -> Any:
    if self.dim() < 2 or self.size(-1) != self.size(-2):
        check_matrix("linalg.matrix_power", self, True)
    if n == 0:
        every = aten.ones_like(self, dtype=_core.bool)  # of A the gradient is zero, not absent
        return self.masked_fill(every, 0) + identity(self, self.size(-1))
    base, n = (aten.linalg_inv(self), -n) if n < 0 else (self, n)
    result = None
    while n:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        base = base @ base if n else base
    return result.clone() if result is self else result


composite(
    "linalg_matrix_power(Tensor self, int n) -> Tensor",
    out=True,
    **_LINALG,
    cast_error="matrix_power: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    out_error_name="matmul",
)(lambda self, n: _power(self, n))
composite("matrix_power(Tensor self, int n) -> Tensor", out=True)(lambda self, n: _power(self, n))


def _largest(sizes: Any) -> float:
    """One number for all matrices of a batch, also where ``vmap`` shows only one of them."""
    if type(sizes) is not _core.Tensor:
        from shim_torch._impl.transforms.batching.tensors import whole_batch

        sizes = whole_batch(sizes)
    return float(sizes.max())


def _exponential(self: Any) -> Any:
    """Taylor's series after halving until the norm is small, then squaring back."""
    if self.dtype in NARROW and self.device.type == "cpu":
        return _exponential(self.to(_core.float32)).to(self.dtype)
    check_matrix("linalg.matrix_exp", self, True)
    n = self.size(-1)
    if self.numel() == 0 or self.is_meta:
        return self.clone()
    norm = _largest(self.detach().abs().sum(-2))
    halvings = 0
    while norm > 1 and halvings < 1024:
        norm, halvings = norm / 2, halvings + 1
    x = self * (0.5**halvings) if halvings else self
    # Paterson's and Stockmeyer's way: parts of the series in the first powers of x, joined by products with the next one.
    wide = self.dtype.itemsize > (8 if self.is_complex() else 4)
    square = x @ x
    powers = [identity(self, n).expand(self.shape), x, square, *([square @ x] if wide else [])]
    next_power, count = (square @ square if wide else square @ x), len(powers)
    total: Any = None
    for first in range(4 * count if wide else 3 * count, -1, -count):
        part = powers[-1] / math.factorial(first + count - 1)
        for k in range(count - 2, -1, -1):
            part = part.add(powers[k], alpha=1 / math.factorial(first + k))
        total = part if total is None else part + total @ next_power
    for _ in range(halvings):
        total = total @ total
    return total


composite(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    gradient_name="LinalgMatrixExpBackward0",
    autocast="off",
    out=True,
    **_LINALG,
)(lambda self: _exponential(self))
composite("matrix_exp(Tensor self) -> Tensor", gradient_name="LinalgMatrixExpBackward0", autocast="off")(
    lambda self: aten.linalg_matrix_exp(self)
)
composite("linalg_matmul(Tensor self, Tensor other) -> Tensor", out=True, **_LINALG)(
    lambda self, other: self.matmul(other)
)


@composite(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    out=True,
    **_LINALG,
    autocast="lower_precision",
    out_dtype="multi_dot(): expected out tensor to have dtype {r} but got {o}",
    out_error_name="mm",
)
def linalg_multi_dot(tensors):
    """The product of all matrices in the cheapest order."""
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, t in enumerate(tensors):
        ends = i in (0, n - 1)
        if t.dim() != 2 and not (ends and t.dim() == 1):
            name = "the first tensor" if i == 0 else "the last tensor" if i == n - 1 else f"tensor {i}"
            raise RuntimeError(f"multi_dot(): {name} must be {'1D or 2D' if ends else '2D'} but got {t.dim()}D")
    words = {
        "Float": "float",
        "Double": "double",
        "Half": "c10::Half",
        "BFloat16": "c10::BFloat16",
        "Long": "long int",
        "Int": "int",
    }
    for i, t in enumerate(tensors):
        if t.dtype != tensors[0].dtype:
            first, other = (words.get(_core.scalar_name(x.dtype), _core.scalar_name(x.dtype)) for x in (tensors[0], t))
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {first} and tensor {i} {other}"
            )
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    chain = list(tensors)
    chain[0] = chain[0].unsqueeze(0) if row else chain[0]
    chain[-1] = chain[-1].unsqueeze(-1) if column else chain[-1]
    for i in range(n - 1):
        if chain[i].size(-1) != chain[i + 1].size(0):
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and {list(tensors[i + 1].shape)} "
                "cannot be multiplied"
            )
    x = _cheapest(chain)
    return x.view(x.shape[row : 2 - column])


def _cheapest(chain: list[Any]) -> Any:
    n, sizes = len(chain), [c.size(0) for c in chain] + [chain[-1].size(1)]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            prices = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(prices)
            cut[i][j] = i + prices.index(cost[i][j])

    return _multiplied(chain, cut, 0, n - 1)


def _multiplied(chain: list[Any], cut: list[list[int]], i: int, j: int) -> Any:
    return chain[i] if i == j else _multiplied(chain, cut, i, cut[i][j]) @ _multiplied(chain, cut, cut[i][j] + 1, j)


@composite("chain_matmul(Tensor[] matrices) -> Tensor", function=False, method=False, autocast="lower_precision")
def chain_matmul(matrices):
    """``torch.linalg.multi_dot`` of matrices by its old name, which warns; a matrix alone comes back as it is."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters."
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if m.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {m.dim()}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)


@composite("kron(Tensor self, Tensor other) -> Tensor", out=True, out_error_name="mul")
def kron(self, other):
    """Kronecker's product: every element of ``self`` times ``other``."""
    left, right = list(self.shape), list(other.shape)
    n = max(len(left), len(right))
    left, right = [1] * (n - len(left)) + left, [1] * (n - len(right)) + right
    a = self.reshape([v for s in left for v in (s, 1)])
    b = other.reshape([v for s in right for v in (1, s)])
    sizes = [x * y for x, y in zip(left, right, strict=True)]
    return torch._unsafe_view(a * b, sizes)


@composite("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", **_LINALG)
def linalg_vander(x, N):
    """Powers 0 ... N - 1 of each value."""
    if x.dtype in (_core.bool, _core.float16, _core.bfloat16):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {_core.scalar_name(x.dtype)}"
        )
    x = x.unsqueeze(-1) if x.dim() == 0 else x
    n = x.size(-1) if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return torch.cat([torch.ones_like(powers[..., :1]), powers], -1)


@composite("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", **_LINALG)
def linalg_diagonal(A, offset, dim1, dim2):
    """A view of the diagonals of matrices: ``torch.diagonal`` whose dims are the last two by default."""
    return A.diagonal(offset, dim1, dim2)


@composite(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    cast_error="tensorinv: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    out_order="contiguous",
    writes_out_last=True,
)
def linalg_tensorinv(self, ind):
    """The inverse of self as a map from its dims past ``ind`` to the first ones."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = list(self.shape[:ind]), list(self.shape[ind:])
    m, n = _product(first), _product(last)
    if m != n:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {n} != {m}"
        )
    return aten.linalg_inv(self.reshape(m, n)).reshape([*last, *first])


def _product(sizes: Any) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


@composite(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    cast_error="tensorsolve: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    writes_out_last=True,
)
def linalg_tensorsolve(self, other, dims):
    """X with tensordot(self, X, X.ndim) == other."""
    n = self.dim()
    if dims is not None:
        moved = [wrap_dim(d, n) for d in dims]
        self = self.movedim(moved, list(range(n - len(moved), n)))
    last = list(self.shape[other.dim() :])
    m, k = _product(last), other.numel()
    if m != k:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {m} != {k}"
        )
    return aten.linalg_solve(self.reshape(m, m), other.reshape(-1)).reshape(last)
