"""The checks of ``torch.library.opcheck``: schema, autograd registration, fake kernel, tracing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table import rules


class OpCheckError(Exception):
    """Raised by ``opcheck`` for a failed check."""


def error_class() -> type[OpCheckError]:
    """The class to raise: where PyTorch's test support is loaded, its class of that name is a base of it too."""
    theirs = getattr(sys.modules.get("torch.testing._internal.optests"), "OpCheckError", None)
    return OpCheckError if theirs is None else type("OpCheckError", (OpCheckError, theirs), {})


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, _core.TensorBase):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_each(v, change) for v in value)
    if isinstance(value, dict):
        return {n: _each(v, change) for n, v in value.items()}
    return value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return _flat(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _flat(v)]
    return [value] if isinstance(value, _core.TensorBase) else []


def _copy(t: Any) -> Any:
    return t.detach().clone().requires_grad_(t.requires_grad)


def test_schema(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Checks that writes and aliases of the operator are those that its schema declares."""
    from shim_torch._subclasses.schema_check_mode import SchemaCheckMode

    with SchemaCheckMode():
        op(*_each(args, _copy), **_each(kwargs, _copy))


_AUTOGRAD_KEYS = ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradXPU", "CompositeImplicitAutograd", "")


def _has_formula(op: Any) -> bool:
    """Whether the operator has a kernel at an autograd or composite key, where PyTorch looks for gradients."""
    if op.namespace == "aten":
        return True
    kernels = _core.kernels_of(op._qualified_op_name, op._overload)
    return any(key in kernels for key in _AUTOGRAD_KEYS)


def _misplaced(op: Any, args: Any, kwargs: Any) -> bool:
    """Whether results require gradients although the operator has no gradient formula."""
    if _has_formula(op):
        return False
    given = [id(t) for t in _flat((args, kwargs))]
    return any(t.requires_grad and id(t) not in given for t in _flat(op(*args, **kwargs)))


def test_autograd_registration(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Checks that gradients are registered at an Autograd key, not recorded by calls within a device's kernel."""
    tensors = _flat((args, kwargs))
    if not any(t.requires_grad for t in tensors):
        return
    kinds = {t.device.type for t in tensors}
    if not kinds <= {"cpu", "cuda", "xpu"}:
        raise NotImplementedError(f"autograd_registration_check: NYI devices other than CPU/CUDA/XPU, got {kinds}")
    if _misplaced(op, _each(args, _copy), _each(kwargs, _copy)):
        raise AssertionError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have an autograd "
            "kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have incorrectly registered an "
            "autograd kernel to a non-Autograd DispatchKey, which may lead to silently incorrect results. If your operator consists "
            "of regular PyTorch operations, consider not using an operator at all or registering your operator as "
            "CompositeImplicitAutograd. If you have an autograd.Function registered to a backend (CPU/CUDA/XPU) key, the correct "
            "location for it is the Autograd key."
        )


def _fake(op: Any, args: Any, kwargs: Any, size: int = 3) -> Any:
    """What the fake kernel gives where each size that depends on data is ``size``."""
    from shim_torch._library.fake_impl import _sizes_of_data

    def meta(t: Any) -> Any:
        return t.detach().to("meta").requires_grad_(t.requires_grad)

    try:
        with _sizes_of_data(size):
            return op(*_each(args, meta), **_each(kwargs, meta))
    except NotImplementedError as error:
        if rules.gives_nothing(op._schema):
            return None
        from shim_torch._subclasses.fake_tensor import UnsupportedOperatorException

        raise UnsupportedOperatorException(f"{op}: {error}") from error


def test_faketensor(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Checks that results of the fake kernel have the real ones' shapes, dtypes, strides and requires_grad."""
    from shim_torch._subclasses.fake_utils import MetadataMismatchError

    fake, other = _flat(_fake(op, args, kwargs)), _flat(_fake(op, args, kwargs, size=5))
    real = _flat(op(*_each(args, _copy), **_each(kwargs, _copy)))
    where = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched tensor metadata: "
    if len(fake) != len(real):
        raise MetadataMismatchError(f"{where}{len(fake)} != {len(real)} outputs")
    for f, o, r in zip(fake, other, real, strict=True):
        known = [
            a if a == b else c for a, b, c in zip(f.shape, o.shape, r.shape, strict=False)
        ]  # sizes of data are any
        if f.dim() != r.dim() or known != list(r.shape):
            raise MetadataMismatchError(f"{where}Shapes {r.shape} and {f.shape} are not equal!")
        if f.dtype is not r.dtype:
            raise MetadataMismatchError(f"{where}Dtypes {f.dtype} and {r.dtype} are not equal!")
        if f.requires_grad != r.requires_grad:
            raise MetadataMismatchError(f"{where} mismatched requires_grad-ness of outputs")
        if r.numel() > 1 and f.shape == o.shape and f.stride() != r.stride():
            raise MetadataMismatchError(f"{where}Stride mismatch! Strides are {f.stride()} and {r.stride()} ")


def _traced(op: Any, args: Any, kwargs: Any, atol: float | None, rtol: float | None) -> None:
    import shim_torch as torch
    from shim_torch._impl.transforms.functional_variants import refuse_aliases

    refuse_aliases(op)
    _fake(op, args, kwargs)  # compilation runs the fake kernel first
    if _misplaced(op, _each(args, _copy), _each(kwargs, _copy)):
        raise AssertionError(
            "Gradients of the operator are different in eager-mode PyTorch vs AOTDispatcher. This means the operator will have "
            "incorrect gradients underneath torch.compile. This could be because the operator's backward is incorrectly registered "
            "or not traceable."
        )
    from shim_torch.fx.experimental.proxy_tensor import make_fx

    leaves = [t.detach().clone() for t in _flat((args, kwargs))]

    def run(*tensors: Any) -> Any:
        rest = iter(tensors)
        return op(*_each(args, lambda _: next(rest)), **_each(kwargs, lambda _: next(rest)))

    graph = make_fx(run)(*(t.clone() for t in leaves))
    given: Any = {} if atol is None and rtol is None else {"atol": atol, "rtol": rtol}
    torch.testing.assert_close(
        _flat(run(*(t.clone() for t in leaves))), _flat(graph(*(t.clone() for t in leaves))), **given,
        msg="Outputs of the operator are different in eager-mode PyTorch vs AOTDispatcher. This means the operator will have "
        "incorrect output underneath torch.compile.",
    )  # fmt: skip


def test_aot_dispatch_static(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], atol: float | None = None, rtol: float | None = None
) -> None:
    """Checks that a traced graph gives the operator's results, and that there is a gradient formula."""
    _traced(op, args, kwargs, atol, rtol)


# In PyTorch's order; sizes here are plain integers, so that the dynamic check is the static one.
CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": test_schema,
    "test_autograd_registration": test_autograd_registration,
    "test_faketensor": test_faketensor,
    "test_aot_dispatch_static": test_aot_dispatch_static,
    "test_aot_dispatch_dynamic": test_aot_dispatch_static,
}
