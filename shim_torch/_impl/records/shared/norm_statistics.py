"""What normalisations say of their statistics."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


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
