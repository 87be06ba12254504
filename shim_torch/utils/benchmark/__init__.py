"""``torch.utils.benchmark``: timing statements with the GPU's work waited for.

C++ statements, Callgrind's counts and the fuzzers are not here.
"""

from __future__ import annotations

from shim_torch.utils.benchmark.utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)  # fmt: skip
from shim_torch.utils.benchmark.utils.compare import Colorize, Compare
from shim_torch.utils.benchmark.utils.timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
