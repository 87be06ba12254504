"""A softmax over many classes that spends less on rare ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.container import ModuleList, Sequential
from shim_torch.nn.modules.linear import Linear
from shim_torch.nn.modules.module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


def _checked(cutoffs: list[Any], n_classes: int) -> list[int]:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    falls = any(after <= before for before, after in pairwise((0, *cutoffs, n_classes)))
    if falls or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            "is between 1 and n_classes-1"
        )
    return cutoffs


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in a head, rare ones in clusters behind narrower projections (Grave and others, 2016).

    Shapes: input (N, in_features), target (N,) -> the log probabilities of the targets (N,) and their mean loss.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*_checked(list(cutoffs), n_classes), n_classes]
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(pairwise(self.cutoffs), 1):  # the rarer its classes, the narrower a cluster
            sizes = pairwise((in_features, int(in_features // div_value**i), stop - start))
            self.tail.append(Sequential(*(Linear(wide, narrow, bias=False, **place) for wide, narrow in sizes)))

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        self.head.reset_parameters()
        for first, second in self.tail:  # type: ignore[attr-defined]
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        """(log-probabilities of the targets, their negative mean) for ``input_`` (N, in_features) and ``target_`` (N,).

        RuntimeError where sizes differ or a target is no class.
        """
        if target_.dim() == 1 and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target_.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        wanted = 2 if target_.dim() == 1 else 1
        if input_.dim() != wanted:
            kind = "1D target tensor expects 2D" if wanted == 2 else "0D target tensor expects 1D"
            raise RuntimeError(f"{kind} input tensors, but found inputs with size {input_.size()}")
        batched = target_.dim() > 0
        x, y = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        low, high = int(y.min()), int(y.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. "
            )
        out = self.log_prob(x).gather(1, y.unsqueeze(1)).squeeze(1)
        loss = (-out).mean()
        return _ASMoutput(out if batched else out.squeeze(0), loss)

    def log_prob(self, input: Any) -> Any:
        """The log probabilities of all classes: (N, n_classes)."""
        import shim_torch

        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return shim_torch.cat(parts, 1)

    def predict(self, input: Any) -> Any:
        """The likeliest class of each row."""
        return self.log_prob(input).argmax(dim=1)
