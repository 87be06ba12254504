"""Dtypes that PyTorch's CPU kernels do not have, where ours would compute something: asked before an operator runs.

A record's ``refuses`` are (kinds, text) as in refusals.py. Further kinds: l half and bfloat16, h half, B bfloat16, u uint8, s the
other integers, m all integers but int64. n: tensors without elements are taken (PyTorch answers before it looks for a kernel). C: only the CPU has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import Record
from shim_torch._impl.table.refusals import kind
from shim_torch._impl.table.rules import NARROW, type_name

# The dtypes that these check on meta tensors too, before they look for a kernel.
_ON_META_TOO = ("cholesky_cpu", "cholesky_inverse_out_cpu", "cholesky_solve_cpu", "geqrf_cpu")


def _refused(kinds: str, dtype: Any) -> bool:
    own = kind(dtype)
    if "B" in kinds and dtype is _core.bfloat16:
        return True
    if own in kinds or ("l" in kinds and dtype in NARROW) or ("h" in kinds and dtype is _core.float16):
        return True
    return own == "i" and (
        ("u" if dtype is _core.uint8 else "s") in kinds or ("m" in kinds and dtype is not _core.int64)
    )


def _refuse(kinds: str, text: str, dtype: Any, device: str) -> None:
    """Raises where the dtype is of a refused kind. Meta tensors know no kernels; CUDA has those of low precision."""
    kernel = " " not in text
    if kernel and ((device == "meta" and text not in _ON_META_TOO) or (device != "cpu" and dtype in NARROW)):
        return
    if not _refused(kinds, dtype) or ("C" in kinds and device == "cuda"):
        return
    name = type_name(dtype)
    if kernel:
        said = text.replace("_cpu", "_cuda") if device == "cuda" else text
        raise NotImplementedError(f"\"{said}\" not implemented for '{name}'")
    raise (NotImplementedError if text[0] == "!" else RuntimeError)(text.lstrip("!").format(name))


def _real_with_gradients(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which refuses complex tensors whose gradient is wanted."""

    def checked(*bound: Any) -> Any:
        for t in bound:
            if isinstance(t, _core.TensorBase) and t.requires_grad and t.dtype.is_complex and _core.is_grad_enabled():
                raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
        return run(*bound)

    return checked


def guarded(record: Record, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which refuses first what PyTorch has no kernel for; a given ``dtype=`` counts for the input's."""
    without = record.traits.get("no_complex_gradient")
    if without is not None:
        run = _real_with_gradients(without, run)
    rules = record.traits.get("refuses")
    if rules is None:
        return run
    first = next(i for i, a in enumerate(record.arguments) if a not in ("n", "equation"))
    asked = record.arguments.index("dtype") if "dtype" in record.arguments else -1
    one_dtype = "one_dtype" in record.traits
    tensor_class = _core.TensorBase
    harmless: dict[Any, bool] = {}  # of a dtype: no rule refuses it, wherever its tensor is

    def checked(*bound: Any) -> Any:
        given = bound[first]
        if asked < 0 and isinstance(given, tensor_class):
            own = given.dtype
            if own not in harmless:
                harmless[own] = not any(_refused(kinds, own) for kinds, _ in rules)
            if harmless[own]:
                return run(*bound)
        tensor = isinstance(given, _core.TensorBase)
        dtype = bound[asked] if asked >= 0 else None
        if dtype is None and tensor:
            dtype = given.dtype
        others = bound[first + 1 : first + 3] if one_dtype else ()
        if any(isinstance(t, _core.TensorBase) and t.dtype != dtype for t in others):
            return run(*bound)  # which says first that they differ
        if dtype is not None:
            for kinds, text in rules:
                if not (tensor and "n" in kinds and given.numel() == 0):
                    _refuse(kinds, text, dtype, given.device.type if tensor else "cpu")
        return run(*bound)

    return checked
