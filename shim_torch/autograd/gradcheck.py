"""``torch.autograd.gradcheck``: gradients against differences of the function's values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from native import _core
from shim_torch.autograd._jacobians import (
    GradcheckError,
    Tensor,
    _analytical,
    _as_tuple,
    _close,
    _flat_inputs,
    _numerical,
    _outputs,
    _parts,
)
from shim_torch.autograd._old_jacobians import _get_numerical_jacobian as _get_numerical_jacobian
from shim_torch.autograd._old_jacobians import _iter_tensors as _iter_tensors
from shim_torch.autograd._old_jacobians import get_analytical_jacobian as get_analytical_jacobian
from shim_torch.autograd._old_jacobians import get_numerical_jacobian as get_numerical_jacobian
from shim_torch.autograd.grad_mode import enable_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def _check_inputs(inputs: tuple[Any, ...]) -> list[Any]:
    import shim_torch

    wanted = _flat_inputs(inputs)
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if t.dtype not in (shim_torch.float64, shim_torch.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if t.layout == shim_torch.strided and any(size > 1 and stride == 0 for size, stride in zip(t.shape, t.stride(), strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
        t.retain_grad()
    return wanted


def _check_output(
    func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Any], k: int, options: dict[str, Any]
) -> None:
    out = _outputs(func(*inputs))[k]
    for name, part in _parts(out):
        piece = part(out)
        if piece.requires_grad:
            analytical = _analytical(piece, wanted)
            again = _analytical(piece, wanted)
            unused = False
        else:
            analytical = again = [x.new_zeros((x.numel(), piece.numel())) for x in wanted]
            unused = True
        for j, x in enumerate(wanted):
            numerical = _numerical(func, inputs, x, part, k, options["eps"])
            if unused:
                if bool((numerical != 0).any().item()):
                    raise GradcheckError("Numerical gradient for function expected to be zero")
                continue
            if not _close(analytical[j], numerical, options["rtol"], options["atol"]):
                where = f"While considering the {name}inary part of complex outputs only, " if name == "imag" else ""
                where = "While considering the real part of complex outputs only, " if name == "real" else where
                raise GradcheckError(
                    f"{where}Jacobian mismatch for output {k} with respect to input {j},\n"
                    f"numerical:{numerical}\nanalytical:{analytical[j]}\n"
                )
            if not _close(analytical[j], again[j], 0.0, options["nondet_tol"]):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient.The tolerance for "
                    f"nondeterminism was {options['nondet_tol']}."
                )


def _check_multiplied(outputs: list[Any], wanted: list[Any]) -> None:
    """A zero gradient of the outputs must give zero gradients of the inputs."""
    from shim_torch.autograd import grad

    outputs = [o for o in outputs if o.requires_grad]
    if not outputs:
        raise GradcheckError("no Tensors requiring grad found in input")
    grads = grad(outputs, wanted, [o.new_zeros(o.shape) for o in outputs], allow_unused=True, retain_graph=True)
    for g, t in zip(grads, wanted, strict=True):
        if g is None:
            continue
        if g.shape != t.shape:
            raise GradcheckError("grad is incorrect size")
        if g.dtype != t.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != t.device:
            raise GradcheckError("grad is on incorrect device")
        if bool((g != 0).any().item()):
            raise GradcheckError("backward not multiplied by grad_output")


def _check_undefined(outputs: list[Any], wanted: list[Any]) -> None:
    """Gradients that never arrive count as zeros."""
    from shim_torch.autograd import grad
    from shim_torch.autograd.function import Function

    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            return tuple(x.detach() for x in xs)

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            return tuple(None for _ in gs)

    outputs = [o for o in outputs if o.requires_grad]
    passed = Nothing.apply(*outputs)
    passed = passed if isinstance(passed, tuple) else (passed,)
    text = (
        "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined output gradients' "
        'in "tools/autograd/derivatives.yaml"'
    )
    try:
        grads = grad(passed, wanted, [o.new_ones(o.shape) for o in passed], allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        _warn_of_undefined()
        raise GradcheckError(f"{text}\n\nOriginal error: {error}") from error
    for g in grads:
        if g is not None and bool((g != 0).any().item()):
            _warn_of_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                "'Notes about undefined output gradients' in \"tools/autograd/derivatives.yaml\""
            )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
        "callers of this function. If this is true for you, you can call this function with \"check_undefined_grad=False\" to "
        "disable the feature",
        stacklevel=3,
    )


def _check_batched(output: Any, wanted: list[Any], k: int) -> None:
    """Batched gradients must be those of the single seeds."""
    import shim_torch
    from shim_torch.autograd import grad

    seeds = shim_torch.stack([shim_torch.randn_like(output) for _ in range(2)])
    try:
        batched = grad(output, wanted, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for j, found in enumerate(batched):
        single = [grad(output, wanted[j], s, retain_graph=True, allow_unused=True)[0] for s in seeds]
        if found is not None and not _close(found, shim_torch.stack(single), 1e-5, 1e-8):
            raise GradcheckError(
                f"For output {k} and input {j}:\n\ngradcheck or gradgradcheck failed while testing batched gradient computation.\n"
                f"Got:\n{found}\n\nExpected:\n{shim_torch.stack(single)}"
            )


def _run(func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> bool:
    if not options["check_backward_ad"] and not options["check_forward_ad"]:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if options["check_batched_grad"] and not options["check_backward_ad"]:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if options["check_batched_forward_grad"] and not options["check_forward_ad"]:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    wanted = _check_inputs(inputs)
    with enable_grad():
        outputs = _outputs(func(*inputs))
        if any(o.layout is not _core.strided for o in outputs):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
                "gradcheck."
            )
        if not any(o.requires_grad for o in outputs):
            for k in range(len(outputs)):
                _check_output(func, inputs, wanted, k, options)
            return True
        backward = range(len(outputs)) if options["check_backward_ad"] else ()
        for k in backward:
            _check_output(func, inputs, wanted, k, options)
            if options["check_batched_grad"] and outputs[k].requires_grad:
                _check_batched(outputs[k], wanted, k)
        if options["check_forward_ad"]:
            from shim_torch.autograd.forward_ad import _check_tangents

            _check_tangents(func, inputs, wanted, options)
        if not backward:
            return True
        _check_multiplied(outputs, wanted)
        if options["check_undefined_grad"]:
            _check_undefined(_outputs(func(*inputs)), wanted)
    return True


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of ``func`` with central differences; the whole Jacobian, in ``fast_mode`` too.

    Inputs that require gradients should be float64 or complex128. Raises GradcheckError, or gives False where
    ``raise_exception`` is off.
    """
    options = dict(locals())
    given = _as_tuple(inputs)
    if any(isinstance(x, Tensor) and x.requires_grad and x.layout is not _core.strided for x in given):
        from shim_torch.sparse._gradcheck import as_sparse_gradcheck

        rest = {n: v for n, v in options.items() if n not in ("func", "inputs")}
        return bool(as_sparse_gradcheck(gradcheck)(func, given, **rest))
    try:
        return _run(func, _as_tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """``gradcheck`` of the gradients of ``func``: second derivatives, in ``inputs`` and in ``grad_outputs``."""
    import shim_torch

    inputs = _as_tuple(inputs)
    outputs = [o for o in _outputs(func(*inputs)) if o.requires_grad]
    if grad_outputs is None:
        grad_outputs = tuple(
            shim_torch.rand(o.shape, dtype=o.dtype, device=o.device).mul(2).sub(1).requires_grad_() for o in outputs
        )
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(grad_outputs)

    def first_gradients(*args: Any) -> Any:
        from shim_torch.autograd import grad

        given, seeds = args[:-count], args[-count:]
        with enable_grad():
            results = [o for o in _outputs(func(*given)) if o.requires_grad]
            found = grad(results, _flat_inputs(given), seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


for _object in (GradcheckError, gradcheck, gradgradcheck):
    _object.__module__ = "torch.autograd.gradcheck"
