"""Fused linear layers: a product with its bias and activation in one operator, and the switch back to unfused ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.overrides import TorchFunctionMode

ACTIVATIONS = ("none", "relu", "gelu")


@contextmanager
def legacy_linear(enabled: bool = True) -> Iterator[None]:
    """Within it, on this thread, ``linear`` is a product and then a sum, as with ``SHIM_LEGACY_LINEAR=1``.

    The result is bit for bit that of ``matmul(x, weight.t()) + bias``. ``legacy_linear(False)`` overrides the environment.
    """
    before = _core.gemm_set_legacy_linear(1 if enabled else 0)
    try:
        yield
    finally:
        _core.gemm_set_legacy_linear(before)


def fused_linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: str = "none",
    approximate: str = "none",
    trans_x: bool = False,
    trans_y: bool = True,
) -> Any:
    """act(op(x) · op(weight) + bias) with its gradients, as few kernels as the device has.

    Shapes:  x (*, K), or (K, M) with ``trans_x``; weight (N, K), or (K, N) with ``trans_y=False``; bias (N,) -> (*, N)
    Options: activation none, relu or gelu; approximate none (erf) or tanh, for gelu
    Memory:  only where an activation and a gradient need it, gelu keeps its input: (*, N), rows padded to 8 elements
    Errors:  ValueError for an unknown activation; those of ``linear``; RuntimeError in backward without the kept input
    Source:  Paddle's fused_gemm_epilogue; torch's linear, relu and gelu
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"fused_linear: activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if trans_x:
        x = x.transpose(-1, -2)
    if not trans_y:
        weight = weight.transpose(-1, -2)
    name = "gelu_tanh" if activation == "gelu" and approximate == "tanh" else activation
    if name == "none":
        import shim_torch

        return shim_torch.nn.functional.linear(x, weight, bias)
    return _core.function("shim::fused_linear")(x, weight, bias, name, _wants_gradient(x, weight, bias))[0]


def _wants_gradient(*tensors: Any) -> bool:
    import shim_torch

    return shim_torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def decompose_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``linear`` as PyTorch takes it apart: ``t`` and ``addmm`` (``mm``), rows folded before and unfolded after.

    Shapes:  as ``linear``; a bias with more dimensions than one, or a folded vector, is added in a step of its own
    """
    import shim_torch as torch

    if input.dim() == 2 and bias is not None:
        return torch.addmm(bias, input, weight.t())
    if input.dim() > 2 and bias is not None and bias.dim() == 1 and input.is_contiguous():
        rows = torch.addmm(bias, input.view(-1, input.size(-1)), weight.t())
        return rows.view(*input.shape[:-1], weight.size(0))
    y = torch.matmul(input, weight.t())
    return y if bias is None else y + bias


class DecomposeLinear(TorchFunctionMode):
    """Within it ``linear`` is taken apart, so that modes entered before it see ``t`` and ``addmm``.

    ``no_decompose`` names those that stay whole ("linear").
    """

    def __init__(self, no_decompose: Any = ()) -> None:
        super().__init__()
        self.no_decompose = frozenset(no_decompose)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        import shim_torch as torch

        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "linear" and func is torch.nn.functional.linear and name not in self.no_decompose:
            return decompose_linear(*args, **kwargs)
        return func(*args, **kwargs)
