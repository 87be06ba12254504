"""``torch._dynamo.utils``: what libraries ask before they compile. Nothing is compiled here."""

from __future__ import annotations

import functools
import warnings
from collections import Counter, defaultdict
from typing import Any

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)  # what the compiler did: nothing is compiled, it stays empty


def is_compile_supported(device_type: Any) -> bool:
    """False: functions run as they are."""
    return False


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """A warning that is given once in a process."""
    warnings.warn(msg, stacklevel=stacklevel + 1)
