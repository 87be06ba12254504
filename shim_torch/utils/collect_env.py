"""``python -m torch.utils.collect_env``: what is installed, as text for a report."""

from __future__ import annotations

import platform
import sys

from shim_torch._missing import asked_of as _asked_of

__all__ = ["get_pretty_env_info", "main"]


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def get_pretty_env_info() -> str:
    """One line for each thing that matters: versions, platform, GPUs."""
    import shim_torch
    from native import _core

    count = _core.cuda_device_count()
    lines = {
        "shim-torch": _version("shim-torch"),
        "API of PyTorch": shim_torch.__version__,
        "Python": sys.version.replace("\n", " "),
        "Platform": platform.platform(),
        "CUDA driver": str(_core.cuda_driver_version()) if count else f"none ({_core.cuda_why_not()})",
        "GPUs": ", ".join(shim_torch.cuda.get_device_name(i) for i in range(count)) or "none",
        **{
            name: _version(name)
            for name in ("numpy", "ml_dtypes", "triton", "cupy-cuda12x", "cupy-cuda13x", "liger-kernel")
        },
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

__getattr__ = _asked_of(__name__)
