"""The loss layer that is a linear layer, too."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch.nn import functional as F
from shim_torch.nn.modules.linear import Linear
from shim_torch.nn.modules.module import Module


class LinearCrossEntropyLoss(Module):
    """A linear layer to the classes' logits and their cross entropy."""

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Any = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
    ) -> None:  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__()
        rows = math.prod((num_classes, *out_features))
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.in_features, self.num_classes, self.out_features = in_features, num_classes, tuple(out_features)
        self.register_buffer("weight", weight)
        self.reduction, self.ignore_index, self.bias = reduction, ignore_index, bias
        self.label_smoothing, self.options = label_smoothing, options

    def forward(self, input: Any, target: Any) -> Any:
        """``input`` (N, in_features) or (in_features), ``target`` of classes or their probabilities."""
        classes = (self.num_classes, *self.out_features)
        weight, bias = self.linear.weight.unflatten(0, classes), self.linear.bias
        settings = {name: getattr(self, name) for name in ("reduction", "ignore_index", "label_smoothing", "options")}
        bias = None if bias is None else bias.unflatten(0, classes)
        return F.linear_cross_entropy(input, weight, target, weight=self.weight, linear_bias=bias, **settings)

    def extra_repr(self) -> str:
        """The settings, by name."""
        names = "in_features num_classes out_features bias reduction ignore_index label_smoothing options".split()
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


naming.present(globals(), "torch.nn.modules.loss")
