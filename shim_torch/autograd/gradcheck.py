"""``torch.autograd.gradcheck``: gradients against differences of the function's values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import enable_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
Tensor = _core.Tensor


class GradcheckError(RuntimeError):
    """A gradient that is not what differences say."""


def _differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def _flat_inputs(inputs: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for x in inputs:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found.extend(t for t in x if isinstance(t, Tensor))
    return [t for t in found if t.requires_grad]


def _outputs(result: Any) -> list[Any]:
    return [o for o in _as_tuple(result) if _differentiable(o)]


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


def _parts(out: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """A complex output is checked as its real and its imaginary part."""
    if not out.is_complex():
        return [("", lambda o: o)]
    import shim_torch

    return [
        ("imag", lambda o: shim_torch.view_as_real(o.resolve_conj()).select(-1, 1)),
        ("real", lambda o: shim_torch.view_as_real(o.resolve_conj()).select(-1, 0)),
    ]


def _numerical(
    func: Callable[..., Any], inputs: tuple[Any, ...], x: Any, part: Callable[[Any], Any], k: int, eps: float
) -> Any:
    """d output_k / d x by central differences, as (x.numel(), output.numel()); complex x: d/dRe + i d/dIm."""
    import shim_torch

    def value() -> Any:
        return part(_outputs(func(*inputs))[k].detach()).clone()

    columns = []
    data = x.data
    for index in _indices(tuple(x.shape)):
        original = data[index].item()
        directions = (eps, 1j * eps) if x.is_complex() else (eps,)
        slopes = []
        for step in directions:
            data[index] = original + step
            above = value()
            data[index] = original - step
            below = value()
            data[index] = original
            _check_same(above, below, eps)
            slopes.append(((above - below) / (2 * eps)).reshape(-1))
        columns.append(slopes[0] if len(slopes) == 1 else slopes[0] + 1j * slopes[1])
    if not columns:
        return shim_torch.zeros((0, value().numel()), dtype=x.dtype)
    return shim_torch.stack(columns)


def _check_same(a: Any, b: Any, eps: float) -> None:
    for what, x, y in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
        if x != y:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but got: "
                f"{what}s {x} and {y}."
            )


def _indices(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    import itertools

    return itertools.product(*map(range, shape))


def _analytical(out: Any, wanted: list[Any], factor: float = 1.0) -> list[Any]:
    """For every input, d out / d input as (input.numel(), out.numel()), one backward pass an element of out."""
    import shim_torch

    rows: list[list[Any]] = [[] for _ in wanted]
    for index in _indices(tuple(out.shape)):
        seed = shim_torch.zeros_like(out)
        seed[index] = factor
        grads = _core_grad(out, wanted, seed)
        for i, (g, t) in enumerate(zip(grads, wanted, strict=True)):
            if g is not None and g.shape != t.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if g is not None and g.dtype != t.dtype:
                raise GradcheckError("Analytical gradient has incorrect type")
            rows[i].append(shim_torch.zeros_like(t).reshape(-1) if g is None else g.detach().reshape(-1))
    return [
        shim_torch.stack(r, 1) if r else shim_torch.zeros((t.numel(), 0), dtype=t.dtype)
        for r, t in zip(rows, wanted, strict=True)
    ]


def _core_grad(out: Any, wanted: list[Any], seed: Any) -> tuple[Any, ...]:
    from shim_torch.autograd import grad

    return grad(out, wanted, seed, retain_graph=True, allow_unused=True)


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    import shim_torch

    return a.numel() == 0 or bool(shim_torch.allclose(a, b.to(a.dtype), rtol=rtol, atol=atol, equal_nan=True))


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


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """Deprecated: for each input the Jacobian of the first output by differences, as (input.numel(), output.numel())."""
    warnings.warn(
        "`get_numerical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it "
        "will be removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=2,
    )
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0.")
    given = _as_tuple(inputs)
    for output in _outputs(fn(given)):
        if output.is_complex():
            raise ValueError(
                "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
            )
    wanted = [t for t in _as_tuple(target if target is not None else given) if isinstance(t, Tensor)]
    return [_numerical(lambda *xs: fn(xs), given, x, lambda o: o, 0, eps) for x in wanted if x.requires_grad]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """Deprecated: (Jacobians of the inputs, reentrant, sizes are right, dtypes are right)."""
    warnings.warn(
        "`get_analytical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it "
        "will be removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=2,
    )
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0.")
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs."
        )
    wanted = _flat_inputs(_as_tuple(inputs))
    import shim_torch

    sizes, dtypes = True, True
    columns: list[list[Any]] = [[] for _ in wanted]
    again: list[list[Any]] = [[] for _ in wanted]
    for kept in (columns, again):
        for index in _indices(tuple(output.shape)):
            seed = shim_torch.zeros_like(output)
            seed[index] = grad_out
            for i, (g, x) in enumerate(zip(_core_grad(output, wanted, seed), wanted, strict=True)):
                right = g is None or g.shape == x.shape
                sizes, dtypes = sizes and right, dtypes and (g is None or g.dtype == x.dtype)
                kept[i].append(x.new_zeros(x.numel()) if g is None or not right else g.detach().reshape(-1))
    first, second = ([shim_torch.stack(c, 1) for c in kept] for kept in (columns, again))
    reentrant = all(_close(a, b, 0.0, nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(first), reentrant, sizes, dtypes


for _object in (GradcheckError, gradcheck, gradgradcheck):
    _object.__module__ = "torch.autograd.gradcheck"
