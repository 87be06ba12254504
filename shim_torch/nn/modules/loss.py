"""Loss layers."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nn.modules.building import by_name
from shim_torch._impl.nn.modules.linear_cross_entropy import LinearCrossEntropyLoss  # noqa: F401
from shim_torch._impl.nn.modules.simple_layers import constructor
from shim_torch.nn import functional as F
from shim_torch.nn._reduction import legacy_get_string
from shim_torch.nn.modules.module import Module

_COMMON: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}


class _Loss(Module):
    reduction: str
    _function = ""
    _settings: dict[str, Any] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        known = self._settings | _COMMON
        settings = known | by_name(type(self).__name__, self._order(), known, args, kwargs)
        if settings["size_average"] is not None or settings["reduce"] is not None:
            settings["reduction"] = legacy_get_string(settings["size_average"], settings["reduce"])
        self.reduction = settings["reduction"]
        for name in self._settings:
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, settings[name])
            else:
                setattr(self, name, settings[name])
        self._check()

    def _check(self) -> None:
        """Refuses settings, in a class that has some to refuse."""

    @classmethod
    def _order(cls) -> list[str]:
        """The positional order of PyTorch's constructor."""
        first = [n for n in cls._settings if n in cls._before]
        rest = [n for n in cls._settings if n not in cls._before and n not in cls._last]
        return [*first, "size_average", *rest, "reduce", "reduction", *(n for n in cls._settings if n in cls._last)]

    _before: tuple[str, ...] = ()
    _last: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A loss of the table gets a constructor of its own, whose signature names its settings."""
        super().__init_subclass__(**kwargs)
        if "_function" not in cls.__dict__ or "__init__" in cls.__dict__:
            return

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            _Loss.__init__(self, *args, **kwargs)

        defaults = cls._settings | _COMMON
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__signature__ = constructor({name: defaults[name] for name in cls._order()})  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    def _computed(self, *inputs: Any) -> Any:
        settings = {name: getattr(self, name) for name in self._settings}
        return getattr(F, self._function)(*inputs, reduction=self.reduction, **settings)

    def forward(self, input: Any, target: Any) -> Any:
        return self._computed(input, target)


class _WeightedLoss(_Loss):
    """The base of losses with a weight for each class, a buffer."""

    _settings: dict[str, Any] = {"weight": None}
    _before: tuple[str, ...] = ("weight",)


class L1Loss(_Loss):
    """Mean absolute error."""

    _function = "l1_loss"


class MSELoss(_Loss):
    """Mean squared error."""

    _function = "mse_loss"


class SmoothL1Loss(_Loss):
    """Squared below beta, absolute above."""

    _function = "smooth_l1_loss"
    _settings = {"beta": 1.0}
    _last = ("beta",)


class HuberLoss(Module):
    """Squared below delta, delta times absolute above."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__()
        self.reduction, self.delta = reduction, delta

    def forward(self, input: Any, target: Any) -> Any:
        """``input`` and ``target`` of one shape; a 0-d tensor, or of that shape with reduction "none"."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of class indices, input of log probabilities (N, C, *)."""

    _function = "nll_loss"
    _settings = {"weight": None, "ignore_index": -100}


class NLLLoss2d(NLLLoss):
    """NLLLoss by its old name."""


class CrossEntropyLoss(_WeightedLoss):
    """Log softmax and negative log likelihood; targets are class indices or probabilities."""

    _function = "cross_entropy"
    _settings = {"weight": None, "ignore_index": -100, "label_smoothing": 0.0}
    _last = ("label_smoothing",)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence; input in log space."""

    _function = "kl_div"
    _settings = {"log_target": False}
    _last = ("log_target",)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities."""

    _function = "binary_cross_entropy"


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits."""

    _function = "binary_cross_entropy_with_logits"
    _settings = {"weight": None, "pos_weight": None}
    _before = ("weight",)
    _last = ("pos_weight",)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of Poisson rates."""

    _function = "poisson_nll_loss"
    _settings = {"log_input": True, "full": False, "eps": 1e-8}
    _before = ("log_input", "full")

    def forward(self, log_input: Any, target: Any) -> Any:
        """``log_input``: logarithms of the rates, or rates by the setting of that name; ``target``: counts."""
        return self._computed(log_input, target)


class GaussianNLLLoss(Module):
    """Negative log likelihood of normal targets with given variance."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        """``input``: means; ``target`` of the same shape; ``var``: variances, of that shape or one for each row."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """x where the target is 1, max(0, margin - x) where it is -1."""

    _function = "hinge_embedding_loss"
    _settings = {"margin": 1.0}
    _before = ("margin",)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-y x))."""

    _function = "soft_margin_loss"


class MarginRankingLoss(_Loss):
    """max(0, -y (x1 - x2) + margin)."""

    _function = "margin_ranking_loss"
    _settings = {"margin": 0.0}
    _before = ("margin",)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        """``target``: 1 where ``input1`` should be the larger one, -1 where ``input2`` should."""
        return self._computed(input1, input2, target)


class CosineEmbeddingLoss(_Loss):
    """Cosine distance for similar pairs, hinged cosine for dissimilar ones."""

    _function = "cosine_embedding_loss"
    _settings = {"margin": 0.0}
    _before = ("margin",)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        """``input1`` and ``input2`` (N, D) or (D), ``target`` (N) or 0-d: 1 for similar pairs, -1 for others."""
        return self._computed(input1, input2, target)


class TripletMarginLoss(_Loss):
    """max(0, d(a, p) - d(a, n) + margin)."""

    _function = "triplet_margin_loss"
    _settings = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}
    _before = ("margin", "p", "eps", "swap")

    def _check(self) -> None:
        if self.margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        """Vectors (N, D) or (D): ``positive`` should be nearer to ``anchor`` than ``negative``."""
        return self._computed(anchor, positive, negative)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean binary cross entropy over labels."""

    _function = "multilabel_soft_margin_loss"


class MultiMarginLoss(_WeightedLoss):
    """Multi-class hinge loss."""

    _function = "multi_margin_loss"
    _settings = {"p": 1, "margin": 1.0, "weight": None}
    _before = ("p", "margin", "weight")


class MultiLabelMarginLoss(_Loss):
    """Multi-label hinge loss; targets are class indices up to the first -1."""

    _function = "multilabel_margin_loss"


class CTCLoss(Module):
    """Connectionist temporal classification: the log probability of all alignments of targets to steps."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        """``log_probs`` (T, N, C) or (T, C), ``targets`` (N, S) or all joined (sum of lengths), lengths (N)."""
        lengths = input_lengths, target_lengths
        return F.ctc_loss(log_probs, targets, *lengths, self.blank, self.reduction, self.zero_infinity)


class TripletMarginWithDistanceLoss(Module):
    """max(0, d(a, p) - d(a, n) + margin) for any distance."""

    def __init__(
        self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        from shim_torch._impl.nn.modules.spatial import PairwiseDistance

        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        """``positive`` should be nearer to ``anchor`` than ``negative``."""
        settings = {name: getattr(self, name) for name in ("distance_function", "margin", "swap", "reduction")}
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **settings)
