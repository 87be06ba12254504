"""Moving, casting and switching of modules: ``to``, ``cuda``, ``half``, ``train``, ``requires_grad_``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shim_torch.__future__ import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.parts import PartsMixin
from shim_torch._impl.tensor.parse_to import parse_to
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn.parameter import Parameter
from shim_torch.utils import swap_tensors

if TYPE_CHECKING:
    from typing_extensions import Self

Tensor = _core.Tensor


def _fits(param: Any, moved: Any) -> bool:
    """Whether ``param`` can take ``moved`` as its data."""
    if param is moved:
        return True
    if param.is_meta or moved.is_meta:
        return (param.layout, param.dtype, param.device) == (moved.layout, moved.dtype, moved.device)
    return param.layout == moved.layout


def _holds(tensor: Any) -> bool:
    """Whether a tensor's values are in other tensors: those of DTensor, and of classes that say so."""
    return hasattr(tensor, "_local_tensor") or hasattr(tensor, "__tensor_flatten__")


def _converted(module: Any, name: str, param: Any, fn: Callable[[Tensor], Tensor]) -> Any:
    """``param`` with ``fn`` applied to its data and gradient; a new parameter where it cannot be changed in place."""
    moved, grad = fn(param), param.grad
    # What holds other tensors has no data of its own to be set.
    swap = get_swap_module_params_on_conversion() or (moved is not param and _holds(param) and _holds(moved))
    if not swap and not get_overwrite_module_params_on_conversion() and _fits(param, moved):
        if moved is not param:  # mostly ``fn`` returns its argument
            param.data = moved
        if grad is not None:
            grad.data = fn(grad)
        return param
    made = Parameter(moved, param.requires_grad)
    if swap:
        param.grad = None  # a tensor with weak references cannot be swapped
        try:
            swap_tensors(param, made)
        except Exception as error:
            param.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {type(module).__name__}.{name}") from error
        made = param
    if grad is not None:
        moved = fn(grad).requires_grad_(grad.requires_grad)
        if swap and moved is not grad:
            swap_tensors(grad, moved)
            moved = grad
        made.grad = moved
    return made


def _check_dtype(dtype: Any) -> None:
    """TypeError for dtypes that parameters cannot have; warns for complex ones."""
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
            "as expected.",
            stacklevel=3,
        )
    elif not dtype.is_floating_point:
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")


class ConversionMixin(PartsMixin):
    """Changes all parameters and buffers of a module and those below, in place."""

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Calls ``fn`` on every sub-module and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        for module in self.children() if recurse else ():
            module._apply(fn)
        params, buffers = self._parameters, self._buffers
        if params:
            with no_grad():
                params.update([(name, _converted(self, name, p, fn)) for name, p in params.items() if p is not None])
        if buffers:
            buffers.update([(name, fn(b)) for name, b in buffers.items() if b is not None])
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers in place: to(device), to(dtype), to(tensor), memory_format=.

        Errors: TypeError for an integer dtype, RuntimeError for ``copy``, NotImplementedError from meta elsewhere.
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if kwargs.get("copy"):
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None:
            _check_dtype(dtype)
        order = {} if memory_format is None else {"memory_format": memory_format}

        def convert(t: Tensor) -> Tensor:
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            cast = dtype if t.is_floating_point() or t.is_complex() else None
            if order and t.dim() in (4, 5):
                return t.to(device, cast, non_blocking, **order)
            return t.to(device, cast, non_blocking)

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
