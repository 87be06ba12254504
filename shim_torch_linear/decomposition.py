"""Linear layers decomposed into PyTorch's operators, for exporters and other tools that know only those."""

from __future__ import annotations

from typing import Any

from shim_torch.overrides import TorchFunctionMode
from shim_torch_linear.layer import checked, fused_linear, oriented


def decompose_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``linear`` as PyTorch decomposes it: ``t`` and ``addmm`` (``mm``), leading dims flattened and then restored.

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
    """Context in which ``linear`` and ``fused_linear`` are decomposed: modes entered before it see ``t`` and ``addmm``.

    ``no_decompose`` names the operators to leave alone ("linear", "fused_linear").
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
        if func is fused_linear and name not in self.no_decompose:
            return self._apart(*args, **kwargs)
        return func(*args, **kwargs)

    def _apart(
        self, x: Any, weight: Any, bias: Any, activation: str | None, trans_x: bool, trans_y: bool, approximate: str
    ) -> Any:
        import shim_torch as torch

        name = checked("fused_linear", x, weight, bias, activation, approximate)
        x, weight = oriented(x, weight, trans_x, trans_y)
        y = (torch.nn.functional.linear if "linear" in self.no_decompose else decompose_linear)(x, weight, bias)
        return (
            y
            if name == "none"
            else y.relu()
            if name == "relu"
            else torch.nn.functional.gelu(y, approximate=approximate)
        )
