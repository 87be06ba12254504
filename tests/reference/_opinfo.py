"""Cases from the sample inputs that PyTorch ships for its own operator tests; runs where PyTorch is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from _compare import Case, Stored

# How many samples of an operator are taken, by dtype; float32 also with gradients, in place and with out=.
SAMPLES = {"float32": 16, "bfloat16": 2, "float16": 2, "float64": 3, "int64": 6, "int32": 2, "uint8": 3, "int8": 2,
           "bool": 3, "complex64": 4, "complex128": 2}  # fmt: skip
# Where the samples' argument order is not the function's own.
CALLS = {
    "polygamma": "torch.polygamma({1}, {0})",
    "special.polygamma": "torch.special.polygamma({1}, {0})",
    "where": "torch.where({1}, {0}, {2})",
    "einsum": "torch.einsum({1}, *{0})",
    "nn.functional.embedding": "F.embedding({1}, {0})",
    "nn.functional.embedding_bag": "F.embedding_bag({1}, {0})",
    "resize_as_": "{0}.clone().resize_as_({1})",
    "zero_": "{0}.clone().zero_()",
    "resize_": "{0}.clone().resize_({1})",
}
PROPERTIES = {"T", "H", "mT", "mH", "real", "imag"}
# Random numbers are each library's own; uninitialised memory says nothing; what is sparse or jitted is not ours.
SKIPPED = re.compile(
    r"(bernoulli|cauchy|exponential|geometric|log_normal|normal|uniform|multinomial|rand|jiterator|empty|new_empty|sparse"
    r"|to_sparse|svd_lowrank|pca_lowrank|nn\.functional\.(.*dropout|rrelu|fractional|scaled_dot_product_attention$)|native_dropout"
    r"|torch\.ops|_native|masked\.|ops\.|fft\.|stft|istft|signal)"
)


def cases(dtypes: dict[str, int] | None = None) -> Iterator[Case]:
    """Every sample as a case, operators in the order of their names."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in sorted(op_db, key=lambda o: (o.name, o.variant_test_name)):
        if SKIPPED.match(op.name):
            continue
        for dtype, count in SAMPLES.items():
            if getattr(torch, dtype) in op.supported_dtypes("cpu"):
                yield from of_dtype(op, dtype, count)
        yield from refused(op)


def of_dtype(op: Any, dtype: str, count: int) -> Iterator[Case]:
    grad = op.supports_autograd and dtype in ("float32", "float64", "complex64")
    torch.manual_seed(0)
    scale = (
        20.0 if op.name.startswith(("linalg", "nn.functional", "cholesky", "svd", "lu", "pinverse", "matrix")) else 4.0
    )
    for i, sample in enumerate(islice(op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad), count)):
        written = Written()
        try:
            args = [written.value(a) for a in (sample.input, *sample.args)]
            keywords = {k: written.value(v) for k, v in sample.kwargs.items()}
        except TypeError:
            continue
        options = {"grad": 1 if grad else 0, "strides": False, "tolerance": scale}
        yield Case(call(op.name, args, keywords), written.tensors, **options)
        if op.supports_out and dtype in ("float32", "int64") and i < 2 and op.name not in CALLS:
            plain = {n: unleafed(t) for n, t in written.tensors.items()}
            for shape, kind in (((0,), dtype), ((2, 3), "float64")):
                out = Stored(
                    kind,
                    shape,
                    tuple(np.cumprod((1, *shape[:0:-1]))[::-1].tolist()),
                    np.zeros(shape, kind).reshape(-1).view("u1"),
                )
                yield Case(
                    call(op.name, args, {**keywords, "out": "o"}),
                    {**plain, "o": out},
                    grad=0,
                    strides=False,
                    tolerance=scale,
                )
        if op.inplace_variant is not None and i < 3 and args[0] in written.tensors:
            keywords = ", ".join([*args[1:], *(f"{k}={v}" for k, v in keywords.items())])
            name = getattr(op.inplace_variant, "__name__", "")
            if hasattr(torch.Tensor, name):
                yield Case(f"{args[0]}.clone().{name}({keywords})", written.tensors, **options)
                if i == 0 and not written.tensors[args[0]].grad:
                    yield Case(f"{args[0]}.{name}({keywords})", written.tensors, **options)


def refused(op: Any) -> Iterator[Case]:
    if op.error_inputs_func is None:
        return
    try:
        errors = list(op.error_inputs("cpu"))
    except Exception:
        return
    for error in errors:
        written = Written()
        sample = error.sample_input
        try:
            args = [written.value(a) for a in (sample.input, *sample.args)]
            keywords = {k: written.value(v) for k, v in sample.kwargs.items()}
        except TypeError:
            continue
        yield Case(call(op.name, args, keywords), written.tensors, grad=0, strides=False)


def unleafed(spec: Stored) -> Stored:
    return Stored(spec.dtype, spec.shape, spec.strides, spec.data, spec.offset)


def call(name: str, args: list[str], keywords: dict[str, str]) -> str:
    """The call as code."""
    if name in PROPERTIES:
        return f"{args[0]}.{name}"
    if name in CALLS:
        text = CALLS[name].format(*args, *[""] * 3)
        extra = "".join(f", {k}={v}" for k, v in keywords.items())
        return text[:-1] + extra + ")"
    target: Any = torch
    for part in name.split("."):
        target = getattr(target, part, None)
    if callable(target) and not isinstance(target, (torch.dtype, type)):
        inside = ", ".join([*args, *(f"{k}={v}" for k, v in keywords.items())])
        return f"torch.{name}({inside})"
    inside = ", ".join([*args[1:], *(f"{k}={v}" for k, v in keywords.items())])
    return f"{args[0]}.{name}({inside})"


class Written:
    """Arguments as code; tensors get names."""

    def __init__(self) -> None:
        self.tensors: dict[str, Stored] = {}

    def value(self, v: Any) -> str:
        if isinstance(v, torch.Tensor):
            name = f"a{len(self.tensors)}"
            self.tensors[name] = stored(v)
            return name
        if v is None or v is Ellipsis or isinstance(v, (bool, int, str)):
            return "..." if v is Ellipsis else repr(v)
        if isinstance(v, (float, complex)):
            return repr(v) if np.isfinite(v) else f"float('{v}')" if isinstance(v, float) else f"complex('{v}')"
        if isinstance(v, (torch.dtype, torch.layout, torch.memory_format)):
            return str(v)
        if isinstance(v, torch.device):
            return repr(str(v))
        if isinstance(v, slice):
            return f"slice({self.value(v.start)}, {self.value(v.stop)}, {self.value(v.step)})"
        if isinstance(v, torch.Size):
            return f"torch.Size({list(v)})"
        if type(v) is tuple:
            return "(" + "".join(self.value(x) + ", " for x in v) + ")"
        if type(v) is list:
            return "[" + ", ".join(self.value(x) for x in v) + "]"
        if isinstance(v, np.generic):
            return f"np.{type(v).__name__}({v.item()!r})"
        raise TypeError(type(v).__name__)


def stored(t: torch.Tensor) -> Stored:
    """The tensor's storage and place in it."""
    if t.layout is not torch.strided or t.is_quantized or t.device.type != "cpu":
        raise TypeError("no plain tensor")
    bare = t.detach()
    bare = bare.resolve_conj().resolve_neg()
    flat = torch.empty(0, dtype=bare.dtype).set_(bare.untyped_storage())
    data = flat.view(torch.uint8).numpy().copy() if flat.numel() else np.empty(0, "u1")
    return Stored(
        str(t.dtype).removeprefix("torch."),
        tuple(t.shape),
        tuple(bare.stride()),
        data,
        bare.storage_offset(),
        t.requires_grad,
    )
