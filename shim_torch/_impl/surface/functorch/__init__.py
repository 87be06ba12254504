"""``functorch``, the top-level package that comes with PyTorch: the function transforms by their first names."""

from __future__ import annotations

from typing import Any

from shim_torch import __version__ as __version__
from shim_torch._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from shim_torch._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    if name == "make_fx":
        from shim_torch.fx.experimental.proxy_tensor import make_fx

        return make_fx
    raise AttributeError(f"module 'functorch' has no attribute {name!r}")
