"""``torch._C._cpu``: what the CPU can do."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def _flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


def _is_avx2_supported() -> bool:
    return "avx2" in _flags()


def _is_avx512_supported() -> bool:
    return {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= _flags()


def _is_avx512_vnni_supported() -> bool:
    return "avx512_vnni" in _flags()


def _is_avx512_bf16_supported() -> bool:
    return "avx512_bf16" in _flags()


def _is_amx_tile_supported() -> bool:
    return "amx_tile" in _flags()


def _is_amx_fp16_supported() -> bool:
    return "amx_fp16" in _flags()


def _init_amx() -> bool:
    """Kernels here don't use AMX."""
    return False


def _L2_cache_size() -> int:
    return _cache_size(2)


def _cache_size(index: int) -> int:
    try:
        text = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size").read_text(encoding="utf-8").strip()
    except OSError:
        return 0
    return int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
