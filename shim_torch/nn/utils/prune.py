"""``torch.nn.utils.prune``: parameters multiplied by masks of ones and zeros."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from native import _core
from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of


class BasePruningMethod(ABC):
    """One way to choose a mask; as a forward pre-hook it multiplies ``name_orig`` by ``name_mask``.

    PRUNING_TYPE of a subclass: "unstructured", "structured" or "global"; it says what is left for a second method.
    """

    _tensor_name: str = None  # type: ignore[assignment]
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for importance scores ``t``, within ``default_mask``."""

    def apply_mask(self, module: Any) -> Any:
        """The pruned tensor of a module."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = (getattr(module, self._tensor_name + ending) for ending in ("_mask", "_orig"))
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prunes parameter ``name`` of a module, on top of what pruned it before; gives the hook."""
        before = _take_hook(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            method = _container_of(before, method)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter                 {name} of {module}"
            )
        fresh = before is None
        if fresh:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default = _ones_like(original)
        else:
            default = getattr(module, name + "_mask").detach().clone(memory_format=_core.contiguous_format)
        try:
            module.register_buffer(name + "_mask", method.compute_mask(importance_scores, default_mask=default))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if fresh:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A pruned copy of a tensor."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default = default_mask if default_mask is not None else _ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Makes the pruned tensor the parameter again."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned            before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _ones_like(t: Any) -> Any:
    import shim_torch

    return shim_torch.ones_like(t)


def _take_hook(module: Any, name: str) -> Any:
    """The pruning hook of a parameter, taken off the module, or None."""
    found = [
        k for k, h in module._forward_pre_hooks.items() if isinstance(h, BasePruningMethod) and h._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    return module._forward_pre_hooks.pop(found[0]) if found else None


def _container_of(before: Any, method: Any) -> PruningContainer:
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter, each on what the ones before left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds one for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The last method's mask on the entries (or channels) that are left, within ``default_mask``."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        chosen = _left(method, t, mask)
        combined = mask.clone()
        combined[chosen] = method.compute_mask(t[chosen], default_mask=mask[chosen]).to(dtype=mask.dtype)
        return combined


def _left(method: Any, t: Any, mask: Any) -> Any:
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


class Identity(BasePruningMethod):
    """A mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _Entries(BasePruningMethod):
    """Drops ``amount`` entries (a number of them, or that fraction): those that come first in an order."""

    PRUNING_TYPE = "unstructured"
    _largest = True  # which end of ``_order`` comes first

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _order(self, t: Any) -> Any:
        """A number for every entry."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        mask = default_mask.clone(memory_format=_core.contiguous_format)
        count = _count(self.amount, t.nelement())
        if count:
            mask.view(-1)[self._order(t).view(-1).topk(count, largest=self._largest).indices] = 0
        return mask


class RandomUnstructured(_Entries):
    """Entries at random: ``amount`` of them, or that fraction."""

    def _order(self, t: Any) -> Any:
        import shim_torch

        return shim_torch.rand_like(t)


class L1Unstructured(_Entries):
    """The entries nearest to zero."""

    _largest = False

    def _order(self, t: Any) -> Any:
        return t.abs()


def _channel_mask(t: Any, dim: int, channels: Any, value: int, rest: int) -> Any:
    mask = t.new_full(t.shape, rest)
    mask.index_fill_(dim, channels, value)
    return mask


class RandomStructured(BasePruningMethod):
    """Whole channels of ``dim`` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        import shim_torch

        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        dropped = shim_torch.rand(size, device=t.device).argsort()[:count]
        return default_mask * _channel_mask(t.detach(), self.dim, dropped, 0, 1).to(dtype=default_mask.dtype)


class LnStructured(BasePruningMethod):
    """The channels of ``dim`` whose norm of order ``n`` is smallest."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        import shim_torch

        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        kept = shim_torch.topk(_compute_norm(t, self.n, self.dim), k=size - count, largest=True).indices
        return default_mask * _channel_mask(t.detach(), self.dim, kept, 1, 0).to(dtype=default_mask.dtype)


class CustomFromMask(BasePruningMethod):
    """A mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} does not match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Registers pruning with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Drops entries at random."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Drops the entries nearest to zero (or of the lowest scores)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Drops channels at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Drops the channels of the smallest norm."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prunes by a mask that is given."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prunes parameters, (module, name) pairs, as if they were one vector."""
    import shim_torch

    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    values = shim_torch.cat([scores.get((m, n), getattr(m, n)).reshape(-1) for m, n in pairs])
    before = shim_torch.cat(
        [getattr(m, n + "_mask", shim_torch.ones_like(getattr(m, n))).reshape(-1) for m, n in pairs]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(values, before)
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        custom_from_mask(module, name, mask=mask[start : start + param.numel()].view_as(param))
        start += param.numel()


def remove(module: Any, name: str) -> Any:
    """Makes pruning permanent: the pruned tensor is the parameter, the hook is gone."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether a module or one below it has a pruning hook."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())


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


def _count(amount: Any, size: int) -> int:
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    import shim_torch

    return shim_torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
