"""Runs the body of a kernel record: rules, arrays in, body, tensors out. Never sees autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shim_torch._impl import arrays as array_libraries
from shim_torch._impl.cuda import need_device
from shim_torch._impl.native import _core
from shim_torch._impl.table.plan import WIDER, Plan, body_call, tensors_of
from shim_torch._impl.table.record import Record
from shim_torch._impl.table.results import results

TensorBase = _core.TensorBase


def make_run(record: Record) -> Callable[..., Any]:
    """The callable of the operator table for a kernel record: bound arguments in schema order to result.

    Tensors on the CPU are seen to natively (native/src/python/bind_body.cpp) in the steps that ``execute`` takes here for
    the other devices, and for whatever is out of the ordinary.
    """
    run: Callable[..., Any] = _core.body_runner(
        lambda: Plan(record), execute, finish, array_libraries.numpy_arrays.scalar
    )
    return run


def finish(plan: Plan, value: Any, shape: Any, dtype: Any, bound: tuple[Any, ...], arrays: list[Any]) -> Any:
    """The results of a body that ran on CPU arrays, where they need more than being adopted."""
    return results(plan, value, shape, dtype, bound, tensors_of(bound), arrays, array_libraries.of_type("cpu"))


def device_for(plan: Plan, bound: tuple[Any, ...], tensors: list[Any]) -> Any:
    """Where the result lives: ``device=``, else with the tensors; 0-d CPU tensors follow the others."""
    if plan.device_at >= 0 and bound[plan.device_at] is not None:
        return bound[plan.device_at]
    if not tensors:
        return _core.device("cpu")
    first = tensors[0].device
    if first.type == "cpu":
        for t in tensors:
            if t.device.type != "cpu":
                return t.device
    return first


def execute(plan: Plan, bound: tuple[Any, ...]) -> Any:
    """One call of the body, or of the rules alone for meta tensors."""
    tensors = tensors_of(bound)
    device = device_for(plan, bound, tensors)
    shape = plan.shape(bound) if plan.shape is not None else None
    rule = plan.dtype(bound) if plan.dtype is not None else None
    compute, result = rule if isinstance(rule, tuple) else (rule, rule)
    where = device.type
    if where == "meta" or (where != "cpu" and where != "cuda"):
        from shim_torch._impl.table.meta import meta_results

        return meta_results(plan, bound, shape, compute, result, device)
    if where == "cuda" and not tensors:
        need_device()
    backend = array_libraries.of_type(where)
    if where == "cuda":
        try:
            return _compute(plan, bound, shape, compute, result, tensors, backend)
        except (NotImplementedError, TypeError, AttributeError) as error:
            if not backend.lacks(error):
                raise
            return _on_host(plan, bound, device, error)
    return _compute(plan, bound, shape, compute, result, tensors, backend)


def _compute(
    plan: Plan, bound: tuple[Any, ...], shape: Any, compute: Any, result: Any, tensors: list[Any], backend: Any
) -> Any:
    wide = WIDER.get(compute, compute)
    arrays = [
        a if a is None else _argument(plan, i, a, wide, backend) if plan.tensor_place[i] else a
        for i, a in enumerate(bound)
    ]
    with np.errstate(all="ignore"):
        value = _core.call_aligned(body_call(plan), backend.xp(), *arrays)
    return results(plan, value, shape, result, bound, tensors, arrays, backend)


def _on_host(plan: Plan, bound: tuple[Any, ...], device: Any, error: Exception) -> Any:
    """What CuPy has no function for is computed with NumPy and carried back: right, slow and counted."""
    from shim_torch._impl.cuda import graphs

    if graphs.is_current_stream_capturing():
        raise NotImplementedError(
            f"{plan.record.key} has no CUDA kernel for these arguments ({error}) and cannot run on the host while a CUDA "
            "graph is captured"
        ) from error
    array_libraries.counters[f"on the host: {plan.record.key}"] += 1
    cpu = _core.device("cpu")
    places = [cpu if i == plan.device_at and a is not None else _moved(a, cpu) for i, a in enumerate(bound)]
    return _moved(execute(plan, tuple(places)), device)


def _moved(value: Any, device: Any) -> Any:
    """Tensors of a result or argument on another device, without history."""
    if isinstance(value, TensorBase):
        if value.device == device:
            return value
        made = _core.empty_raw(tuple(value.shape), value.dtype, device)
        _core.copy_raw(made, value)
        return made
    if type(value) in (list, tuple):
        return type(value)(_moved(v, device) for v in value)
    return value


def _argument(plan: Plan, i: int, value: Any, wide: Any, backend: Any) -> Any:
    if isinstance(value, TensorBase):
        if plan.keep[i]:
            return backend.asarray(value, _core.complex64 if value.dtype == _core.complex32 else None)
        return backend.asarray(value, wide if wide is not None else WIDER.get(value.dtype))
    if type(value) is list:
        return [None if v is None else _argument(plan, i, v, wide, backend) for v in value]
    if wide is None:
        return value
    return backend.scalar(value, wide)
