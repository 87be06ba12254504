"""``torch.nn.utils.stateless``: the older place of ``torch.func.functional_call``."""

from __future__ import annotations

from typing import Any

__all__ = ["functional_call"]


def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Any], tie_weights: bool = False, strict: bool = False,
    stack_weights: bool = False,
) -> Any:  # fmt: skip
    """A context within which a module has other parameters and buffers, by full name."""
    from shim_torch._impl.transforms.stateless import _replaced

    return _replaced(module, parameters_and_buffers, tie_weights, strict)


def functional_call(
    module: Any, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """Calls a module with other parameters and buffers; deprecated in favour of ``torch.func.functional_call``."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Any, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    from shim_torch.func import functional_call as call

    return call(
        module, parameters_and_buffers, () if args is None else args, kwargs, tie_weights=tie_weights, strict=strict
    )
