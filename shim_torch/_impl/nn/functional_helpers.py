"""Private names of ``torch.nn.functional`` that code outside of PyTorch imports: shapes, masks and projections of attention."""

from __future__ import annotations

import math
import warnings
from typing import Any, Optional

from shim_torch._impl.native import _core
from shim_torch._impl.nn import attention
from shim_torch._impl.table.calls import aten
from shim_torch.nn import _reduction
from shim_torch.nn import grad as grad
from shim_torch.nn.modules.utils import _list_with_default as _list_with_default
from shim_torch.nn.modules.utils import _pair as _pair
from shim_torch.nn.modules.utils import _single as _single
from shim_torch.nn.modules.utils import _triple as _triple

Tensor = _core.Tensor
DType = int
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
_Reduction = _reduction
__all__ = ["Optional", "math", "warnings"]


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Any:
    """The mask as floats to add: -inf where a bool mask is True; None stays None."""
    if mask is None:
        return None
    if mask.dtype != _core.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    return attention._mask(mask, mask_name, None, other_name, target_type, False)


def _none_or_dtype(input: Any) -> Any:
    """A tensor's dtype, or None for None."""
    if input is None:
        return None
    if isinstance(input, _core.TensorBase):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _check_key_padding_mask(key_padding_mask: Any, src_len: int, bsz: int) -> None:
    if key_padding_mask.shape[0] != bsz:
        raise AssertionError(f"Expected key_padded_mask.shape[0] to be {bsz}, but got {key_padding_mask.shape[0]}")
    if key_padding_mask.shape[1] != src_len:
        raise AssertionError(f"Expected key_padded_mask.shape[1] to be {src_len}, but got {key_padding_mask.shape[1]}")


def _mha_shape_check(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether attention's inputs have a batch dim; AssertionError for shapes that do not fit."""
    return attention._check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """Queries, keys and values by one weight (3E, E)."""
    return list(attention._projected(q, k, v, None, w, b))


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, Any, Any]:
    """Queries, keys and values, each by a weight of its own."""
    width, keys, values = q.size(-1), k.size(-1), v.size(-1)
    for what, w, shape in (
        ("query", w_q, (width, width)),
        ("key", w_k, (width, keys)),
        ("value", w_v, (width, values)),
    ):
        if tuple(w.shape) != shape:
            raise AssertionError(f"expecting {what} weights shape of {shape}, but got {w.shape}")
    for what, b in (("query", b_q), ("key", b_k), ("value", b_v)):
        if b is not None and tuple(b.shape) != (width,):
            raise AssertionError(f"expecting {what} bias shape of {(width,)}, but got {b.shape}")
    from shim_torch.nn import functional

    linear: Any = functional.linear
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _verify_batch_size(size: Any) -> None:
    """ValueError where a channel has one value only."""
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Any) -> None:
    """ValueError where a channel of a sample has one value only."""
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def _unpool_output_size(input: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    """The output size of unpooling; ValueError unless a given one is within a stride of the default."""
    from shim_torch._impl.nn.pooling import _unpool_size

    return _unpool_size(input, kernel_size, stride, padding, output_size)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The implicit dim of softmax where ``dim`` is None (0 or 1 by the number of dims); warns."""
    from shim_torch._impl.nn.activations import _softmax_dim

    return _softmax_dim(name, ndim)


def _no_grad_embedding_renorm_(weight: Any, input: Any, max_norm: float, norm_type: float) -> Any:
    aten.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """AssertionError unless an int or a pair."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: str, func_name: str
) -> Any:
    """A function that calls one of two by the value of a bool argument."""

    def run(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    run.__name__, run.__module__ = func_name, module_name
    return run
