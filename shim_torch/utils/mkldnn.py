"""``torch.utils.mkldnn``: modules with weights in oneDNN's layout, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_ONEDNN, names

globals().update(
    names(
        "torch.utils.mkldnn",
        NO_ONEDNN,
        """
        to_mkldnn MkldnnLinear MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnBatchNorm MkldnnPrelu
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.utils.mkldnn", name)
