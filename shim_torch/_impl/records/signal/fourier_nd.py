"""The functions of torch.fft along two and more dims, over the kernels of Fourier transforms."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.fourier import (
    FFT,
    TRANSFORM,
    no_complex,
    normalization,
    one_dim,
    positive,
    promoted,
    resized,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite


def _dims(x: Any, s: Any, dim: Any) -> list[int]:
    if dim is None:
        if s is not None and len(s) > x.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.dim()} dimensions.")
        return list(range(0 if s is None else x.dim() - len(s), x.dim()))
    dims = [one_dim(x, d) for d in dim]
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is not None and len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims


def _dims_and_sizes(x: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    dims = _dims(x, s, dim)
    sizes = [x.size(d) if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    return dims, [positive(n) for n in sizes]


def _c2cn(x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    x = promoted(x, True)
    dims, sizes = _dims_and_sizes(x, s, dim)
    return aten._fft_c2c(resized(x, dims, sizes), dims, normalization(norm, forward), forward)


def _rfftn(name: str, x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    no_complex(name, x, "real-valued")
    x = promoted(x)
    dims, sizes = _dims_and_sizes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x = resized(x, dims, sizes)
    if forward:
        return aten._fft_r2c(x, dims, normalization(norm, True), True)
    mode = normalization(norm, False)
    half = aten._fft_r2c(x, dims[-1:], mode, True).conj()
    return aten._fft_c2c(half.resolve_conj(), dims[:-1], mode, False) if len(dims) > 1 else half


def _irfftn(name: str, x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    x = promoted(x, True)
    dims = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (x.size(dims[-1]) - 1) if s is None or s[-1] == -1 else s[-1]
    sizes = [x.size(d) if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    sizes[-1] = positive(last)
    for n in sizes:
        positive(n)
    x = resized(x, dims, [*sizes[:-1], last // 2 + 1])
    mode = normalization(norm, forward)
    if not forward:
        return aten._fft_c2r(x, dims, mode, last)
    rest = aten._fft_c2c(x, dims[:-1], mode, True) if len(dims) > 1 else x
    return aten._fft_c2r(rest.conj().resolve_conj(), dims[-1:], mode, last)


# What the functions say of their arguments.
_ARGUMENTS = """``s``: how many points each dim has, -1 for its own; the dims are cut to them, or padded with zeros.
``dim``: of the functions of two dims by default the last two; of the others all, or the last ones if ``s`` is given.
``norm``: as of ``fft``, for the product of the numbers of points. RuntimeError for a dim named twice, or no point."""


_UNCAST = ("hfft", "ihfft")  # autocast does not know these of several dims


def _declare(name: str, doc: str, run: Any, **traits: Any) -> None:
    """The two-dimensional and the n-dimensional function."""
    run.__doc__ = f"{doc}\n\n{_ARGUMENTS}"
    options = {"out": True, "out_order": "contiguous", **(FFT if name.startswith(_UNCAST) else TRANSFORM), **traits}
    composite(f"fft_{name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", **options)(
        run
    )
    composite(f"fft_{name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", **options)(
        run
    )


def _complex_out(name: str) -> dict[str, str]:
    return {"cast_error": f"{name} expects a complex output tensor, but got {{O}}"}


def _real_out(name: str) -> dict[str, str]:
    return {
        "cast_error": f"{name} expects a floating point output tensor, but got {{O}}",
        "out_error_name": "_fft_c2r",
    }


_declare(
    "fft",
    "The discrete Fourier transform along several dims: complex values, as many as points.",
    lambda self, s, dim, norm: _c2cn(self, s, dim, norm, True),
    **_complex_out("fftn"),
)
_declare(
    "ifft",
    "The inverse of the discrete Fourier transform along several dims.",
    lambda self, s, dim, norm: _c2cn(self, s, dim, norm, False),
    **_complex_out("fftn"),
)
_declare(
    "rfft",
    "The transform of a tensor, which must be real, along several dims: n // 2 + 1 values along the last one.",
    lambda self, s, dim, norm: _rfftn("rfftn", self, s, dim, norm, True),
    **_complex_out("rfftn"),
)
_declare(
    "ihfft",
    "The inverse of ``hfftn`` of a tensor, which must be real: n // 2 + 1 values along the last dim.",
    lambda self, s, dim, norm: _rfftn("ihfftn", self, s, dim, norm, False),
    **_complex_out("ihfftn"),
)
_declare(
    "irfft",
    "The inverse of ``rfftn``: real values, 2 (m - 1) of m along the last dim unless ``s`` says otherwise.",
    lambda self, s, dim, norm: _irfftn("irfftn", self, s, dim, norm, False),
    **_real_out("irfftn"),
)
_declare(
    "hfft",
    "The transform of a Hermitian signal: real values, 2 (m - 1) of m along the last dim unless ``s`` says otherwise.",
    lambda self, s, dim, norm: _irfftn("hfftn", self, s, dim, norm, True),
    **_real_out("hfftn"),
)
