"""Results without data, for meta tensors: from a record's rules, or from its body on arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl import arrays as array_libraries
from shim_torch._impl.native import _core
from shim_torch._impl.table.plan import WIDER, Plan, body_call, tensors_of
from shim_torch._impl.table.results import empty_result, pick, results
from shim_torch._impl.table.rules import no_meta_kernel

TensorBase = _core.TensorBase


def meta_results(plan: Plan, bound: tuple[Any, ...], shape: Any, compute: Any, dtype: Any, device: Any) -> Any:
    """Results without data: from the rules, or from the body's answer on arrays without memory."""
    if plan.results and plan.results[0] != "Tensor" and plan.results != ("list",):
        raise NotImplementedError(f"{plan.record.key}: a Python value needs data, which meta tensors do not have")
    if shape is None:
        return _inferred(plan, bound, compute, dtype, device)
    if plan.results == ("list",):
        return [_core.empty_raw(tuple(s), pick(dtype, i), device) for i, s in enumerate(shape)]
    first = next((a for a in bound if isinstance(a, TensorBase)), None)
    if len(plan.results) == 1:
        if isinstance(shape, list) and shape and not isinstance(shape[0], int):
            shape = shape[0]
        if plan.pointwise and plan.format_of(bound) in (None, _core.preserve_format):
            return _core.empty_like_all(tuple(shape), tensors_of(bound), _known(plan, dtype, first), device)
        made = empty_result(plan, 0, bound, shape, _known(plan, dtype, first), device)
        wanted = plan.format_of(bound)
        if wanted in (_core.channels_last, _core.channels_last_3d):
            made = _core.permute(
                _core.empty_raw((shape[0], *shape[2:], shape[1]), made.dtype, device), _last(len(shape))
            )
        return made
    sizes = shape if isinstance(shape, list) else [shape] * len(plan.results)
    if plan.pointwise:
        like = tensors_of(bound)
        return tuple(
            _core.empty_like_all(tuple(s), like, _known(plan, pick(dtype, i), first), device)
            for i, s in enumerate(sizes)
        )
    return tuple(
        empty_result(plan, i, bound, s, _known(plan, pick(dtype, i), first), device) for i, s in enumerate(sizes)
    )


def _last(n: int) -> tuple[int, ...]:
    """From channels last in memory to the order of names."""
    return (0, n - 1, *range(1, n - 1))


def _known(plan: Plan, dtype: Any, first: Any) -> Any:
    if dtype is not None:
        return dtype
    if first is None:
        return _core.get_default_dtype()
    return first.dtype


def _inferred(plan: Plan, bound: tuple[Any, ...], compute: Any, dtype: Any, device: Any) -> Any:
    if "dynamic_shape" in plan.record.traits:  # arrays without memory tell nothing
        name = plan.record.key.partition("::")[2]
        if name == "repeat_interleave.Tensor":
            size = bound[1]
            if size is None:
                raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
            return _core.empty_raw((size,), bound[0].dtype, device)
        raise no_meta_kernel("unique_consecutive" if name == "_unique_consecutive" else name)
    host = array_libraries.of_type("cpu")
    wide = WIDER.get(compute, compute)
    tensors = tensors_of(bound)

    def stand_in(i: int, a: Any) -> Any:
        if isinstance(a, TensorBase):
            own = a.dtype if plan.keep[i] else wide if wide is not None else WIDER.get(a.dtype, a.dtype)
            return host.dummy(a.shape, own)
        if type(a) is list:
            return [stand_in(i, v) for v in a]
        return a

    arrays = [stand_in(i, a) if plan.tensor_place[i] else a for i, a in enumerate(bound)]
    with np.errstate(all="ignore"):
        value = body_call(plan)(host.xp(), *arrays)
    real = results(plan, value, None, dtype, bound, tensors, arrays, host)
    if isinstance(real, TensorBase):
        return _core.empty_raw(tuple(real.shape), real.dtype, device)
    kind = type(real)
    return kind(_core.empty_raw(tuple(t.shape), t.dtype, device) for t in real)
