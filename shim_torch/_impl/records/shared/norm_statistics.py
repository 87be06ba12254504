"""What normalisations share: their kernel over rows, and what they say of their statistics."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.rules import FLOATS, NARROW


def check_one_dtype(input: Any, *parameters: Any) -> None:
    """On a CPU all have one dtype, or the input is of half precision and the parameters are float32. Errors: RuntimeError."""
    given = [t for t in parameters if t is not None]
    if not given or input.device.type != "cpu":
        return
    if given[0].dtype == input.dtype:
        for t in given:
            if t.dtype != input.dtype:
                raise RuntimeError(
                    f"expected scalar type {_core.scalar_name(input.dtype)} but found {_core.scalar_name(t.dtype)}"
                )
        return
    if any(t.dtype is not _core.float32 for t in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in NARROW:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def statistics_dtype(input: Any, wide: Any, *parameters: Any) -> Any:
    """On the CPU the input's own dtype, unless the parameters are of another one; elsewhere the wide one."""
    is_mixed = any(p is not None and p.dtype != input.dtype for p in parameters)
    return input.dtype if input.device.type == "cpu" and not is_mixed else wide


def traced_statistics(x: Any, mean: Any, rstd: Any, dims: list[int]) -> tuple[Any, Any]:
    """The mean and 1 / std over ``dims`` as functions of x where its gradient is wanted, so that second gradients have their part too.

    ``mean`` None: rows that are not centred. The values are those given, the dims kept.
    """
    if not (_core.is_grad_enabled() and x.requires_grad):
        return mean, rstd
    centre = x
    if mean is not None:
        mean = x.mean(dims, keepdim=True)
        centre = x - mean
    variance = (centre * centre).mean(dims, keepdim=True)
    return mean, (variance + (rstd.reshape(variance.shape) ** -2 - variance).detach()).rsqrt()


def has_row_kernel(input: Any, weight: Any, bias: Any) -> bool:
    """Whether one kernel does it: one floating dtype for all, elements, and nobody looks on."""
    parts = [t for t in (weight, bias) if t is not None]
    return (
        (input.is_cuda or _core.unseen(input, *parts))
        and input.dtype in FLOATS
        and all(t.dtype == input.dtype and t.device == input.device for t in parts)
        and input.numel() > 0
    )


def row_norm(
    input: Any, weight: Any, bias: Any, cols: int, span: int, groups: int, centred: bool, eps: float
) -> tuple[Any, Any, Any]:
    """``shim::norm`` of contiguous operands: the values, and a mean and a reciprocal deviation a row."""
    weight, bias = (t if t is None else t.contiguous() for t in (weight, bias))
    return shim.norm(input.contiguous(), weight, bias, cols, span, groups, centred, float(eps))
