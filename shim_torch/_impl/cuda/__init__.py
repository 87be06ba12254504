"""The parts of torch.cuda."""

from __future__ import annotations

from shim_torch._impl.native import _core


def need_device() -> None:
    """RuntimeError, in our words and not CuPy's, where there is no CUDA device."""
    if not _core.cuda_device_count():
        raise RuntimeError(
            f"Found no NVIDIA driver or GPU on your system: {_core.cuda_why_not()}. Use device='cpu', or run on a machine "
            "with an NVIDIA GPU and driver."
        )
