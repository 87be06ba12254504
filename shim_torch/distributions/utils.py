"""``torch.distributions.utils``: parameters brought to one shape; probabilities and logits."""

from __future__ import annotations

from numbers import Number
from typing import Any

from native import _core


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape."""
    import shim_torch

    if not all(isinstance(v, (_core.TensorBase, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    like = next((v for v in values if isinstance(v, _core.TensorBase)), None)
    options = {} if like is None else {"dtype": like.dtype, "device": like.device}
    tensors = [v if isinstance(v, _core.TensorBase) else shim_torch.tensor(v, **options) for v in values]
    if like is None:
        tensors = [t.to(_core.get_default_dtype()) for t in tensors]
    return tuple(shim_torch.broadcast_tensors(*tensors))


def clamp_probs(probs: Any) -> Any:
    """Probabilities a little away from 0 and 1."""
    from shim_torch import finfo

    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """log p, or log(p / (1 - p)) where there are two outcomes."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The softmax of logits, or the sigmoid where there are two outcomes."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)
