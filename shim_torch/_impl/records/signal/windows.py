"""Window functions, and Fourier transforms of short overlapping frames with their inverse."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import no_meta_kernel
from shim_torch._impl.tensor import from_data

_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _window(name: str, n: int, periodic: bool, dtype: Any, device: Any, shape: Any) -> Any:
    """``shape(place, last)`` over places 0 ... n - 1; a periodic window is a longer one without its last value."""
    dtype = _core.get_default_dtype() if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        kind = {"int64": "long int", "int32": "int"}.get(str(dtype).removeprefix("torch."), _core.scalar_name(dtype))
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={kind}, device=cpu, layout=Strided (default), "
            "requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    if n <= 1:
        return torch.ones(n, dtype=dtype, device=device)
    last = n if periodic else n - 1
    wide = _core.float64 if dtype == _core.float64 else _core.float32
    return shape(torch.arange(n, dtype=wide, device=device), last).to(dtype)


def _hamming(
    n: int, periodic: bool, alpha: float, beta: float, dtype: Any, device: Any, name: str = "hamming_window"
) -> Any:
    return _window(name, n, periodic, dtype, device, lambda k, last: alpha - beta * (k * (2 * math.pi / last)).cos())


def _blackman(n: int, periodic: bool, dtype: Any, device: Any) -> Any:
    def shape(k: Any, last: int) -> Any:
        angle = k * (math.pi / last)
        return 0.42 - 0.5 * (angle * 2).cos() + 0.08 * (angle * 4).cos()

    return _window("blackman_window", n, periodic, dtype, device, shape)


def _bartlett(n: int, periodic: bool, dtype: Any, device: Any) -> Any:
    return _window("bartlett_window", n, periodic, dtype, device, lambda k, last: 1 - (k * (2 / last) - 1).abs())


def _kaiser(n: int, periodic: bool, beta: float, dtype: Any, device: Any) -> Any:
    def shape(k: Any, last: int) -> Any:
        i0 = aten.i0
        place = k * (2 / last) - 1
        top = i0(from_data.tensor(beta, dtype=k.dtype, device=k.device))
        return i0((1 - place * place).clamp(min=0).sqrt() * beta) / top

    return _window("kaiser_window", n, periodic, dtype, device, shape)


def _declare(name: str, arguments: str, overload: str, run: Any) -> None:
    dot = f".{overload}" if overload else ""

    def body(*bound: Any) -> Any:
        *given, dtype, _layout, device, _pin = bound
        return run(*given, dtype, device)

    composite(f"{name}{dot}({arguments}, *, {_FACTORY}) -> Tensor", method=False)(body)


_N, _P = "int window_length", "int window_length, bool periodic"
_declare("hann_window", _N, "", lambda n, t, d: _hamming(n, True, 0.5, 0.5, t, d, "hann_window"))
_declare("hann_window", _P, "periodic", lambda n, p, t, d: _hamming(n, p, 0.5, 0.5, t, d, "hann_window"))
_declare("hamming_window", _N, "", lambda n, t, d: _hamming(n, True, 0.54, 0.46, t, d))
_declare("hamming_window", _P, "periodic", lambda n, p, t, d: _hamming(n, p, 0.54, 0.46, t, d))
_declare("hamming_window", _P + ", float alpha", "periodic_alpha", lambda n, p, a, t, d: _hamming(n, p, a, 0.46, t, d))
_declare("hamming_window", _P + ", float alpha, float beta", "periodic_alpha_beta", _hamming)
_declare("blackman_window", _N, "", lambda n, t, d: _blackman(n, True, t, d))
_declare("blackman_window", _P, "periodic", _blackman)
_declare("bartlett_window", _N, "", lambda n, t, d: _bartlett(n, True, t, d))
_declare("bartlett_window", _P, "periodic", _bartlett)
_declare("kaiser_window", _N, "", lambda n, t, d: _kaiser(n, True, 12.0, t, d))
_declare("kaiser_window", _P, "periodic", lambda n, p, t, d: _kaiser(n, p, 12.0, t, d))
_declare("kaiser_window", _P + ", float beta", "beta", _kaiser)


# --- short-time transforms ------------------------------------------------------------------------------------------


def _refused(self: Any, settings: tuple[Any, ...], what: str) -> RuntimeError:
    """PyTorch's text: the whole call, then what is wrong with it."""
    n_fft, hop, win, window, normalized, onesided, return_complex = settings
    kind = f"torch.{_core.scalar_name(self.dtype)}Tensor"
    shown = "None" if window is None else f"torch.{_core.scalar_name(window.dtype)}Tensor{{{list(window.shape)}}}"
    sided = "None" if onesided is None else int(onesided)
    return RuntimeError(
        f"stft({kind}{list(self.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={win}, window={shown}, "
        f"normalized={int(normalized)}, onesided={sided}, return_complex={int(return_complex)}, align_to_window=None) : {what}"
    )


def _warn_without_window(window: Any, reason: str) -> None:
    if window is None:
        warn_once(
            f"A window was not provided. A rectangular window will be applied{reason}To suppress this warning and use a "
            "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )


def _full_window(window: Any, win: int, n_fft: int, like: Any) -> Any:
    if window is None:
        if win == n_fft:
            return None
        real = like.dtype.to_real()
        window = torch.ones(win, dtype=real, device=like.device)
    if win < n_fft:
        left = (n_fft - win) // 2
        window = aten.constant_pad_nd(window, [left, n_fft - win - left])
    return window


def _stft(
    self: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any, center: bool, pad_mode: str, normalized: bool,
    onesided: Any, return_complex: Any,
) -> Any:  # fmt: skip
    _warn_without_window(
        window,
        ",which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are "
        "recommended to reduce spectral leakage.",
    )
    hop, win = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    complex_in = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        return_complex = complex_in
        if not return_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
    settings = (n_fft, hop, win, window, normalized, onesided, return_complex)
    if not (self.is_floating_point() or self.is_complex()):
        raise _refused(self, settings, "expected a tensor of floating point or complex values")
    if self.dim() not in (1, 2):
        raise _refused(self, settings, "expected a 1D or 2D tensor")
    x = self if self.dim() == 2 else self.unsqueeze(0)
    if center:
        pad = n_fft // 2
        x = aten.pad(x.unsqueeze(0), (pad, pad), pad_mode).squeeze(0)
    length, given = x.size(1), x if self.dim() == 2 else x[0]
    if n_fft <= 0 or n_fft > length:
        raise _refused(given, settings, f"expected 0 < n_fft < {length}, but got n_fft={win}")
    if hop <= 0:
        raise _refused(given, settings, f"expected hop_length > 0, but got hop_length={hop}")
    if win <= 0 or win > n_fft:
        raise _refused(given, settings, f"expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.dim() != 1 or window.size(0) != win):
        raise _refused(
            given,
            settings,
            f"expected a 1D window tensor of size equal to win_length={win}, but got window with size {list(window.shape)}",
        )
    onesided = (not complex_in) if onesided is None else onesided
    if onesided and complex_in:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    frames = x.unfold(1, n_fft, hop)
    taper = _full_window(window, win, n_fft, self)
    frames = frames if taper is None else frames * taper
    norm = 1 if normalized else 0
    if complex_in:
        out = aten._fft_c2c(frames, [2], norm, True)
    else:
        out = aten._fft_r2c(frames, [2], norm, onesided)
    out = out.transpose(1, 2)
    out = out if self.dim() == 2 else out.squeeze(0)
    return out if return_complex else torch.view_as_real(out)


_SETTINGS = "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None"
_ENDING = "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None"


@composite(
    f"stft({_SETTINGS}, {_ENDING}) -> Tensor",
    function=False,
    method=False,
    refuses=(("B", "MKL FFT doesn't support tensors of type: {}"),),
    autocast="float32",
)
def stft_plain(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window):
    """Fourier transforms of overlapping frames: (L,) or (B, L) -> (B, frequencies, frames)."""
    return _stft(self, n_fft, hop_length, win_length, window, False, "reflect", normalized, onesided, return_complex)


@composite(
    f"stft.center({_SETTINGS}, bool center=True, str pad_mode='reflect', {_ENDING}) -> Tensor",
    function=False,
    method=False,
    refuses=(("B", "MKL FFT doesn't support tensors of type: {}"),),
    autocast="float32",
)
def stft_centred(
    self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window
):
    """Fourier transforms of overlapping frames of the signal, which ``center`` pads by n_fft // 2 at both ends."""
    return _stft(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex)


def _istft_text(x, n_fft, hop, win, window, center, normalized, onesided, length, return_complex):
    kind = (
        "" if window is None else f"CPU{_core.scalar_name(window.dtype)}Type" if window.is_complex() else window.type()
    )
    shown = f"{kind}{{{list(window.shape)}}}" if kind else "None"
    sided = "None" if onesided is None else int(onesided)
    return (
        f"istft(CPU{_core.scalar_name(x.dtype)}Type{list(x.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={win}, window={shown}, "
        f"center={int(center)}, normalized={int(normalized)}, onesided={sided}, length={length}, "
        f"return_complex={int(return_complex)})"
    )


def _check_istft(self: Any, call: str, n_fft: int, hop: int, win: int, onesided: Any) -> tuple[Any, bool]:
    """The transforms as a batch, and whether they are of one side."""
    if self.numel() == 0:
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if self.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.dim()}")
    x = self if self.dim() == 3 else self.unsqueeze(0)
    sided = x.size(1) != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if sided else n_fft
    if x.size(1) != wanted:
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if sided else 'n_fft'} when onesided={sided}, but got {x.size(1)}"
        )
    if not 0 < hop <= win:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if self.is_meta:  # PyTorch looks whether the windows add up to nothing somewhere
        raise no_meta_kernel("equal")
    return x, sided


def _frames_of(x: Any, n_fft: int, sided: bool, norm: int, return_complex: bool) -> Any:
    """The frames (B, frames, n_fft) of transforms (B, frequencies, frames)."""
    frames = x.transpose(1, 2)
    if not return_complex:
        half = frames if sided else frames.narrow(2, 0, n_fft // 2 + 1)
        return aten._fft_c2r(half, [2], norm, n_fft)
    if sided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    return aten._fft_c2c(frames, [2], norm, False)


@composite(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)
def istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """The inverse of stft: frames overlap and add, over the sum of the squared windows."""
    _warn_without_window(window, ".Please provide the same window used by stft to make the inversion lossless.")
    hop, win = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    call = _istft_text(self, n_fft, hop, win, window, center, normalized, onesided, length, return_complex)
    x, sided = _check_istft(self, call, n_fft, hop, win, onesided)
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    real = x.dtype.to_real()
    taper = _full_window(window, win, n_fft, self)
    taper = torch.ones(n_fft, dtype=real, device=x.device) if taper is None else taper
    parts = _frames_of(x, n_fft, sided, 1 if normalized else 2, return_complex) * taper
    count = parts.size(1)
    total = n_fft + hop * (count - 1)
    place = (torch.arange(count, device=x.device).unsqueeze(1) * hop + torch.arange(n_fft, device=x.device)).reshape(-1)
    y = parts.new_zeros((x.size(0), total)).index_add(1, place, parts.reshape(x.size(0), -1))
    squares = (taper * taper).expand(count, n_fft).reshape(-1)
    envelope = squares.new_zeros((total,)).index_add(0, place, squares)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - (n_fft // 2 if center else 0)
    y, envelope = y[:, start : min(end, total)], envelope[start : min(end, total)]
    if not bool((envelope.abs() > 1e-11).all()):
        raise RuntimeError(f"{call} window overlap add min: 1")
    y = y / envelope
    if end > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        y = aten.constant_pad_nd(y, [0, end - total])
    return y if self.dim() == 3 else y.squeeze(0)
