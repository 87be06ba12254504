"""``tl.extra.cuda``: what a kernel asks of the GPU it runs on. An interpreted program is alone, on one of nothing."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

_WARPS = 4  # Triton's own number where a launch names none; the interpreter doesn't keep what it names


def _questions(cuda: ModuleType, patch: Patch) -> None:
    def number(value: int) -> Any:
        return lambda *_, **__: value

    def nothing(*_: Any, **__: Any) -> None:
        pass

    answers: dict[str, Any] = {
        "num_warps": number(_WARPS),
        "num_threads": number(_WARPS * 32),
        "smid": number(0),
        "globaltimer": lambda *_, **__: time.time_ns(),
        "gdc_wait": nothing,  # the launch before is over
        "gdc_launch_dependents": nothing,
    }
    for name, answer in answers.items():
        if hasattr(cuda, name):
            answer.__name__ = name
            patch.set(cuda, name, answer)


MENDS = (Mend("tl.extra.cuda", "num_threads, smid, globaltimer, gdc_wait", "triton.language.extra.cuda", _questions),)
