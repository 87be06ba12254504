"""Differences of neighbours and gradients of sampled functions."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import wrap_dim


def _check_diff(self: Any, other: Any, dim: int) -> None:
    if other.dim() != self.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i in range(self.dim()):
        if i != dim and other.size(i) != self.size(i):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                f"dimension; input.size({i}) = {self.size(i)}, but got tensor.size({i}) = {other.size(i)}"
            )


@composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    out=True,
    batching="along_dim",
    out_error_name="sub",
)
def diff(self, n, dim, prepend, append):
    """The n-th differences along a dim."""
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, self.dim())
    for other in (prepend, append):
        if other is not None:
            _check_diff(self, other, d)
    if n == 0:
        return self.clone()
    parts = [t for t in (prepend, self, append) if t is not None]
    x = torch.cat(parts, d) if len(parts) > 1 else self
    for _ in range(min(n, x.size(d))):
        m = max(x.size(d) - 1, 0)
        a, b = x.narrow(d, x.size(d) - m, m), x.narrow(d, 0, m)
        x = a.logical_xor(b) if x.dtype == _core.bool else a - b
    return x


def _spacings(self: Any, spacing: Any, dims: list[int], chosen: bool) -> list[Any]:
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * len(dims)
    given = list(spacing)
    if len(given) != len(dims):
        if chosen:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
                f"length, but got a spacing argument of length {len(given)} and a dim argument of length {len(dims)}."
            )
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {self.dim()}', "
            f"since dim argument was not given, but got a list of length {len(given)}"
        )
    return given


def _gradient(self: Any, spacing: Any, dim: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at the ends (of the order asked for)."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if dim is None:
        dims = list(range(self.dim()))
    else:
        dims = [wrap_dim(d, self.dim()) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    if len(set(dims)) < len(dims):
        raise RuntimeError(
            f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims"
        )
    for space in spacing if isinstance(spacing, (list, tuple)) else (spacing,):
        if isinstance(space, _core.TensorBase) and space.device != self.device:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{self.device} and {space.device}!"
            )
    for d in dims:
        if self.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(
        _along(self, d, space, edge_order)
        for d, space in zip(dims, _spacings(self, spacing, dims, dim is not None), strict=True)
    )


def _along(x: Any, d: int, space: Any, edge_order: int) -> Any:
    n = x.size(d)
    if isinstance(space, _core.TensorBase):
        if space.dim() != 1 or space.numel() != n:
            raise RuntimeError(
                f"torch.gradient expected each element in the coordinates to have the same size as its dimension, but got {space.numel()}"
            )
        steps = space.diff()
        left, right = (s.reshape([-1 if i == d else 1 for i in range(x.dim())]) for s in (steps[:-1], steps[1:]))
        first, second, last, before = steps[0], steps[1] if n > 2 else None, steps[-1], steps[-2] if n > 2 else None
    else:
        left = right = first = second = last = before = space

    def at(i: int, count: int = 1) -> Any:
        return x.narrow(d, i if i >= 0 else n + i, count)

    if isinstance(space, _core.TensorBase):
        inner = (
            at(2, n - 2) * (left / (right * (left + right)))
            + at(1, n - 2) * ((right - left) / (left * right))
            - at(0, n - 2) * (right / (left * (left + right)))
        )
    else:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * space)
    if edge_order == 1:
        begin, end = (at(1) - at(0)) / first, (at(-1) - at(-2)) / last
    else:
        begin = _edge(at(0), at(1), at(2), first, second)
        end = _edge(at(-1), at(-2), at(-3), last, before, -1)
    return torch.cat([begin, inner, end], d)


def _edge(a: Any, b: Any, c: Any, h: Any, k: Any, way: int = 1) -> Any:
    """The derivative at ``a`` of the parabola through three values with steps h and k, which are tensors or one number; ``way``
    is -1 where they go down."""
    if not isinstance(h, _core.TensorBase):
        return (2 * way * b - 1.5 * way * a - 0.5 * way * c) / h
    return way * (-(2 * h + k) / (h * (h + k)) * a + (h + k) / (h * k) * b - h / (k * (h + k)) * c)


composite(
    "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
composite(
    "gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
composite(
    "gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(lambda self, dim, edge_order: _gradient(self, None, dim, edge_order))
composite(
    "gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
composite(
    "gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
composite(
    "gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
composite(
    "gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
    method=False,
    refuses=(("u", "torch.gradient does not support uint8 input."),),
)(_gradient)
