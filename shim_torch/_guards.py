"""``torch._guards``: what PyTorch's compiler knows about the function it compiles; nothing is being compiled here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def active_fake_mode() -> Any:
    """The FakeTensorMode of the ``with`` block we are in, or None."""
    from shim_torch._impl.transforms.fake.modes import active

    return active()


def detect_fake_mode(inputs: Any = None) -> Any:
    """The FakeTensorMode that is active, or that a fake tensor among the inputs belongs to, or None."""
    from shim_torch._subclasses.fake_tensor import FakeTensor
    from shim_torch.utils._pytree import tree_leaves

    context = TracingContext.try_get()
    found = context.fake_mode if context is not None and context.fake_mode is not None else active_fake_mode()
    if found is not None:
        return found
    return next((x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)), None)


class TracingContext:
    """What a trace knows: its fake mode."""

    _current: TracingContext | None = None

    def __init__(self, fake_mode: Any = None) -> None:
        self.fake_mode = fake_mode

    @staticmethod
    def try_get() -> TracingContext | None:
        """The context of the ``with tracing(...)`` we are in, or None."""
        return TracingContext._current

    @staticmethod
    def get() -> TracingContext:
        """As try_get. Errors: RuntimeError where there is none."""
        found = TracingContext._current
        if found is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return found


@contextlib.contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """Within it ``context`` is the current one."""
    before, TracingContext._current = TracingContext._current, context
    try:
        yield context
    finally:
        TracingContext._current = before


class CompileContext:
    """The state of a compilation: none."""

    @staticmethod
    def try_get() -> None:
        """None: nothing is being compiled by PyTorch's compiler."""
        return None

    @staticmethod
    def current_compile_id() -> None:
        """None, as ``try_get``."""
        return None

    @staticmethod
    def current_trace_id() -> None:
        """None, as ``try_get``."""
        return None


class Source:
    """Where a compiled function's value comes from."""


class Guard:
    """A condition of a compiled function."""
