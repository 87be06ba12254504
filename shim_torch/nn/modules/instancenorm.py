"""Normalisation of each channel of each sample: InstanceNorm."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.batchnorm import _NormBase


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
