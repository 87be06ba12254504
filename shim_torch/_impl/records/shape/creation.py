"""Tensors from sizes and ranges."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import broadcast, real_pair, type_name, type_word
from shim_torch._impl.tensor.uninitialized import fixed

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _sparse(size: Any, dtype: Any, layout: Any, device: Any) -> Any:
    from shim_torch._impl.sparse.copies import empty_of

    return empty_of(tuple(size), layout, dtype, device)


def _made(size: Any, dtype: Any, device: Any, pin_memory: Any = None, memory_format: Any = None) -> Any:
    if memory_format is None or memory_format == _core.preserve_format:
        return _core.empty_tensor(size, dtype, device, bool(pin_memory))
    return _core.empty_tensor(size, dtype, device, bool(pin_memory), memory_format)


@composite(
    f"empty.memory_format(SymInt[] size, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    out=True,
    dim_names=True,
)
def empty(size, dtype, layout, device, pin_memory, memory_format):
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype, layout, device)
    return fixed(_made(size, dtype, device, pin_memory, memory_format))


@composite(
    "from_file(str filename, bool? shared=None, int? size=0, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    method=False,
)
def from_file(filename, shared, size, dtype, layout, device, pin_memory):
    """A 1-d tensor over the first ``size`` elements of a file; ``shared``: writes reach the file, which grows to fit."""
    if device is not None and device.type != "cpu":
        raise RuntimeError(f"torch.from_file: expected a CPU device, but got {device}")
    dtype = dtype or _core.get_default_dtype()
    if not size:
        return _made((0,), dtype, None)
    from shim_torch._impl.tensor.untyped_storage import map_file

    return _core.from_numpy(map_file(filename, bool(shared), size * dtype.itemsize)).view(dtype)


@composite(f"empty_strided(SymInt[] size, SymInt[] stride, {_OPTIONS}) -> Tensor", method=False)
def empty_strided(size, stride, dtype, layout, device, pin_memory):
    return fixed(_core.empty_strided(size, stride, dtype, device, bool(pin_memory)))


@composite(
    f"zeros(SymInt[] size, {_OPTIONS}) -> Tensor",
    out=True,
    dim_names=True,
    expanded="same_value",
    out_error_name="aten::zeros",
)
def zeros(size, dtype, layout, device, pin_memory):
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype, layout, device)
    return _made(size, dtype, device, pin_memory).zero_()


@composite(f"ones(SymInt[] size, {_OPTIONS}) -> Tensor", out=True, dim_names=True, out_error_name="aten::ones")
def ones(size, dtype, layout, device, pin_memory):
    if layout is not None and layout != _core.strided:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    return _made(size, dtype, device, pin_memory).fill_(1)


def _number_dtype(value: Any) -> Any:
    if isinstance(value, bool):
        return _core.bool
    if isinstance(value, int):
        return _core.int64
    if isinstance(value, complex):
        return _core.complex128 if _core.get_default_dtype() == _core.float64 else _core.complex64
    return _core.get_default_dtype()


@composite(
    f"full(SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor",
    out=True,
    dim_names=True,
    out_error_name="aten::full",
)
def full(size, fill_value, dtype, layout, device, pin_memory):
    if layout is not None and layout != _core.strided:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    return _made(size, dtype or _number_dtype(fill_value), device, pin_memory).fill_(fill_value)


def _dense(self: Any) -> bool:
    """Whether the elements fill their memory without holes or overlap, in some order of the dims."""
    expected = 1
    for s, n in sorted((s, n) for s, n in zip(self.stride(), self.shape, strict=True) if n != 1):
        if s != expected:
            return False
        expected *= n
    return True


@composite(
    f"empty_like(Tensor self, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    method=False,
    native="empty_like",
    dim_names=True,
    reads_math_bits=True,
)
def empty_like(self, dtype, layout, device, pin_memory, memory_format):
    dtype, device = dtype or self.dtype, device or self.device
    if layout is not None and layout != _core.strided:
        from shim_torch._impl.sparse.dispatch import could_not_run

        kind = "Sparse" if layout == _core.sparse_coo else "SparseCsr"
        where = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(_core.device(device).type, "CPU")
        raise NotImplementedError(could_not_run("aten::empty_strided", kind + where))
    if (memory_format is None or memory_format == _core.preserve_format) and not self.is_contiguous():
        if _dense(self):
            return fixed(_core.empty_strided(self.shape, self.stride(), dtype, device, bool(pin_memory)))
        return fixed(_permuted(self, dtype, device))
    return fixed(_made(self.shape, dtype, device, pin_memory, memory_format))


def _permuted(self: Any, dtype: Any, device: Any) -> Any:
    """Compact memory in the order of the strides."""
    return _core.empty_strided(self.shape, _core.dense_strides(self), dtype, device)


def _like(name: str, fill: Any) -> None:
    def body(self, dtype, layout, device, pin_memory, memory_format):
        if name == "zeros_like" and layout is not None and layout != _core.strided:
            from shim_torch._impl.sparse.copies import zeros_of

            return zeros_of(self, dtype or self.dtype, layout, device or self.device)
        return fill(empty_like(self, dtype, layout, device, pin_memory, memory_format))

    composite(
        f"{name}(Tensor self, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        method=False,
        native=name,
        reads_math_bits=True,
    )(body)


_like("zeros_like", lambda t: t.zero_())
_like("ones_like", lambda t: t.fill_(1))


@composite(
    f"full_like(Tensor self, Scalar fill_value, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    method=False,
    reads_math_bits=True,
)
def full_like(self, fill_value, dtype, layout, device, pin_memory, memory_format):
    return empty_like(self, dtype, layout, device, pin_memory, memory_format).fill_(fill_value)


@composite(f"new_empty(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_empty(self, size, dtype, layout, device, pin_memory):
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype or self.dtype, layout, device or self.device)
    return fixed(_made(size, dtype or self.dtype, device or self.device, pin_memory))


@composite(f"new_zeros(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_zeros(self, size, dtype, layout, device, pin_memory):
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype or self.dtype, layout, device or self.device)
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).zero_()


@composite(f"new_ones(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_ones(self, size, dtype, layout, device, pin_memory):
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).fill_(1)


@composite(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor",
    function=False,
    reads_math_bits=True,
)
def new_full(self, size, fill_value, dtype, layout, device, pin_memory):
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).fill_(fill_value)


@composite(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, {_OPTIONS}) -> Tensor",
    function=False,
    reads_math_bits=True,
)
def new_empty_strided(self, size, stride, dtype, layout, device, pin_memory):
    return fixed(_core.empty_strided(size, stride, dtype or self.dtype, device or self.device, bool(pin_memory)))


@composite(f"scalar_tensor(Scalar s, {_OPTIONS}) -> Tensor")
def scalar_tensor(s, dtype, layout, device, pin_memory):
    return _made((), dtype or _core.get_default_dtype(), device, pin_memory).fill_(s)


def _range(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> Any:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if any(isinstance(v, float) and not math.isfinite(v) for v in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        dtype = _core.int64 if all(isinstance(v, int) for v in (start, end, step)) else _core.get_default_dtype()
    if dtype is _core.bool or dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_name(dtype)}'")
    if not (end - start) / step < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    import shim_torch

    return shim_torch.ops.aten._arange(start, end, step, dtype, device)


def _range_size(start: Any, end: Any, step: Any, dtype: Any) -> int:
    """How many steps there are; for int64 between the ends cut to whole numbers."""
    if dtype is not _core.int64 or all(isinstance(v, int) for v in (start, end, step)):
        return max(0, math.ceil((end - start) / step))
    first, last, by = int(start), int(end), int(step)
    if not by:
        raise ValueError("step must be nonzero")
    return max(0, int((last - first + by - (1 if by > 0 else -1)) / by))


@op(
    "_arange(Scalar start, Scalar end, Scalar step, ScalarType dtype, Device? device) -> Tensor",
    function=False,
    method=False,
    module="_C",
    shape=lambda start, end, step, dtype: (_range_size(start, end, step, dtype),),
    dtype=lambda dtype: dtype,
)
def _arange(xp, start, end, step, dtype, device):
    n = _range_size(start, end, step, dtype)
    if not (dtype.is_floating_point or dtype.is_complex):  # whole steps from a whole start
        start, step = int(start), int(step)
    whole = all(isinstance(v, int) for v in (start, step))
    values = xp.arange(n, dtype="int64" if whole else "float64") * step + start
    if dtype.is_floating_point:
        return values.astype("float64" if dtype == _core.float64 else "float32")
    return values.astype(str(dtype).removeprefix("torch."))


@composite(
    f"arange(Scalar end, {_OPTIONS}) -> Tensor",
    native="arange",
    out=True,
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
)
def arange(end, dtype, layout, device, pin_memory):
    return _range(0, end, 1, dtype, device)


@composite(
    f"arange.start(Scalar start, Scalar end, {_OPTIONS}) -> Tensor",
    native="arange",
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
)
def arange_start(start, end, dtype, layout, device, pin_memory):
    return _range(start, end, 1, dtype, device)


@composite(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor",
    out=True,
    native="arange",
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
    out_overload="start_out",
)
def arange_step(start, end, step, dtype, layout, device, pin_memory):
    return _range(start, end, step, dtype, device)


@composite(f"range.step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor", out=True, any_out_shape=True)
def range_(start, end, step, dtype, layout, device, pin_memory):
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    n = math.floor((end - start) / step) + 1
    return _range(start, start + n * step, step, dtype or _core.get_default_dtype(), device)


def _steps(steps):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps >= 2**59:  # of 16 bytes each, more than 64 bits count
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{steps}]")
    return (steps,)


def _spaced_dtype_of(name: str) -> Any:
    def rule(start, end, dtype):
        """``dtype``, or the default one of the ends' kind."""
        found = dtype or _core.get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            natural = _core.get_default_dtype().to_complex()
            if dtype is None:
                return natural
            if not found.is_complex:
                raise RuntimeError(
                    f"torch.{name}(): inferred dtype {type_word(natural)} can't be safely cast to passed dtype {type_name(dtype)}"
                )
        if found is _core.bool:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        return found

    return rule


_linspace_dtype, _logspace_dtype = _spaced_dtype_of("linspace"), _spaced_dtype_of("logspace")


def _spaced_by_tensors(name: str, more: str) -> None:
    """The overloads whose ends are 0-d tensors."""
    for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"):
        first, second = overload.split("_")

        def body(start, end, steps, *rest):
            import shim_torch

            wrong = [
                f"{end_name} with {value.dim()} dimension(s)"
                for end_name, value in (("start", start), ("end", end))
                if isinstance(value, _core.TensorBase) and value.dim()
            ]
            if wrong:
                raise RuntimeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(wrong)}."
                )
            if any(isinstance(v, _core.TensorBase) and v.is_meta for v in (start, end)):  # the values do not matter
                start, end = 0.0, 1.0
            numbers = [v.item() if isinstance(v, _core.TensorBase) else v for v in (start, end)]
            base = rest[:-4]
            dtype, _, device, _ = rest[-4:]
            return getattr(shim_torch, name)(*numbers, steps, *base, dtype=dtype, device=device)

        composite(
            f"{name}.{overload}({first} start, {second} end, int steps, {more}{_OPTIONS}) -> Tensor",
            out=True,
            method=False,
            any_out_shape=True,
            out_error_name=f"aten::{name}",
        )(body)


_spaced_by_tensors("linspace", "")


@op(
    f"linspace(Scalar start, Scalar end, int steps, {_OPTIONS}) -> Tensor",
    native="linspace",
    shape=_steps,
    out=True,
    dtype=_linspace_dtype,
    any_out_shape=True,
    out_error_name="aten::linspace",
)
def linspace(xp, start, end, steps, dtype, layout, device, pin_memory):
    return _as(xp, _spaced(xp, start, end, steps), _linspace_dtype(start, end, dtype))


def _spaced(xp, start, end, steps):
    i = xp.arange(steps, dtype="float64")
    if steps < 2:
        return i + start
    step = (end - start) / (steps - 1)
    return xp.where(i < steps / 2, start + step * i, end - step * (steps - 1 - i))


def _as(xp, values, dtype):
    if dtype.is_complex:
        return values.astype("complex128" if dtype == _core.complex128 else "complex64")
    if dtype.is_floating_point:
        return values.astype("float64" if dtype == _core.float64 else "float32")
    return values.astype(str(dtype).removeprefix("torch."))


_spaced_by_tensors("logspace", "float base=10.0, ")


@op(
    f"logspace(Scalar start, Scalar end, int steps, float base=10.0, {_OPTIONS}) -> Tensor",
    shape=_steps,
    out=True,
    dtype=_logspace_dtype,
    any_out_shape=True,
    out_error_name="aten::logspace",
)
def logspace(xp, start, end, steps, base, dtype, layout, device, pin_memory):
    return _as(xp, xp.power(float(base), _spaced(xp, start, end, steps)), _logspace_dtype(start, end, dtype))


@composite(f"eye(SymInt n, {_OPTIONS}) -> Tensor", out=True, out_error_name="aten::eye")
def eye(n, dtype, layout, device, pin_memory):
    return eye_m(n, n, dtype, layout, device, pin_memory)


@composite(f"eye.m(SymInt n, SymInt m, {_OPTIONS}) -> Tensor", out=True, out_error_name="aten::eye")
def eye_m(n, m, dtype, layout, device, pin_memory):
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    made = _made((n, m), dtype, device, pin_memory).zero_()
    made.diagonal().fill_(1)
    return made


@op(
    "complex(Tensor real, Tensor imag) -> Tensor",
    method=False,
    shape=broadcast,
    dtype=lambda real, imag: real_pair(real, imag).to_complex(),
    keep=("real", "imag"),
    out=True,
    native="complex",
    grad={"real": lambda g: g.real, "imag": lambda g: g.imag},
    out_dtype="Expected object of scalar type {R} but got scalar type {O} for argument 'out'",
)
def complex_(xp, real, imag):
    real, imag = xp.broadcast_arrays(real, imag)
    out = xp.empty(real.shape, "complex128" if real.dtype == "float64" else "complex64")
    out.real, out.imag = real, imag  # not real + 1j * imag, which is nan where imag is infinite
    return out


def _index_dtype(name: str) -> Any:
    def rule(dtype: Any) -> Any:
        if dtype not in (None, _core.int32, _core.int64):
            raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")
        return dtype or _core.int64

    return rule


@op(
    f"tril_indices(int row, int col, int offset=0, {_OPTIONS}) -> Tensor",
    dtype=_index_dtype("tril_indices"),
    native="tril_indices",
)
def tril_indices(xp, row, col, offset, dtype, layout, device, pin_memory):
    return xp.stack(xp.tril_indices(row, offset, col)).astype("int64")


@op(
    f"triu_indices(int row, int col, int offset=0, {_OPTIONS}) -> Tensor",
    dtype=_index_dtype("triu_indices"),
    native="triu_indices",
)
def triu_indices(xp, row, col, offset, dtype, layout, device, pin_memory):
    return xp.stack(xp.triu_indices(row, offset, col)).astype("int64")
