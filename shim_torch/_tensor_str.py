"""``repr`` and ``str`` of tensors as PyTorch prints them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import no_grad


class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed (torch.set_printoptions)."""
    profiles = {"default": (4, 1000, 3), "short": (2, 1000, 2), "full": (4, math.inf, 3)}
    if profile is not None:
        PRINT_OPTS.precision, PRINT_OPTS.threshold, PRINT_OPTS.edgeitems = profiles[profile]
        PRINT_OPTS.linewidth = 80
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The print options."""
    return {k: getattr(PRINT_OPTS, k) for k in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Print options for a block."""
    old = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**old)


class _Formatter:
    """How the elements of one tensor are printed: integers, fixed or scientific; all of one width."""

    def __init__(self, values: list[Any], floating: bool, exponents: bool = False) -> None:
        self.floating, self.integers, self.scientific = floating, True, False
        self.width = 1
        if not floating:
            self.width = max([1, *(len(str(v)) for v in values)])
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if exponents:  # to PyTorch's float8_e8m0fnu zero is its smallest number, and NaN is finite
            finite = [v for v in values if v != 2.0**-127]
        if not finite:
            return  # zeros, inf, nan: as integers and not aligned
        unknown = any(math.isnan(v) for v in finite)
        large, small = (math.nan, math.nan) if unknown else (max(finite), min(finite))
        self.integers = not unknown and all(v == math.ceil(v) for v in finite)
        if self.integers:
            self.scientific = large / small > 1000.0 or large > 1.0e8
        else:
            self.scientific = large / small > 1000.0 or large > 1.0e8 or small < 1.0e-4
        if PRINT_OPTS.sci_mode is not None:
            self.scientific = PRINT_OPTS.sci_mode
        measured = finite if exponents else [v for v in values if math.isfinite(v) and v != 0]
        widths = [len(self.format(v)) for v in measured]
        self.width = max([self.width, *widths])

    def format(self, value: Any) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:.{PRINT_OPTS.precision}e}"
        elif self.integers:
            text = f"{value:.0f}." if math.isfinite(value) else f"{value}"
        else:
            text = f"{value:.{PRINT_OPTS.precision}f}"
        return " " * (self.width - len(text)) + text


class _ComplexFormatter:
    def __init__(self, values: list[complex]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def format(self, value: complex) -> str:
        real = self.real.format(value.real)
        imag = (self.imag.format(value.imag) + "j").lstrip()
        return real + imag if imag[0] in "+-" else real + "+" + imag


def _row(t: Any) -> list[Any]:
    """The elements of a vector; a class with a handler answers for each."""
    found: list[Any] = t.tolist() if type(t) is _core.Tensor else [t[i].item() for i in range(t.numel())]
    return found


def _values(t: Any, summarize: bool) -> list[Any]:
    """The elements that will be printed, flat."""
    if t.dim() == 0:
        return [t.item()]
    if not summarize:
        return _row(t.reshape(-1))
    edge = PRINT_OPTS.edgeitems
    n = t.size(0)
    places = range(n) if n <= 2 * edge else [*range(edge), *range(n - edge, n)]
    if t.dim() == 1:
        return [t[i].item() for i in places]
    return [v for i in places for v in _values(t[i], True)]


def _vector(t: Any, indent: int, summarize: bool, formatter: Any) -> str:
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (formatter.width + 2)))
    edge, n = PRINT_OPTS.edgeitems, t.size(0)
    if summarize and not edge:
        cells = ["..."]
    elif summarize and n > 2 * edge:
        cells = [formatter.format(v) for v in _row(t[:edge])] + [" ..."]
        cells += [formatter.format(v) for v in _row(t[-edge:])]
    else:
        cells = [formatter.format(v) for v in _row(t)]
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + ("," + "\n" + " " * (indent + 1)).join(lines) + "]"


def _text(t: Any, indent: int, summarize: bool, formatter: Any) -> str:
    if t.dim() == 0:
        return formatter.format(t.item())
    if t.dim() == 1:
        return _vector(t, indent, summarize, formatter)
    edge, n = PRINT_OPTS.edgeitems, t.size(0)
    if summarize and n > 2 * edge:
        rows = [_text(t[i], indent + 1, summarize, formatter) for i in range(edge)] + ["..."]
        rows += [_text(t[i], indent + 1, summarize, formatter) for i in range(n - edge, n)]
    else:
        rows = [_text(t[i], indent + 1, summarize, formatter) for i in range(n)]
    return "[" + ("," + "\n" * (t.dim() - 1) + " " * (indent + 1)).join(rows) + "]"


def _tensor_str(t: Any, indent: int) -> str:
    if t.numel() == 0:
        return "[]"
    summarize = t.numel() > PRINT_OPTS.threshold
    exponents = t.dtype == _core.float8_e8m0fnu
    if t.dtype in (_core.float16, _core.bfloat16) or t.dtype.itemsize == 1 and t.dtype.is_floating_point:
        t = t.float()
    values = _values(t, summarize)
    formatter: Any = (
        _ComplexFormatter(values) if t.dtype.is_complex else _Formatter(values, t.dtype.is_floating_point, exponents)
    )
    return _text(t, indent, summarize, formatter)


def _properties(self: Any) -> list[str]:
    """What follows a tensor's elements where it is not the default: device, size of what shows none, dtype."""
    found = []
    if self.device.type == "cuda" and _core.cuda_device_count() and self.device.index != _core.cuda_current_device():
        found.append(f"device='{self.device}'")
    elif self.device.type not in ("cpu",):
        found.append(f"device='{self.device}'")
    default = _core.get_default_dtype()
    empty = self.numel() == 0
    if self.is_meta or (empty and self.dim() != 1):
        found.append(f"size={tuple(self.shape)}")
    clear = (default,) if self.is_meta or empty else (default, _core.int64, _core.bool, default.to_complex())
    if self.dtype not in clear:
        found.append(f"dtype={self.dtype}")
    return found


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    """What ``repr(tensor)`` is."""
    if _core._len_torch_dispatch_stack():
        from shim_torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():  # printing is no part of what modes are to see
            return _str(self, tensor_contents=tensor_contents)
    from shim_torch._impl.tensor.torch_function import DisableTorchFunctionSubclass
    from shim_torch.nn.parameter import Parameter

    with no_grad(), DisableTorchFunctionSubclass():
        kind = type(self)
        if kind in (_core.Tensor, Parameter):
            prefix = "tensor("
        else:
            prefix = f"{kind.__name__}("
        if self.layout != _core.strided:
            from shim_torch._impl.sparse.printing import text_of

            return text_of(self, prefix)
        indent = len(prefix)
        plain = self.detach() if self.requires_grad else self
        handled = kind.__torch_dispatch__ is not _core._disabled_torch_dispatch_impl
        if type(plain) is not _core.Tensor and not handled:  # what has a handler answers for its elements itself
            plain = plain.as_subclass(_core.Tensor)
        suffixes, shown = _properties(self), "[]"
        if self.is_meta:
            shown = "..."
        elif self.numel() and tensor_contents is None:
            shown = _tensor_str(plain.cpu() if plain.is_cuda else plain, indent)
    text = shown if tensor_contents is None else tensor_contents
    try:
        node = self.grad_fn if self.requires_grad else None
    except RuntimeError:  # a view whose history an in-place write made invalid
        suffixes.append("grad_fn=<Invalid>")
        return _add_suffixes(prefix + text, suffixes, indent)
    if node is not None:
        name = node.name() if hasattr(node, "name") else type(node).__name__
        suffixes.append(f"grad_fn=<{name.rpartition('::')[2]}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = _core._get_tangent(self)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    made = _add_suffixes(prefix + text, suffixes, indent)
    return f"Parameter({made})" if kind is not Parameter and getattr(self, "_is_param", False) else made


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    """The text with its suffixes and the closing bracket; a suffix that would pass PRINT_OPTS.linewidth begins a line."""
    lines, room = [tensor_str], PRINT_OPTS.linewidth - 2  # the first line is to be two shorter
    for suffix in suffixes:
        longer = f"{lines[-1]}, {suffix}"
        if not force_newline and len(longer.rpartition("\n")[2]) <= room:
            lines[-1] = longer
        else:
            lines.append(" " * indent + suffix)
            room, force_newline = PRINT_OPTS.linewidth, False
    return ",\n".join(lines) + ")"


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    return _str(inp, tensor_contents=tensor_contents)
