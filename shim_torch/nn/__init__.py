"""``torch.nn``: layers, parameters and their functions."""

from typing import Any

from shim_torch.nn import functional, init, modules, parameter, utils
from shim_torch.nn.modules import *  # noqa: F403
from shim_torch.nn.modules import Module
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


class DataParallel(Module):
    """Runs the module on its one device; with several device_ids it refuses."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError("torch.nn.DataParallel: several devices are not supported by shim-torch")
        self.module, self.device_ids, self.output_device, self.dim = module, device_ids or [], output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result: there is one device, so no batch is split."""
        return self.module(*inputs, **kwargs)


def __getattr__(name: str) -> Any:
    if name in ("attention", "parallel", "grad", "_reduction", "quantized", "intrinsic", "qat", "common_types"):
        import importlib

        try:
            return importlib.import_module(f"shim_torch.nn.{name}")
        except ModuleNotFoundError:
            pass
    if name == "LinearCrossEntropyOptions":
        from shim_torch.nn import modules

        return modules.LinearCrossEntropyOptions
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn", name)
