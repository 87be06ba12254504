"""The outer product of two vectors, and its gradients, which are products of their own."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, op


def _outer_half(name: str) -> Any:
    return _core.function(f"shim::outer_backward_{name}")


@op(
    "shim::_outer(Tensor self, Tensor vec2) -> Tensor",
    function=False,
    method=False,
    shape=lambda self, vec2: (self.shape[0], vec2.shape[0]),
    dtype=lambda self: self.dtype,
    native="_outer",
    grad={
        "self": lambda g, vec2: _outer_half("input")(g, vec2),
        "vec2": lambda g, self: _outer_half("other")(g, self),
    },
    part_of="mul",
)
def _outer(xp: Any, self: Any, vec2: Any) -> Any:
    """outer of two vectors of one floating dtype, with products for gradients where mul would sum a whole matrix."""
    return self[:, None] * vec2[None, :]


@op(
    "shim::outer_backward_input(Tensor grad_output, Tensor vec2) -> Tensor",
    function=False,
    shape=lambda grad_output: (grad_output.shape[0],),
    dtype=lambda grad_output: grad_output.dtype,
    native="outer_backward_input",
    grad={
        "grad_output": lambda g, vec2: g.outer(vec2),
        "vec2": lambda g, grad_output: _outer_half("other")(grad_output, g),
    },
)
def outer_backward_input(xp: Any, grad_output: Any, vec2: Any) -> Any:
    """da = dy · b: (M, N) and (N,) give (M,)."""
    return xp.matmul(grad_output, vec2)


@op(
    "shim::outer_backward_other(Tensor grad_output, Tensor self) -> Tensor",
    function=False,
    shape=lambda grad_output: (grad_output.shape[1],),
    dtype=lambda grad_output: grad_output.dtype,
    native="outer_backward_other",
    grad={
        "grad_output": lambda g, self: self.outer(g),
        "self": lambda g, grad_output: _outer_half("input")(grad_output, g),
    },
)
def outer_backward_other(xp: Any, grad_output: Any, self: Any) -> Any:
    """db = dyᵀ · a: (M, N) and (M,) give (N,)."""
    return xp.matmul(grad_output.T, self)


@composite(
    "outer(Tensor self, Tensor vec2) -> Tensor", out=True, aliases=("ger",), native="outer", out_error_name="mul"
)
def outer(self, vec2):
    """The product of each element of the first vector with each of the second: (M,) and (N,) give (M, N)."""
    if self.dim() != 1 or vec2.dim() != 1:
        name, given = ("self", self) if self.dim() != 1 else ("vec2", vec2)
        raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {given.dim()}-D")
    return self.unsqueeze(1) * vec2.unsqueeze(0)
