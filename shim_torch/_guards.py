"""``torch._guards``: what PyTorch's compiler knows about the function it compiles; nothing is being compiled here."""

from __future__ import annotations

from typing import Any


def active_fake_mode() -> Any:
    """The FakeTensorMode of the ``with`` block we are in, or None."""
    from shim_torch._subclasses import fake_tensor

    return fake_tensor._active()


def detect_fake_mode(inputs: Any = None) -> Any:
    """The FakeTensorMode that is active, or that a fake tensor among the inputs belongs to, or None."""
    from shim_torch._subclasses.fake_tensor import FakeTensor
    from shim_torch.utils._pytree import tree_leaves

    found = active_fake_mode()
    if found is not None:
        return found
    return next((x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)), None)


class TracingContext:
    """The state of a compilation: none."""

    @staticmethod
    def try_get() -> None:
        return None

    @staticmethod
    def get() -> None:
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


class CompileContext:
    """The state of a compilation: none."""

    @staticmethod
    def try_get() -> None:
        return None

    @staticmethod
    def current_compile_id() -> None:
        return None

    @staticmethod
    def current_trace_id() -> None:
        return None


class Source:
    """Where a compiled function's value comes from."""


class Guard:
    """A condition of a compiled function."""


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._guards", name)
