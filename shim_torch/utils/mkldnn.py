"""``torch.utils.mkldnn``: modules with weights in oneDNN's layout, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_ONEDNN as _NO_ONEDNN
from shim_torch._impl.surface.not_built import declare as _declare

__getattr__ = _declare(
    globals(),
    _NO_ONEDNN,
    """
    to_mkldnn MkldnnLinear MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnBatchNorm MkldnnPrelu
    """,
)
