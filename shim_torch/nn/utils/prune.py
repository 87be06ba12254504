"""``torch.nn.utils.prune``: parameters multiplied by masks of ones and zeros."""

from __future__ import annotations

import contextlib
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from shim_torch._impl.native import _core


class BasePruningMethod(ABC):
    """One way to choose a mask; as a forward pre-hook it multiplies ``name_orig`` by ``name_mask``.

    PRUNING_TYPE of a subclass: "unstructured", "structured" or "global"; it says what is left for a second method.
    """

    _tensor_name: str
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
        return _Place(module, self._tensor_name).pruned()

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prunes parameter ``name`` of a module, on top of what pruned it before; gives the hook."""
        place = _Place(module, name)
        before = place.take_hook()
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            method = _container_of(before, method)
        scores = _scores(getattr(module, name), importance_scores, f"parameter {name} of {module}")
        with contextlib.ExitStack() as undo:
            if before is None:
                place.begin()
                undo.callback(place.give_back)
            module.register_buffer(place.mask_name, method.compute_mask(scores, default_mask=place.mask()))
            setattr(module, name, method.apply_mask(module))
            undo.pop_all()
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A pruned copy of a tensor."""
        scores = _scores(t, importance_scores, "tensor t")
        return t * self.compute_mask(scores, default_mask=_ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Makes the pruned tensor the parameter again."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        place = _Place(module, self._tensor_name)
        place.original.data = self.apply_mask(module).data
        place.give_back()


class _Place(NamedTuple):
    """A pruned tensor of a module: ``name`` is computed from parameter ``name_orig`` and buffer ``name_mask``."""

    module: Any
    name: str

    @property
    def mask_name(self) -> str:
        return f"{self.name}_mask"

    @property
    def original(self) -> Any:
        return getattr(self.module, f"{self.name}_orig")

    def pruned(self) -> Any:
        return getattr(self.module, self.mask_name).to(dtype=self.original.dtype) * self.original

    def mask(self) -> Any:
        """A copy of the mask; ones before the first one is made."""
        known = getattr(self.module, self.mask_name, None)
        return (
            _ones_like(self.original) if known is None else known.detach().clone(memory_format=_core.contiguous_format)
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

    def take_hook(self) -> Any:
        """The hook that prunes it, taken off the module, or None."""
        hooks = self.module._forward_pre_hooks
        found = [k for k, h in hooks.items() if isinstance(h, BasePruningMethod) and h._tensor_name == self.name]
        if len(found) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {self.name} of module {self.module}. Use a "
                "PruningContainer."
            )
        return hooks.pop(found[0]) if found else None


def _ones_like(t: Any) -> Any:
    import shim_torch

    return shim_torch.ones_like(t)


def _scores(t: Any, given: Any, what: str) -> Any:
    """What says how much each entry of a tensor matters: the tensor itself, unless scores are given."""
    if given is not None and given.shape != t.shape:
        raise AssertionError(f"importance_scores should have the same shape as {what}, got {given.shape} vs {t.shape}")
    return t if given is None else given


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
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype, copy=True)
        left = _left(method, t, mask)
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return mask


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


class _ByScore(BasePruningMethod):
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
        units = self._units(t)
        count = _compute_nparams_toprune(self.amount, units)
        _validate_pruning_amount(count, units)
        if not count:
            return default_mask.clone()
        scores = self._score(t).reshape(-1)
        chosen = scores.topk(count if self._drops else units - count, largest=self._largest).indices
        kept = t.detach().new_full((units,), int(self._drops)).index_fill_(0, chosen, int(not self._drops))
        return self._within(default_mask, t, kept)


class RandomUnstructured(_ByScore):
    """Entries at random: ``amount`` of them, or that fraction."""

    PRUNING_TYPE = "unstructured"
    _largest = True

    def _score(self, t: Any) -> Any:
        import shim_torch

        return shim_torch.rand_like(t)


class L1Unstructured(_ByScore):
    """The entries nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def _score(self, t: Any) -> Any:
        return t.abs()


class _Channels(_ByScore):
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


class RandomStructured(_Channels):
    """Whole channels of ``dim`` at random."""

    def _score(self, t: Any) -> Any:
        import shim_torch

        return shim_torch.rand(t.shape[self.dim], device=t.device)


class LnStructured(_Channels):
    """The channels of ``dim`` whose norm of order ``n`` is smallest."""

    _largest, _drops = True, False

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _score(self, t: Any) -> Any:
        return _compute_norm(t, self.n, self.dim)


class CustomFromMask(BasePruningMethod):
    """A mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
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
    if not isinstance(importance_scores, (dict, type(None))):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    places = [_Place(*pair) for pair in parameters]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    tensors = [getattr(module, name) for module, name in places]
    masks = [getattr(p.module, p.mask_name, _ones_like(t)) for p, t in zip(places, tensors, strict=True)]
    scores = [(importance_scores or {}).get(tuple(place), t) for place, t in zip(places, tensors, strict=True)]
    whole = [shim_torch.cat([t.reshape(-1) for t in several]) for several in (scores, masks)]
    parts = PruningContainer(method).compute_mask(*whole).split([t.numel() for t in tensors])
    for (module, name), t, part in zip(places, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(t))


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


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    import shim_torch

    return shim_torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])
