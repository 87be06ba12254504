"""Operators that do the same to the data and to the mask: views, joins, indexing."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.masked.maskedtensor.core import _map_mt_args_kwargs, _wrap_result

__all__: list[str] = []

_aten = torch.ops.aten
PASSTHROUGH_FNS = [
    _aten.select,
    _aten.transpose,
    _aten.split,
    _aten.t,
    _aten.slice,
    _aten.slice_backward,
    _aten.select_backward,
    _aten.index,
    _aten.expand,
    _aten.view,
    _aten._unsafe_view,
    _aten._reshape_alias,
    _aten.cat,
    _aten.unsqueeze,
    _aten.unfold,
    _aten.unfold_backward,
    _aten.im2col,
    _aten.col2im,
    _aten.stack,
]


def _is_pass_through_fn(fn: Any) -> bool:
    return fn in PASSTHROUGH_FNS


def _apply_pass_through_fn(fn: Any, *args: Any, **kwargs: Any) -> Any:
    of_data, of_mask = (
        fn(*a, **k)
        for a, k in (
            _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_data),
            _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_mask),
        )
    )
    return _wrap_result(of_data, of_mask)
