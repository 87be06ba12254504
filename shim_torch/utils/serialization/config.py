"""``torch.utils.serialization.config``: ``load.mmap``, ``load.endianness``, ``load.mmap_flags``, ``save.storage_alignment``…"""

import sys as _sys

from shim_torch.utils._config_module import install_config_module as _install_config_module


class load:
    """Settings of ``torch.load``."""

    mmap = False
    endianness = None
    mmap_flags = None if _sys.platform == "win32" else 2  # mmap.MAP_PRIVATE
    calculate_storage_offsets = False  # storages are found by the archive's table


class save:
    """Settings of ``torch.save``."""

    compute_crc32 = True
    use_pinned_memory_for_d2h = False
    storage_alignment = 64


_install_config_module(_sys.modules[__name__])
