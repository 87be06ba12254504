"""``torch.nn.utils.prune``: parameters multiplied by masks of ones and zeros."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from shim_torch._impl.nn.pruning import (  # noqa: F401
    ByScore,
    Channels,
    PrunedTensor,
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
    left_for,
    ones_like,
    scores_of,
)


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
        return PrunedTensor(module, self._tensor_name).pruned()

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prunes parameter ``name`` of a module, on top of what pruned it before; gives the hook."""
        place = PrunedTensor(module, name)
        before = place.take_hook(BasePruningMethod)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            method = _container_of(before, method)
        scores = scores_of(getattr(module, name), importance_scores, f"parameter {name} of {module}")
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
        scores = scores_of(t, importance_scores, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Makes the pruned tensor the parameter again."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        place = PrunedTensor(module, self._tensor_name)
        place.original.data = self.apply_mask(module).data
        place.give_back()


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
        left = left_for(method, t, mask)
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` itself."""
        return default_mask


class RandomUnstructured(ByScore, BasePruningMethod):
    """Entries at random: ``amount`` of them, or that fraction."""

    PRUNING_TYPE = "unstructured"
    _largest = True

    def _score(self, t: Any) -> Any:
        import shim_torch

        return shim_torch.rand_like(t)


class L1Unstructured(ByScore, BasePruningMethod):
    """The entries nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def _score(self, t: Any) -> Any:
        return t.abs()


class RandomStructured(Channels, BasePruningMethod):
    """Whole channels of ``dim`` at random."""

    def _score(self, t: Any) -> Any:
        import shim_torch

        return shim_torch.rand(t.shape[self.dim], device=t.device)


class LnStructured(Channels, BasePruningMethod):
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
        """``default_mask`` times the given mask; AssertionError where their shapes differ."""
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
    places = [PrunedTensor(*pair) for pair in parameters]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    tensors = [getattr(module, name) for module, name in places]
    masks = [getattr(p.module, p.mask_name, ones_like(t)) for p, t in zip(places, tensors, strict=True)]
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


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    import shim_torch

    return shim_torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])
