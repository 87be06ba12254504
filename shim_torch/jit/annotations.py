"""``torch.jit.annotations``: types that TorchScript reads; to Python they say nothing."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 (libraries import them from here)

__all__ = ["Any", "BroadcastingListCls", "Dict", "List", "Optional", "Tuple", "Union"]


class BroadcastingListCls:
    """``BroadcastingList2[int]``: one number or a list of two."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1
