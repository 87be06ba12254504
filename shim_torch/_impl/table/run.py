"""Runs the body of a kernel record: rules, arrays in, body, tensors out. Never sees autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shim_torch._impl import arrays as array_libraries
from shim_torch._impl.cuda import need_device
from shim_torch._impl.native import _core
from shim_torch._impl.table.record import Record, parameters
from shim_torch._impl.table.rules import no_meta_kernel

TensorBase = _core.TensorBase

# Low-precision dtypes are computed one step up and rounded once, at the end.
WIDER: dict[Any, Any] = {
    _core.float16: _core.float32,
    _core.bfloat16: _core.float32,
    _core.float8_e4m3fn: _core.float32,
    _core.float8_e4m3fnuz: _core.float32,
    _core.float8_e5m2: _core.float32,
    _core.float8_e5m2fnuz: _core.float32,
    _core.complex32: _core.complex64,
}
_KINDS = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c", "V": "f"}


RuleData = tuple[Callable[..., Any], bool, tuple[int, ...]]


class Plan:
    """What running a record needs and can be known before the first call."""

    __slots__ = (
        "record",
        "body",
        "positions",
        "keywords",
        "shape",
        "dtype",
        "shape_rule",
        "dtype_rule",
        "tensor_place",
        "keep",
        "results",
        "pointwise",
        "device_at",
        "format_at",
        "order",
    )

    def __init__(self, record: Record) -> None:
        data = _core.parse_schema_data(record.schema)
        self.record = record
        self.body = record.body
        index = {name: i for i, name in enumerate(record.arguments)}
        names = parameters(record.body)[1:]
        code = getattr(record.body, "__code__", None)
        split = (code.co_argcount - 1) if code is not None else _positional(record.body) - 1
        self.positions = tuple(index[n] for n in names[:split])
        self.keywords = tuple((n, index[n]) for n in names[split:])
        self.tensor_place = tuple(a[8].startswith("Tensor") for a in data[4])
        places = tuple(i for i, is_tensor in enumerate(self.tensor_place) if is_tensor)
        self.shape_rule = _rule_data(record.shape, index)
        self.dtype_rule = _rule_data(record.dtype, index)
        self.shape = _rule(self.shape_rule, places)
        self.dtype = _rule(self.dtype_rule, places)
        self.keep = tuple(n in record.keep for n in record.arguments)
        self.results = tuple(r[8].split("(")[0] if r[8].startswith("Tensor") else r[8] for r in data[5])
        if len(data[5]) == 1 and data[5][0][8].endswith("[]"):
            self.results = ("list",)
        self.pointwise = record.has_operands_shape or getattr(record.shape, "elementwise", False)
        self.device_at = index.get("device", -1)
        self.format_at = index.get("memory_format", -1)
        self.order = _rule(_rule_data(record.order, index), places) if callable(record.order) else record.order

    def order_of(self, i: int, ndim: int, bound: tuple[Any, ...]) -> tuple[int, ...] | None:
        """The dims of result ``i`` from the slowest to the fastest in memory; None where it is contiguous."""
        if self.order is None:
            return None
        wanted = (self.order(bound) if callable(self.order) else self.order)[i]
        if wanted == "columns":
            if ndim < 2:
                return None
            return (*range(ndim - 2), ndim - 1, ndim - 2)
        return tuple(wanted) if wanted is not None else None

    def format_of(self, bound: tuple[Any, ...]) -> Any:
        """The memory format asked for, if any."""
        return bound[self.format_at] if self.format_at >= 0 else None


def _positional(function: Callable[..., Any]) -> int:
    from inspect import Parameter, signature

    return sum(p.kind is not Parameter.KEYWORD_ONLY for p in signature(function).parameters.values())


def _rule_data(rule: Callable[..., Any] | None, index: dict[str, int]) -> RuleData | None:
    """A rule, whether it takes all operands, and else the places of the bound arguments it names."""
    if rule is None:
        return None
    takes_all = getattr(rule, "takes_all", False)
    return rule, takes_all, () if takes_all else tuple(index[n] for n in parameters(rule))


def _rule(data: RuleData | None, places: tuple[int, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """A rule as a function of the bound arguments; one that takes all gets what stands in tensor places."""
    if data is None:
        return None
    rule, takes_all, at = data
    if takes_all:
        return lambda bound: rule(*_operands(bound, places))
    return lambda bound: rule(*[bound[i] for i in at])


def _operands(bound: tuple[Any, ...], places: tuple[int, ...]) -> list[Any]:
    found: list[Any] = []
    for i in places:
        value = bound[i]
        if type(value) is list:
            found += [v for v in value if v is not None]
        elif value is not None:
            found.append(value)
    return found


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
    return _results(plan, value, shape, dtype, bound, tensors_of(bound), arrays, array_libraries.of_type("cpu"))


def tensors_of(bound: tuple[Any, ...]) -> list[Any]:
    """All tensors among the arguments, those in lists too."""
    found = []
    for a in bound:
        if isinstance(a, TensorBase):
            found.append(a)
        elif type(a) is list:
            found += [t for t in a if isinstance(t, TensorBase)]
    return found


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
        return _meta(plan, bound, shape, compute, result, device)
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
        value = _core.call_aligned(_call(plan), backend.xp(), *arrays)
    return _results(plan, value, shape, result, bound, tensors, arrays, backend)


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


def _call(plan: Plan) -> Callable[..., Any]:
    body, positions, keywords = plan.body, plan.positions, plan.keywords

    def call(xp: Any, *arrays: Any) -> Any:
        return body(xp, *[arrays[i] for i in positions], **{n: arrays[i] for n, i in keywords})

    return call


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


def _narrow(tensors: list[Any]) -> Any:
    """The low-precision dtype the inputs share, for records without a dtype rule."""
    for t in tensors:
        if t.dtype in WIDER:
            return t.dtype
    return None


def _results(
    plan: Plan,
    value: Any,
    shape: Any,
    dtype: Any,
    bound: tuple[Any, ...],
    tensors: list[Any],
    inputs: list[Any],
    backend: Any,
) -> Any:
    kinds = plan.results
    if not kinds or value is None:
        return None
    if kinds == ("list",):
        return [
            _one(plan, v, None if shape is None else shape[i], _pick(dtype, i), tensors, inputs, backend)
            for i, v in enumerate(value)
        ]
    if len(kinds) == 1:
        if kinds[0] != "Tensor":
            return value.item() if hasattr(value, "item") else value
        return _ordered(plan, 0, bound, value, shape, dtype, tensors, inputs, backend)
    several = []
    for i, v in enumerate(value):
        if kinds[i] != "Tensor":
            several.append(v.item() if hasattr(v, "item") else v)
            continue
        sizes = None if shape is None else (shape[i] if isinstance(shape, list) else shape)
        several.append(_ordered(plan, i, bound, v, sizes, _pick(dtype, i), tensors, inputs, backend))
    return tuple(several)


def _ordered(plan: Plan, i: int, bound: tuple[Any, ...], value: Any, shape: Any, *rest: Any) -> Any:
    """Result ``i`` as a tensor, with its dims in memory as the record's order says."""
    order = plan.order_of(i, value.ndim, bound) if plan.order is not None and hasattr(value, "ndim") else None
    if order is None:
        return _one(plan, value, shape, *rest)
    sizes = None if shape is None else tuple(shape[d] for d in order)
    return _core.permute(_one(plan, value.transpose(order), sizes, *rest), _inverse(order))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _empty(plan: Plan, i: int, bound: tuple[Any, ...], sizes: Any, dtype: Any, device: Any) -> Any:
    """Memory for result ``i`` of a call without data."""
    order = plan.order_of(i, len(sizes), bound)
    if order is None:
        return _core.empty_raw(tuple(sizes), dtype, device)
    return _core.permute(_core.empty_raw(tuple(sizes[d] for d in order), dtype, device), _inverse(order))


def _pick(dtype: Any, i: int) -> Any:
    return dtype[i] if isinstance(dtype, list) else dtype


def _one(plan: Plan, value: Any, shape: Any, dtype: Any, tensors: list[Any], inputs: list[Any], backend: Any) -> Any:
    if isinstance(value, TensorBase):
        return value
    array = backend.as_result(value)
    if isinstance(shape, list):
        shape = shape[0] if shape and not isinstance(shape[0], int) else tuple(shape)
    if shape is not None and array.shape != tuple(shape):
        raise AssertionError(f"{plan.record.key}: the body gave shape {list(array.shape)}, its rule says {list(shape)}")
    if dtype is None:
        narrow = _narrow(tensors) if array.dtype.kind in "fc" else None
        dtype = narrow if narrow is not None else backend.torch_dtype(array.dtype)
    wanted = backend.dtype_of(WIDER.get(dtype, dtype))
    if array.dtype.kind == "c" and wanted.kind == "f" and not any(t.dtype.is_complex for t in tensors):
        name = "double" if wanted.itemsize == 8 else "float"  # only a number among the arguments made it complex
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    if _KINDS.get(array.dtype.kind) != _KINDS.get(wanted.kind) and array.dtype != backend.dtype_of(dtype):
        raise AssertionError(f"{plan.record.key}: the body gave dtype {array.dtype}, its rule says {dtype}")
    made = backend.wrap(array, dtype, inputs, plan.pointwise)
    return _laid_out(made, tensors) if plan.pointwise and plan.format_at < 0 else made


def _laid_out(made: Any, tensors: list[Any]) -> Any:
    """An elementwise result in the memory order that its operands give it."""
    if all(t.is_contiguous() for t in tensors):
        return made
    wanted = _core.empty_like_all(tuple(made.shape), tensors, made.dtype, made.device)
    if wanted.stride() == made.stride():
        return made
    _core.copy_raw(wanted, made)
    return wanted


def _meta(plan: Plan, bound: tuple[Any, ...], shape: Any, compute: Any, dtype: Any, device: Any) -> Any:
    """Results without data: from the rules, or from the body's answer on arrays without memory."""
    if plan.results and plan.results[0] != "Tensor" and plan.results != ("list",):
        raise NotImplementedError(f"{plan.record.key}: a Python value needs data, which meta tensors do not have")
    if shape is None:
        return _inferred(plan, bound, compute, dtype, device)
    if plan.results == ("list",):
        return [_core.empty_raw(tuple(s), _pick(dtype, i), device) for i, s in enumerate(shape)]
    first = next((a for a in bound if isinstance(a, TensorBase)), None)
    if len(plan.results) == 1:
        if isinstance(shape, list) and shape and not isinstance(shape[0], int):
            shape = shape[0]
        if plan.pointwise and plan.format_of(bound) in (None, _core.preserve_format):
            return _core.empty_like_all(tuple(shape), tensors_of(bound), _known(plan, dtype, first), device)
        made = _empty(plan, 0, bound, shape, _known(plan, dtype, first), device)
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
            _core.empty_like_all(tuple(s), like, _known(plan, _pick(dtype, i), first), device)
            for i, s in enumerate(sizes)
        )
    return tuple(_empty(plan, i, bound, s, _known(plan, _pick(dtype, i), first), device) for i, s in enumerate(sizes))


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
        value = _call(plan)(host.xp(), *arrays)
    real = _results(plan, value, None, dtype, bound, tensors, arrays, host)
    if isinstance(real, TensorBase):
        return _core.empty_raw(tuple(real.shape), real.dtype, device)
    kind = type(real)
    return kind(_core.empty_raw(tuple(t.shape), t.dtype, device) for t in real)
