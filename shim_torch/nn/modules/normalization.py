"""Normalisation over features: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import shim_torch
from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.building import fill_affine, make_parameters
from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(Module):
    """(x - mean) / √(var + eps) · weight + bias over the last dims ``normalized_shape``."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = self.normalized_shape if elementwise_affine else None
        make_parameters(self, device, dtype, weight=weight, bias=weight if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight one, bias zero."""
        fill_affine(self)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / √(mean(x²) + eps) · weight over the last dims ``normalized_shape``; eps None is the dtype's epsilon."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        make_parameters(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight one."""
        fill_affine(self)

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalisation over groups of channels: input (N, C, *)."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        weight = (num_channels,) if affine else None
        make_parameters(self, device, dtype, weight=weight, bias=weight if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight one, bias zero."""
        fill_affine(self)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Normalisation over neighbouring channels."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Any) -> Any:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Normalisation over neighbouring channels of (N, C, H, W), as many before as after."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Any) -> Any:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = int((self.size - 1) / 2)
        squares = F.pad(input * input, (0, 0, 0, 0, reach, reach))
        total = squares.unfold(1, 2 * reach + 1, 1).sum(-1)
        if reach + 1 < input.size(1):  # as PyTorch has it, the first channel never leaves the window
            first = squares[:, reach : reach + 1]
            total = total + F.pad(first.expand(-1, input.size(1) - reach - 1, -1, -1), (0, 0, 0, 0, reach + 1, 0))
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _NormBase(Module):
    """Batch and instance normalisation: affine parameters and running statistics."""

    _version = 2
    _dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats

        weight = (num_features,) if affine else None
        make_parameters(self, device, dtype, weight=weight, bias=weight if bias else None)
        shape = (num_features,)
        shapes: dict[str, Any] = {"running_mean": shape, "running_var": shape, "num_batches_tracked": ()}
        for name, shape in shapes.items():
            kind = dtype if shape else _core.int64
            made = shim_torch.empty(shape, dtype=kind, device=device) if track_running_stats else None
            self.register_buffer(name, made)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean zero, variance one, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Resets the statistics; weight one, bias zero."""
        self.reset_running_stats()
        fill_affine(self)

    def _check_input_dim(self, input: Any) -> None:
        if self._dims and input.dim() not in self._dims:
            wanted = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def _update_state_of_old_version(
        self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]
    ) -> None:
        counts = self.track_running_stats and (version or 0) < 2  # before version 2, batches were not counted
        if counts and prefix + "num_batches_tracked" not in state_dict:
            own = self.num_batches_tracked
            known = own is not None and not own.is_meta
            state_dict[prefix + "num_batches_tracked"] = own if known else shim_torch.zeros((), dtype=_core.int64)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        training, momentum = self.training, self.momentum
        mean, var = self.running_mean, self.running_var
        by_batch = training or (mean is None and var is None)
        if training and not self.track_running_stats:
            mean = var = None  # those that were kept once stay as they are
        elif training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the plain mean over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum or 0.0, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation across processes; one process here."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with its batch norms as ``SyncBatchNorm``, which keep parameters, statistics and mode."""
        made = module
        if isinstance(module, _BatchNorm):
            settings = ("num_features", "eps", "momentum", "affine", "track_running_stats")
            made = SyncBatchNorm(**{name: getattr(module, name) for name in settings}, process_group=process_group)
            kept = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"]
            for name in [*kept, "qconfig"] if hasattr(module, "qconfig") else kept:
                setattr(made, name, getattr(module, name))
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _update_state_of_old_version(
        self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]
    ) -> None:
        statistics = [prefix + "running_mean", prefix + "running_var"]
        found = [key for key in statistics if key in state_dict]
        if found and version is None and not self.track_running_stats:
            names, kind = " and ".join(f'"{key}"' for key in found), type(self).__name__
            error_msgs.append(
                f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If state_dict "
                f"is a checkpoint saved before 0.4.0, this may be expected because {kind} does not track running "
                "stats by default since 0.4.0. Please remove these keys from state_dict. If the running stats are "
                f"actually needed, instead set track_running_stats=True in {kind} to enable them. See the "
                f"documentation of {kind} for details."
            )
            for key in found:
                del state_dict[key]
        super()._update_state_of_old_version(state_dict, prefix, version, error_msgs)

    def _get_no_batch_dim(self) -> int:
        return min(self._dims)

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        dim = input.dim() - self._get_no_batch_dim()
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                    f"but got: {input.size(dim)}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        batched = input.dim() == max(self._dims)
        x = input if batched else input.unsqueeze(0)
        y = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return y if batched else y.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L)."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W)."""

    _dims = (4, 5)
