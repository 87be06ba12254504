"""``torch.utils.mkldnn``: modules with weights in oneDNN's layout, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_ONEDNN, declare

__getattr__ = declare(
    globals(),
    NO_ONEDNN,
    """
    to_mkldnn MkldnnLinear MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnBatchNorm MkldnnPrelu
    """,
)
