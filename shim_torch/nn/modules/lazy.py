"""``torch.nn.modules.lazy``: layers whose parameters get their shapes from the first input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import shim_torch
from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.state import own_state
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn.modules import batchnorm, conv, instancenorm, linear
from shim_torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


def _without_shape(module: Any) -> Iterator[tuple[str, Any]]:
    """The parameters and buffers of a module whose shapes are not known yet, by name."""
    return (pair for pair in chain(module._parameters.items(), module._buffers.items()) if is_lazy(pair[1]))


def _settle(layer: Any, **shapes: tuple[int, ...]) -> None:
    """Gives parameters and buffers of these names a shape, if they have none yet, and draws their values."""
    with no_grad():
        for name, value in list(_without_shape(layer)):
            if name in shapes:
                value.materialize(shapes[name])
        layer.reset_parameters()


class LazyModuleMixin:
    """The base of lazy layers: ``initialize_parameters`` runs once, before the first forward, with its arguments.

    After that the layer is of the class ``cls_to_become``. It mixes into a Module, before it.
    """

    cls_to_become: Any = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: Any = self
        self._load_hook = own._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = own.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, value in own_state(self).items():  # without a shape it cannot be detached: it is saved as it is
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(self, state_dict: Mapping[str, Any], prefix: str, *_: Any) -> None:
        for name, value in _without_shape(self):
            given = state_dict.get(prefix + name)
            if given is not None and not is_lazy(given):
                with no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes, by those of the first input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or a buffer has no shape yet."""
        return any(True for _ in _without_shape(self))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to correctly "
            "initialize the modules"
        )


class LazyLinear(LazyModuleMixin, linear.Linear):
    """A Linear whose in_features is the last dim of the first input."""

    cls_to_become = linear.Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new values once the weight has a shape; before that, does nothing."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Gives the weight the shape (out_features, size of the input's last dim), and draws its values."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            _settle(self, weight=(self.out_features, self.in_features), bias=(self.out_features,))
        self.in_features = self.in_features or self.weight.shape[1]  # its shape was loaded


class _LazyConv(LazyModuleMixin):
    in_channels: int
    out_channels: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def _start(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            ways = (self.out_channels, self.in_channels)
            first, second = reversed(ways) if self.transposed else ways
            _settle(self, weight=(first, second // self.groups, *self.kernel_size), bias=(self.out_channels,))

    def _get_num_spatial_dims(self) -> int:
        return self._dims  # type: ignore[attr-defined]

    def _get_in_channels(self, input: Any) -> int:
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {input.shape}"
            )
        return input.shape[1] if input.dim() == dims + 2 else input.shape[0]


class _LazyConvForward(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        # The bias is made below; at least a group of channels, so that the layer's own checks pass.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._start(out_channels, bias, device, dtype)


class _LazyConvTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._start(out_channels, bias, device, dtype)


class _LazyNorm(LazyModuleMixin):
    affine: bool
    track_running_stats: bool
    num_features: int
    weight: Any
    bias: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: Any = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if self.affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None
        if self.track_running_stats:
            own: Any = self
            own.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            own.running_var = UninitializedBuffer(device=device, dtype=dtype)
            own.num_batches_tracked = shim_torch.empty((), dtype=_core.int64, device=device).zero_()

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = self._features(input)
        names = ("weight", "bias", "running_mean", "running_var")
        _settle(self, **dict.fromkeys(names, (self.num_features,)))

    def _features(self, input: Any) -> int:
        return input.shape[1]


class _LazyInstanceNorm(_LazyNorm):
    def _features(self, input: Any) -> int:
        dims = self._dims  # type: ignore[attr-defined]
        if input.dim() not in dims:
            self._check_input_dim(input)  # type: ignore[attr-defined]
        return input.shape[1] if input.dim() == max(dims) else input.shape[0]


def _lazy(mixin: type[Any], base: type[Any]) -> type[Any]:
    """The lazy form of a layer."""
    doc = f"A {base.__name__} that takes the number of its channels from the first input."
    return type(f"Lazy{base.__name__}", (mixin, base), {"cls_to_become": base, "__doc__": doc, "__module__": __name__})


LazyConv1d = _lazy(_LazyConvForward, conv.Conv1d)
LazyConv2d = _lazy(_LazyConvForward, conv.Conv2d)
LazyConv3d = _lazy(_LazyConvForward, conv.Conv3d)
LazyConvTranspose1d = _lazy(_LazyConvTransposed, conv.ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyConvTransposed, conv.ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyConvTransposed, conv.ConvTranspose3d)
LazyBatchNorm1d = _lazy(_LazyNorm, batchnorm.BatchNorm1d)
LazyBatchNorm2d = _lazy(_LazyNorm, batchnorm.BatchNorm2d)
LazyBatchNorm3d = _lazy(_LazyNorm, batchnorm.BatchNorm3d)
LazyInstanceNorm1d = _lazy(_LazyInstanceNorm, instancenorm.InstanceNorm1d)
LazyInstanceNorm2d = _lazy(_LazyInstanceNorm, instancenorm.InstanceNorm2d)
LazyInstanceNorm3d = _lazy(_LazyInstanceNorm, instancenorm.InstanceNorm3d)

for _class in list(vars().values()):  # PyTorch keeps each beside its plain layer
    if isinstance(_class, type) and _class.__name__.startswith("Lazy") and getattr(_class, "cls_to_become", None):
        _plain = _class.__name__.removeprefix("Lazy")
        _home = next(m for m in (conv, linear, batchnorm, instancenorm) if _plain in vars(m))
        setattr(_home, _class.__name__, _class)
