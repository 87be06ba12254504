"""``torch._functorch.deprecated``: the functions of ``functorch``, which name their heirs when called."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from shim_torch import func
from shim_torch._functorch import make_functional as _modules

_HEIRS = {
    "vmap": "torch.vmap",
    "make_functional": "torch.func.functional_call",
    "make_functional_with_buffers": "torch.func.functional_call",
    "combine_state_for_ensemble": "torch.func.stack_module_state",
}


def _deprecated(name: str) -> Any:
    target = getattr(func, name, None) or getattr(_modules, name)

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated "
            "as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
            f"`{_HEIRS.get(name, f'torch.func.{name}')}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` "
            "migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return target(*args, **kwargs)

    return call


vmap = _deprecated("vmap")
grad = _deprecated("grad")
grad_and_value = _deprecated("grad_and_value")
vjp = _deprecated("vjp")
jvp = _deprecated("jvp")
jacrev = _deprecated("jacrev")
jacfwd = _deprecated("jacfwd")
hessian = _deprecated("hessian")
functionalize = _deprecated("functionalize")
make_functional = _deprecated("make_functional")
make_functional_with_buffers = _deprecated("make_functional_with_buffers")
combine_state_for_ensemble = _deprecated("combine_state_for_ensemble")
