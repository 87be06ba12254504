"""``torch._C._functorch``: the levels of functorch transforms, of which there are none."""

from __future__ import annotations

from typing import Any


def is_batchedtensor(tensor: Any) -> bool:
    return False


is_gradtrackingtensor = is_functionaltensor = is_legacy_batchedtensor = is_functorch_wrapped_tensor = is_batchedtensor


def maybe_get_level(tensor: Any) -> int:
    return -1


def maybe_current_level() -> None:
    return None


def peek_interpreter_stack() -> None:
    return None


def get_unwrapped(tensor: Any) -> Any:
    return tensor


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._functorch", name)
