"""``torch.backends.cpu``: what the CPU can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """``"AVX512"``, ``"AVX2"``, ``"NO AVX"`` or ``"DEFAULT"`` (not x86)."""
    import platform

    from shim_torch._C import _cpu

    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "DEFAULT"
    return "AVX512" if _cpu._is_avx512_supported() else "AVX2" if _cpu._is_avx2_supported() else "NO AVX"
