"""How the body of a kernel record is called: the places of its arguments, its rules as functions, its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import Record, parameters

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


def tensors_of(bound: tuple[Any, ...]) -> list[Any]:
    """All tensors among the arguments, those in lists too."""
    found = []
    for a in bound:
        if isinstance(a, TensorBase):
            found.append(a)
        elif type(a) is list:
            found += [t for t in a if isinstance(t, TensorBase)]
    return found


def body_call(plan: Plan) -> Callable[..., Any]:
    """The body as a function of ``xp`` and the arguments in the schema's order."""
    body, positions, keywords = plan.body, plan.positions, plan.keywords

    def call(xp: Any, *arrays: Any) -> Any:
        return body(xp, *[arrays[i] for i in positions], **{n: arrays[i] for n, i in keywords})

    return call
