"""Hooks that average gradients, as they are or in a dtype of two bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import bfloat16, distributed, float16

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _averaged(tensor: Any, group: Any, end: Callable[[Any], Any]) -> Any:
    """A future of ``end(the mean over the group)``; the tensor is overwritten."""
    tensor.div_(distributed.get_world_size(group))
    work: Any = distributed.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: end(future.value()[0]))


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the group, as without a hook. Gives a future of the bucket's new values."""
    return _averaged(bucket.buffer(), process_group, lambda mean: mean)


def _compressed(dtype: Any, group: Any, bucket: Any) -> Any:
    whole = bucket.buffer()
    return _averaged(whole.to(dtype, copy=True), group, whole.copy_)


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the group, sent and added as float16."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the group, sent and added as bfloat16."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapped(hook: Callable[[Any, Any], Any], dtype: Any, name: str) -> Callable[[Any, Any], Any]:
    def wrapper(state: Any, bucket: Any) -> Any:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))

        def widened(future: Any) -> Any:
            value = future.value()
            return whole.copy_(value[0] if isinstance(value, (list, tuple)) else value)

        return hook(state, bucket).then(widened)

    wrapper.__name__ = name
    return wrapper


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The hook, given gradients in float16; its result is cast back."""
    return _wrapped(hook, float16, "fp16_compress_wrapper_hook")


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The hook, given gradients in bfloat16; its result is cast back."""
    return _wrapped(hook, bfloat16, "bf16_compress_wrapper_hook")
