"""``torch._decomp.decompositions``: what stands for operators, by the operators' names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.transforms.decompositions.activations import *  # noqa: F403
from shim_torch._impl.transforms.decompositions.contractions import *  # noqa: F403
from shim_torch._impl.transforms.decompositions.formulas import *  # noqa: F403
from shim_torch._impl.transforms.decompositions.layouts import *  # noqa: F403
from shim_torch._impl.transforms.decompositions.layouts import index_copy_ as index_copy_


def uniform(x: Any, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """Numbers of one size with ``x``, alike between two bounds."""
    import shim_torch

    return shim_torch.ops.aten.uniform(x, low, high, generator=generator)


def bernoulli(self: Any, *, generator: Any = None) -> Any:
    """Ones with the probabilities ``self``, else zeros."""
    import shim_torch

    drawn = shim_torch.rand(self.shape, dtype=shim_torch.float32, device=self.device, generator=generator)
    return (drawn < self).to(self.dtype)


def bernoulli_p(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
    """Ones with the probability ``p``, else zeros."""
    import shim_torch

    drawn = shim_torch.rand(self.shape, dtype=shim_torch.float32, device=self.device, generator=generator)
    return (drawn < p).to(self.dtype)


def __getattr__(name: str) -> Callable[..., Any]:
    from shim_torch import _decomp
    from shim_torch._impl.surface.missing import missing
    from shim_torch._impl.transforms.decompositions.table import overload

    for variant in ("", ".Tensor", ".int", ".self", ".Scalar", ".dim"):
        found = _decomp.decomposition_table.get(overload(name + variant)) if not name.startswith("__") else None
        if found is not None:
            return found
    unsupported: Callable[..., Any] = missing("torch._decomp.decompositions", name)
    return unsupported
