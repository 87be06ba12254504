"""Operators that do the same to the data and to the mask: views, joins, indexing."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.masked.maskedtensor.core import _map_mt_args_kwargs, _wrap_result

__all__: list[str] = []

_NAMES = """select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat unsqueeze
unfold unfold_backward im2col col2im stack""".split()
PASSTHROUGH_FNS = [getattr(torch.ops.aten, name) for name in _NAMES if hasattr(torch.ops.aten, name)]


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
