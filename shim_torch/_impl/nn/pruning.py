"""A pruned tensor of a module, and how much of it is pruned."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import operators


class PrunedTensor(NamedTuple):
    """A pruned tensor of a module: ``name`` is computed from parameter ``name_orig`` and buffer ``name_mask``."""

    module: Any
    name: str

    @property
    def mask_name(self) -> str:
        """The name of the buffer that has the mask."""
        return f"{self.name}_mask"

    @property
    def original(self) -> Any:
        """The parameter that is masked."""
        return getattr(self.module, f"{self.name}_orig")

    def pruned(self) -> Any:
        """The parameter times its mask, in the parameter's dtype."""
        return getattr(self.module, self.mask_name).to(dtype=self.original.dtype) * self.original

    def mask(self) -> Any:
        """A copy of the mask; ones before the first one is made."""
        known = getattr(self.module, self.mask_name, None)
        return (
            ones_like(self.original) if known is None else known.detach().clone(memory_format=_core.contiguous_format)
        )

    def begin(self) -> None:
        """The parameter takes its second name."""
        self.module.register_parameter(f"{self.name}_orig", self.module._parameters[self.name])
        del self.module._parameters[self.name]

    def give_back(self) -> None:
        """The parameter takes its own name again, and the mask goes."""
        self.module.__dict__.pop(self.name, None)
        self.module._buffers.pop(self.mask_name, None)
        setattr(self.module, self.name, self.module._parameters.pop(f"{self.name}_orig"))

    def take_hook(self, kind: type) -> Any:
        """The hook of a kind that prunes it, taken off the module, or None."""
        hooks = self.module._forward_pre_hooks
        found = [k for k, h in hooks.items() if isinstance(h, kind) and getattr(h, "_tensor_name", None) == self.name]
        if len(found) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {self.name} of module {self.module}. Use a "
                "PruningContainer."
            )
        return hooks.pop(found[0]) if found else None


def ones_like(t: Any) -> Any:
    """A mask that keeps everything, of the dtype of ``t``."""
    return operators.ones_like(t)


def scores_of(t: Any, given: Any, what: str) -> Any:
    """What says how much each entry of a tensor matters: the tensor itself, unless scores are given."""
    if given is not None and given.shape != t.shape:
        raise AssertionError(f"importance_scores should have the same shape as {what}, got {given.shape} vs {t.shape}")
    return t if given is None else given


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t: Any) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t: Any, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def left_for(method: Any, t: Any, mask: Any) -> Any:
    """What of a tensor is still there for a method, as an index."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    if method.dim >= t.dim() or method.dim < -t.dim():
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    dim = method.dim % t.dim()
    kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return (*(slice(None) for _ in range(dim)), kept)


class ByScore:
    """Drops ``amount`` of a tensor's units (a number of them, or that fraction): entries or, with a dim, its channels.

    A subclass gives each unit a score, and says which end of their order is chosen, and whether to be dropped or kept.
    """

    _largest, _drops = False, True

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _score(self, t: Any) -> Any:
        """A number for each unit."""
        raise NotImplementedError

    def _within(self, default_mask: Any, t: Any, kept: Any) -> Any:
        """The mask for what is kept of a tensor's units: a vector of ones and zeros."""
        return kept.to(default_mask.dtype).view(t.shape) * default_mask

    def _units(self, t: Any) -> int:
        return t.nelement()

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` with zeros for the units that are dropped too, as many as ``amount`` says of those in ``t``.

        Errors: ValueError where ``amount`` is more than there are.
        """
        units = self._units(t)
        count = _compute_nparams_toprune(self.amount, units)
        _validate_pruning_amount(count, units)
        if not count:
            return default_mask.clone()
        scores = self._score(t).reshape(-1)
        chosen = scores.topk(count if self._drops else units - count, largest=self._largest).indices
        kept = t.detach().new_full((units,), int(self._drops)).index_fill_(0, chosen, int(not self._drops))
        return self._within(default_mask, t, kept)


class Channels(ByScore):
    """The units are what lies at one index of ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _units(self, t: Any) -> int:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        return t.shape[self.dim]

    def _within(self, default_mask: Any, t: Any, kept: Any) -> Any:
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask.to(t.dtype) * kept.view(shape)
