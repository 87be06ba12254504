"""``torch.autograd.gradcheck``: gradients against differences of the function's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.errors import GradcheckError
from shim_torch._impl.surface.missing import missing as _missing
from shim_torch._impl.table.calls import torch as _torch
from shim_torch.autograd.grad_mode import enable_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
Tensor = _core.Tensor


def _run(func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> bool:
    from shim_torch._impl.autograd import batched_gradient_checks as _batched
    from shim_torch._impl.autograd import gradient_checks as _c
    from shim_torch._impl.autograd import jacobians as _j

    if not options["check_backward_ad"] and not options["check_forward_ad"]:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if options["check_batched_grad"] and not options["check_backward_ad"]:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if options["check_batched_forward_grad"] and not options["check_forward_ad"]:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    wanted = _c.check_inputs(inputs)
    with enable_grad():
        floats = _j.float_outputs(func(*inputs))
        if any(o.layout is not _core.strided for o in floats):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
                "gradcheck."
            )
        outputs = [o for _, o in _c.required(floats)]
        if not outputs:
            _c.check_constant(func, inputs, wanted, options)
        elif options["check_backward_ad"]:
            (_c.check_backward_fast if options["fast_mode"] else _c.check_backward)(func, inputs, wanted, options)
        if options["check_forward_ad"] and outputs:
            _c.check_forward(func, inputs, options)
            if options["check_undefined_grad"]:
                _c.check_missing_tangents(func, inputs)
        if options["check_batched_forward_grad"]:
            _batched.check_batched_forward(func, inputs)
        if not options["check_backward_ad"] or not outputs:
            return True
        if options["check_batched_grad"]:
            for k, output in enumerate(outputs):
                _batched.check_batched(output, wanted, k)
        _c.check_multiplied(outputs, wanted, bool(options["masked"]))
        if options["check_undefined_grad"]:
            _c.check_undefined(func, inputs, wanted)
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
    """Compares the gradients of ``func`` with central differences; the whole Jacobian, or in
    ``fast_mode`` one random combination of its elements, an input and an output.

    Inputs that require gradients should be float64 or complex128. Raises GradcheckError, or gives False where
    ``raise_exception`` is off.
    """
    options = dict(locals())
    from shim_torch._impl.autograd import jacobians as _j

    given = _j.as_tuple(inputs)
    if any(isinstance(x, Tensor) and x.requires_grad and x.layout is not _core.strided for x in given):
        from shim_torch._impl.sparse.gradcheck import as_sparse_gradcheck

        rest = {n: v for n, v in options.items() if n not in ("func", "inputs")}
        return bool(as_sparse_gradcheck(gradcheck)(func, given, **rest))
    try:
        return _run(func, given, options)
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
    options = {name: value for name, value in locals().items() if name in (gradcheck.__kwdefaults__ or ())}
    from shim_torch._impl.autograd import jacobians as _j

    if not (check_rev_over_rev or check_fwd_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name in ("check_undefined_grad", "check_batched_grad"):
        if options[name] and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    given = _j.as_tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple(_random_like(o, gen_non_contig_grad_outputs) for o in _differentiable(func, given))
    seeds = _j.as_tuple(grad_outputs)
    return gradcheck(
        _gradients_of(func, given, seeds),
        given + seeds,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        **options,
    )


def _differentiable(func: Callable[..., Any], given: tuple[Any, ...]) -> list[Any]:
    from shim_torch._impl.autograd import gradient_checks as _c
    from shim_torch._impl.autograd import jacobians as _j

    return [o for _, o in _c.required(_j.float_outputs(func(*given)))]


def _gradients_of(func: Callable[..., Any], inputs: tuple[Any, ...], seeds: tuple[Any, ...]) -> Callable[..., Any]:
    """The function from inputs and gradients of the outputs, like those given, to the gradients of the inputs."""
    split = len(inputs)
    is_leaf = [isinstance(x, Tensor) and x.requires_grad for x in inputs + seeds]

    def gradients(*args: Any) -> Any:
        from shim_torch._impl.autograd import jacobians as _j
        from shim_torch.autograd import grad

        for x, wants in zip(args, is_leaf, strict=True):
            if wants and not x.requires_grad:
                x.requires_grad_()  # the forward mode's inputs come detached
        with enable_grad():
            outputs = _differentiable(func, args[:split])
            found = grad(outputs, _j.flat_inputs(args[:split]), args[split:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradients


def _random_like(x: Any, noncontiguous: bool) -> Any:
    """Values in (-1, 1) that want a gradient."""
    shape = (*x.shape, 2) if noncontiguous and x.numel() > 1 else tuple(x.shape)
    values = _torch.rand(shape, dtype=x.dtype, device=x.device) * 2 - 1
    return (values[..., 0] if len(shape) > x.dim() else values).detach().requires_grad_()


for _function in (gradcheck, gradgradcheck):
    _function.__module__ = "torch.autograd.gradcheck"


def __getattr__(name: str) -> Any:
    if name in ("_get_numerical_jacobian", "_iter_tensors", "get_analytical_jacobian", "get_numerical_jacobian"):
        from shim_torch._impl.autograd import old_jacobians

        return getattr(old_jacobians, name)
    return _missing("torch.autograd.gradcheck", name)
