"""Normalisation over a batch: BatchNorm, SyncBatchNorm, and the base that instance normalisation shares."""

from __future__ import annotations

from typing import Any

import shim_torch
from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.building import fill_affine, make_parameters
from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module


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

    def forward(self, input: Any) -> Any:
        """(N, C, ...) -> the same shape. Errors: ValueError for a CPU's tensor in training within a process group, as in PyTorch."""
        if self.training:
            from shim_torch._impl.distributed.checks import one_process_only
            from shim_torch._impl.distributed.groups import GroupMember

            if GroupMember.WORLD is not None and input.device.type == "cpu":
                raise ValueError("SyncBatchNorm expected input tensor to be on GPU or XPU or privateuseone")
            one_process_only("torch.nn.SyncBatchNorm", self.process_group)
        return super().forward(input)

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
