"""Tensors from sizes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import broadcast, real_pair, type_name
from shim_torch._impl.tensor.uninitialized import fixed

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_FILLED = {"foreseen": "any", "out": True, "dim_names": True}


def _sparse(size: Any, dtype: Any, layout: Any, device: Any) -> Any:
    from shim_torch._impl.sparse.copies import empty_of

    return empty_of(tuple(size), layout, dtype, device)


def _made(size: Any, dtype: Any, device: Any, pin_memory: Any = None, memory_format: Any = None) -> Any:
    return _core.empty_tensor(size, dtype, device, bool(pin_memory), memory_format)


@composite(
    f"empty.memory_format(SymInt[] size, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    native="empty",
    out=True,
    dim_names=True,
)
def empty(size, dtype, layout, device, pin_memory, memory_format):
    """A tensor whose values are not set, in the default float dtype on the default device unless others are given."""
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
    """A tensor of these sizes and strides (in elements), whose values are not set."""
    return fixed(_core.empty_strided(size, stride, dtype, device, bool(pin_memory)))


@composite(
    f"zeros(SymInt[] size, {_OPTIONS}) -> Tensor",
    native="zeros",
    **_FILLED,
    expanded="same_value",
    out_error_name="aten::zeros",
)
def zeros(size, dtype, layout, device, pin_memory):
    """A tensor of zeros, in the default float dtype on the default device unless others are given."""
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype, layout, device)
    return _made(size, dtype, device, pin_memory).zero_()


@composite(f"ones(SymInt[] size, {_OPTIONS}) -> Tensor", native="ones", **_FILLED, out_error_name="aten::ones")
def ones(size, dtype, layout, device, pin_memory):
    """A tensor of ones, in the default float dtype on the default device unless others are given."""
    return full(size, 1, dtype or _core.get_default_dtype(), layout, device, pin_memory)


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
    **_FILLED,
    out_error_name="aten::full",
)
def full(size, fill_value, dtype, layout, device, pin_memory):
    """A tensor filled with a number.

    Without ``dtype`` the number's kind gives it: bool, int64, the default float dtype, or the complex one of its width.
    """
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
    batching="pointwise",
    dim_names=True,
    reads_math_bits=True,
)
def empty_like(self, dtype, layout, device, pin_memory, memory_format):
    """A tensor with the sizes, dtype and device of ``self`` unless others are given; its values are not set.

    Strides: in the order of those of ``self``, without holes, or as ``memory_format`` says.
    """
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
        foreseen="any",
        batching="pointwise",
        reads_math_bits=True,
    )(body)


_like("zeros_like", lambda t: t.zero_())
_like("ones_like", lambda t: t.fill_(1))


@composite(
    f"full_like(Tensor self, Scalar fill_value, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    method=False,
    batching="pointwise",
    reads_math_bits=True,
)
def full_like(self, fill_value, dtype, layout, device, pin_memory, memory_format):
    """A tensor filled with a number, with the sizes, strides, dtype and device of ``self`` unless others are given."""
    return empty_like(self, dtype, layout, device, pin_memory, memory_format).fill_(fill_value)


@composite(f"new_empty(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_empty(self, size, dtype, layout, device, pin_memory):
    """A tensor of other sizes with the dtype and device of ``self`` unless others are given; its values are not set."""
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype or self.dtype, layout, device or self.device)
    return fixed(_made(size, dtype or self.dtype, device or self.device, pin_memory))


@composite(f"new_zeros(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_zeros(self, size, dtype, layout, device, pin_memory):
    """Zeros of other sizes with the dtype and device of ``self`` unless others are given."""
    if layout is not None and layout != _core.strided:
        return _sparse(size, dtype or self.dtype, layout, device or self.device)
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).zero_()


@composite(f"new_ones(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", function=False, reads_math_bits=True)
def new_ones(self, size, dtype, layout, device, pin_memory):
    """Ones of other sizes with the dtype and device of ``self`` unless others are given."""
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).fill_(1)


@composite(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor",
    function=False,
    reads_math_bits=True,
)
def new_full(self, size, fill_value, dtype, layout, device, pin_memory):
    """A tensor of other sizes, filled with a number, with the dtype and device of ``self`` unless others are given."""
    return _made(size, dtype or self.dtype, device or self.device, pin_memory).fill_(fill_value)


@composite(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, {_OPTIONS}) -> Tensor",
    function=False,
    reads_math_bits=True,
)
def new_empty_strided(self, size, stride, dtype, layout, device, pin_memory):
    """A tensor of other sizes and strides with the dtype and device of ``self``; its values are not set."""
    return fixed(_core.empty_strided(size, stride, dtype or self.dtype, device or self.device, bool(pin_memory)))


@composite(f"scalar_tensor(Scalar s, {_OPTIONS}) -> Tensor")
def scalar_tensor(s, dtype, layout, device, pin_memory):
    """A 0-d tensor of a number, in the default float dtype whatever the number's kind, unless ``dtype`` is given."""
    return _made((), dtype or _core.get_default_dtype(), device, pin_memory).fill_(s)


@composite(f"eye(SymInt n, {_OPTIONS}) -> Tensor", native="eye", out=True, out_error_name="aten::eye")
def eye(n, dtype, layout, device, pin_memory):
    """A matrix (n, n) or (n, m) with ones on its diagonal and zeros elsewhere."""
    return eye_m(n, n, dtype, layout, device, pin_memory)


@composite(f"eye.m(SymInt n, SymInt m, {_OPTIONS}) -> Tensor", native="eye", out=True, out_error_name="aten::eye")
def eye_m(n, m, dtype, layout, device, pin_memory):
    """A matrix (n, m) with ones on its diagonal and zeros elsewhere; RuntimeError for negative sizes."""
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
    """The complex tensor of a real and an imaginary part, broadcast: both float16, float32 or float64."""
    real, imag = xp.broadcast_arrays(real, imag)
    out = xp.empty(real.shape, "complex128" if real.dtype == "float64" else "complex64")
    out.real, out.imag = real, imag  # not real + 1j * imag, which is nan where imag is infinite
    return out


def _index_dtype(name: str) -> Any:
    def rule(row: int, col: int, dtype: Any) -> Any:
        for argument, value in (("row", row), ("col", col)):
            if value < 0:
                raise RuntimeError(f"{argument} must be non-negative, got{value}")
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
    """Rows and columns (2, N) of a matrix's elements on and below a diagonal, row by row; int64, or int32.

    ``offset``: how many diagonals above (negative: below) the main one that diagonal lies.
    """
    return xp.stack(xp.tril_indices(row, offset, col)).astype("int64")


@op(
    f"triu_indices(int row, int col, int offset=0, {_OPTIONS}) -> Tensor",
    dtype=_index_dtype("triu_indices"),
    native="triu_indices",
)
def triu_indices(xp, row, col, offset, dtype, layout, device, pin_memory):
    """As ``tril_indices``, of the elements on and above the diagonal."""
    return xp.stack(xp.triu_indices(row, offset, col)).astype("int64")
