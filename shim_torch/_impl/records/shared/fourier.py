"""How the functions of torch.fft read their arguments: norm, dtype, dims and numbers of points."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.rules import wrap_dim

FFT: dict[str, Any] = {"module": "fft", "method": False}  # the options of each of their records
TRANSFORM: dict[str, Any] = {**FFT, "autocast": "float32_cpu"}  # of those that autocast knows on the CPU


def normalization(norm: str | None, forward: bool) -> int:
    """How PyTorch's kernels number it: 0 none, 1 by √n, 2 by n."""
    if norm in (None, "backward"):
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def promoted(self: Any, complex_wanted: bool = False) -> Any:
    """In a dtype that has transforms: whole numbers in the default one, and complex where ``complex_wanted``.

    RuntimeError for what has none: bfloat16, and half precision on the CPU.
    """
    dtype = self.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.get_default_dtype()
    halves = (_core.float16, _core.complex32) if self.is_cuda or self.is_meta else ()  # as cuFFT has them
    if dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128, *halves):
        if dtype is _core.complex32:
            raise RuntimeError("MKL FFT doesn't support tensors of type: Half")
        raise RuntimeError(f"Unsupported dtype {_core.scalar_name(dtype)}")
    return self.to(dtype.to_complex() if complex_wanted else dtype)


def resized(x: Any, dims: Any, sizes: Any) -> Any:
    """The dims cut or padded with zeros at their ends to ``sizes`` (-1: as they are)."""
    for d, n in zip(dims, sizes, strict=True):
        if n == -1:
            continue
        if n < x.size(d):
            x = x.narrow(d, 0, n)
        elif n > x.size(d):
            x = aten.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - d) + [0, n - x.size(d)])
    return x


def one_dim(x: Any, dim: int) -> int:
    """The dim, counted from the front; IndexError if there is none."""
    if x.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, x.dim())


def positive(n: int) -> int:
    """The number of points, of which a transform needs one at least: RuntimeError."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def no_complex(name: str, x: Any, kind: str = "real") -> None:
    """RuntimeError if ``x`` is complex where ``name`` transforms real values."""
    if x.is_complex():
        raise RuntimeError(f"{name} expects a {kind} input tensor, but got {_core.scalar_name(x.dtype)}")
