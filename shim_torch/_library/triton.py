"""``torch._library.triton``: custom operators that launch Triton kernels, and the switch of their capture.

A kernel wrapped by :func:`wrap_triton` is the kernel itself: nothing here traces a program in a way that would have to see
it. The switch and the table of an operator's kernels answer as PyTorch's do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shim_torch._impl.surface import naming

from .custom_ops import CustomOpDef, custom_op

__all__ = [
    "CustomOpDef",
    "capture_triton",
    "custom_op",
    "get_inner_triton_kernels",
    "get_triton_kernels_for_op",
    "is_wrap_triton_enabled",
    "set_wrap_triton_enabled",
    "triton_op",
    "triton_ops_to_kernels",
    "wrap_triton",
]

wrap_triton_enabled = threading.local()
wrap_triton_enabled_default = True

triton_ops_to_kernels: dict[str, list[object]] = {}
"""The kernels of operators that were asked about, by qualified name."""

_triton_functions: dict[str, Callable[..., Any]] = {}
"""The implementations given to :func:`triton_op`, by qualified name."""


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """A custom operator whose implementation launches Triton kernels through :func:`wrap_triton`."""

    def wrap(function: Callable[..., Any]) -> CustomOpDef:
        definition: CustomOpDef = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        _triton_functions[name] = function
        return definition

    return wrap if fn is None else wrap(fn)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself: there is no tracing here that would need to see it."""
    return triton_kernel


def get_triton_kernels_for_op(name: str) -> list[object]:
    """The Triton kernels that the implementation of ``triton_op`` ``name`` wraps; none for other names."""
    if name not in triton_ops_to_kernels:
        function = _triton_functions.get(name)
        if function is None:
            return []
        triton_ops_to_kernels[name] = get_inner_triton_kernels(function)
    return triton_ops_to_kernels[name]


def get_inner_triton_kernels(fn: Callable[..., Any]) -> list[object]:
    """The kernels that ``fn`` names as the argument of ``wrap_triton`` or ``capture_triton``, in their order.

    A function whose source cannot be read wraps none that could be seen.
    """
    import ast
    import inspect
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError):
        return []
    seen = inspect.getclosurevars(inspect.unwrap(fn))
    names = {**seen.globals, **seen.nonlocals}
    kernels: list[object] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        kernel = names.get(node.args[0].id)
        if called in ("wrap_triton", "capture_triton") and kernel is not None and kernel not in kernels:
            kernels.append(kernel)
    return kernels


@contextlib.contextmanager
def set_wrap_triton_enabled(enabled: bool) -> Iterator[None]:
    """Whether wrapped kernels are to be captured, within a ``with`` statement and this thread."""
    before = is_wrap_triton_enabled()
    wrap_triton_enabled.value = enabled
    try:
        yield
    finally:
        wrap_triton_enabled.value = before


def is_wrap_triton_enabled() -> bool:
    """Whether wrapped kernels are to be captured in this thread."""
    return bool(getattr(wrap_triton_enabled, "value", wrap_triton_enabled_default))


def capture_triton(triton_kernel: Callable[..., Any], /) -> Any:
    """The older name of :func:`wrap_triton`."""
    return wrap_triton(triton_kernel)


naming.present(globals(), elsewhere={"torch.library": ["triton_op", "wrap_triton"]})
