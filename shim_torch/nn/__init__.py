"""``torch.nn``: layers, parameters and their functions."""

from typing import Any

from shim_torch.nn import functional, init, modules, parameter, utils
from shim_torch.nn.modules import *  # noqa: F403
from shim_torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Device, dtype and memory_format of a layer's keyword arguments, be they given plainly or in ``factory_kwargs``.

    Errors: TypeError for other arguments, and for one that is given in both ways.
    """
    plain = dict(kwargs or {})
    nested = plain.pop("factory_kwargs", {})
    if unknown := plain.keys() - {"device", "dtype", "memory_format"}:
        raise TypeError(f"unexpected kwargs {unknown}")
    for name in plain.keys() & nested.keys():
        raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
    return {**nested, **plain}


def __getattr__(name: str) -> Any:
    if name in ("attention", "parallel", "grad", "_reduction", "quantized", "intrinsic", "qat", "common_types"):
        import importlib

        try:
            return importlib.import_module(f"shim_torch.nn.{name}")
        except ModuleNotFoundError:
            pass
    if name == "DataParallel":
        from shim_torch.nn.parallel.data_parallel import DataParallel

        return DataParallel
    if name == "LinearCrossEntropyOptions":
        from shim_torch.nn import modules

        return modules.LinearCrossEntropyOptions
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn", name)
