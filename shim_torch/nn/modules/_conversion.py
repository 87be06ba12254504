"""Moving, casting and switching of modules: ``to``, ``cuda``, ``half``, ``train``, ``requires_grad_``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from native import _core
from shim_torch.__future__ import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from shim_torch._parse_to import parse_to
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn.modules._parts import PartsMixin
from shim_torch.nn.parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

Tensor = _core.Tensor


class ConversionMixin(PartsMixin):
    """Changes all parameters and buffers of a module and those below, in place."""

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Calls ``fn`` on every sub-module and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                moved = fn(param)
                if get_swap_module_params_on_conversion():
                    self._swap_in(name, param, moved, fn)
                    continue
                if not get_overwrite_module_params_on_conversion() and moved.layout == param.layout and (
                    moved.dtype == param.dtype
                    and moved.device == param.device
                    or not param.is_meta
                    and not moved.is_meta
                ):
                    param.data = moved
                else:
                    grad, param = param.grad, Parameter(moved, param.requires_grad)
                    self._parameters[name] = param
                    if grad is not None:
                        param.grad = fn(grad).requires_grad_(grad.requires_grad)
                    continue
                if param.grad is not None:
                    param.grad.data = fn(param.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap_in(self, name: str, param: Any, moved: Any, fn: Callable[[Tensor], Tensor]) -> None:
        """Gives a parameter, and its gradient, their converted content. Errors: RuntimeError where they can't be swapped."""
        from shim_torch.utils import swap_tensors

        grad, param.grad = param.grad, None
        try:
            swap_tensors(param, Parameter(moved, param.requires_grad))
        except Exception as error:
            param.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error
        if grad is not None:
            param.grad = fn(grad).requires_grad_(grad.requires_grad)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers in place: to(device), to(dtype), to(tensor), memory_format=."""
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if kwargs.get("copy"):
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
                "as expected.",
                stacklevel=2,
            )

        def convert(t: Tensor) -> Tensor:
            target = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, target, non_blocking, memory_format=memory_format)
            return t.to(device, target, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves to a device without keeping the values."""
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse)

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to the GPU."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def _cast_floating(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Casts floating parameters and buffers to float32."""
        return self._cast_floating(_core.float32)

    def double(self) -> Self:
        """Casts floating parameters and buffers to float64."""
        return self._cast_floating(_core.float64)

    def half(self) -> Self:
        """Casts floating parameters and buffers to float16."""
        return self._cast_floating(_core.float16)

    def bfloat16(self) -> Self:
        """Casts floating parameters and buffers to bfloat16."""
        return self._cast_floating(_core.bfloat16)

    def train(self, mode: bool = True) -> Self:
        """Sets training mode on this module and all below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets ``requires_grad`` of all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters."""
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

    def share_memory(self) -> Self:
        """Moves parameters and buffers to memory that processes share."""
        return self._apply(lambda t: t.share_memory_())
