"""The checks that ``gradcheck`` is made of; each raises GradcheckError."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd import jacobians as _j
from shim_torch._impl.native import _core
from shim_torch._impl.surface.errors import GradcheckError
from shim_torch._impl.table.calls import torch

Tensor = _core.Tensor


def check_inputs(inputs: tuple[Any, ...]) -> list[Any]:
    """The tensors among the inputs that require gradients.

    Warns of those below double precision. Errors: ValueError where there are none, RuntimeError for a stride of 0.
    """
    wanted = _j.flat_inputs(inputs)
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if t.dtype not in (_core.float64, _core.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if t.layout == _core.strided and any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride(), strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    return wanted


def check_constant(
    func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Any], options: dict[str, Any]
) -> None:
    """Outputs that want no gradient must not move with the inputs."""
    for x, u in zip(wanted, _vectors(wanted), strict=True):
        if options["fast_mode"]:
            slopes = [d for v in u for d in _j.difference_along(func, inputs, x, v, options["eps"])]
        else:
            factors = (1, 1j) if x.is_complex() else (1,)
            slopes = [m for found in _j.difference_jacobians(func, inputs, x, options["eps"], factors) for m in found]
        tolerance = options["nondet_tol"] if options["fast_mode"] else 0.0
        if any(s.numel() and bool((s.abs().max() > tolerance).item()) for s in slopes):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _vectors(tensors: list[Any]) -> list[tuple[Any, ...]]:
    """Random vectors of length one, and for a complex tensor a second one times i."""
    from shim_torch._impl.tensor.generator import Generator

    generator = Generator()
    found = []
    for t in tensors:
        made = []
        for factor in (1, 1j) if t.is_complex() else (1,):
            vector = torch.rand(t.numel(), generator=generator, device="cpu").to(_core.float64)
            made.append(((vector / vector.norm()) * factor).to(t.device))
        found.append(tuple(made))
    return found


def _mismatch(which: str, mode: str, k: int, j: int, numerical: Any, analytical: Any) -> str:
    element = "inputs" if mode else "outputs"
    where = f"While considering the {which} part of complex {element} only, " if which else ""
    return (
        f"{where}Jacobian {mode}mismatch for output {k} with respect to input {j},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _in_full(numerical: Any, analytical: Any, options: dict[str, Any]) -> str:
    """What the fast mode adds to its error: the whole Jacobians."""
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max()}.\n"
    )
    if _j.close(analytical, numerical, options["rtol"], options["atol"]):
        text += "\nFast gradcheck failed but element-wise differences are small. This means that the\n"
        text += "test might've passed in slow_mode!\n"
    return text


def required(outputs: list[Any]) -> list[tuple[int, Any]]:
    """(place among the float outputs, output) of those that want gradients."""
    return [(n, o) for n, o in enumerate(outputs) if o.requires_grad]


def _pieces(outputs: list[Any]) -> list[tuple[int, int, str, Any, Any]]:
    """(index, place, name of the part, part, its tensor): imaginary parts first."""
    found = [(k, n, name, part, part(o)) for k, (n, o) in enumerate(required(outputs)) for name, part in _j.parts(o)]
    return sorted(found, key=lambda f: f[2] == "real")


def check_backward(
    func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Any], options: dict[str, Any]
) -> None:
    """Compares the Jacobians of backward, element by element, with differences of the outputs."""
    outputs = _j.float_outputs(func(*inputs))
    numerical = [_j.numerical_jacobians(func, inputs, x, options["eps"]) for x in wanted]
    for k, n, name, part, piece in _pieces(outputs):
        for j, a in enumerate(_j.backward_jacobians(piece, wanted, options)):
            m = numerical[j][n](part)
            if not _j.close(a, m, options["rtol"], options["atol"]):
                raise GradcheckError(_mismatch(name, "", k, j, m, a))


def check_backward_fast(
    func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Any], options: dict[str, Any]
) -> None:
    """One number a pair of input and output: a random combination of the Jacobian's elements."""
    eps = options["eps"]
    directions = _vectors(wanted)
    slopes = [
        [_j.difference_along(func, inputs, x, d, eps) for d in u] for x, u in zip(wanted, directions, strict=True)
    ]
    pieces = _pieces(_j.float_outputs(func(*inputs)))
    for k, n, name, part, piece in pieces:
        (v,) = _vectors([piece.detach()])[0]
        pulled = _j.backward_jacobians(piece, wanted, options, v)
        for j, x in enumerate(wanted):
            g, u = pulled[j][:, 0], directions[j]
            moved = [(v.to(part(s[n]).dtype) * part(s[n])).sum() for s in slopes[j]]
            if x.is_complex():
                real, imaginary = _j.split(g)
                analytical = (real * u[0]).sum() + 1j * (imaginary * u[1].imag).sum()
                numerical = moved[0] + 1j * moved[1]
            else:
                analytical, numerical = (g * u[0].to(g.dtype)).sum(), moved[0]
            if not _j.close(analytical, numerical, options["rtol"], options["atol"] * _length(u) * float(v.sum())):
                full = _j.numerical_jacobians(func, inputs, x, eps)[n](part)
                whole = _j.backward_jacobians(piece, wanted, {**options, "nondet_tol": float("inf")})[j]
                raise GradcheckError(_mismatch(name, "", k, j, numerical, analytical) + _in_full(full, whole, options))


def _length(u: tuple[Any, ...]) -> float:
    return float(sum(d.abs().sum() for d in u))


def check_forward(func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Compares the Jacobians of forward mode with differences of the outputs; in fast mode along one direction only."""
    outputs = required(_j.float_outputs(func(*inputs)))
    eps, rtol, atol = options["eps"], options["rtol"], options["atol"]
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    for j, i in enumerate(places):
        x = inputs[i]
        names = (("real", 1), ("imaginary", 1j)) if x.is_complex() else (("", 1),)
        for (name, factor), u in reversed(list(zip(names, _vectors([x])[0], strict=True))):
            if options["fast_mode"]:
                numerical = _j.difference_along(func, inputs, x, u, eps)
                analytical = _j.forward_along(func, inputs, i, u, options)
                atol = options["atol"] * float(u.abs().sum())
            else:
                numerical = [f[0] for f in _j.difference_jacobians(func, inputs, x, eps, (factor,))]
                analytical = _j.forward_jacobians(func, inputs, i, factor, options)
            for k, (n, _) in enumerate(outputs):
                if _j.close(analytical[n], numerical[n], rtol, atol):
                    continue
                text = _mismatch(name, "computed with forward mode ", k, j, numerical[n], analytical[n])
                if options["fast_mode"]:
                    full = _j.difference_jacobians(func, inputs, x, eps, (factor,))[n][0]
                    text += _in_full(full, _j.forward_jacobians(func, inputs, i, factor, options)[n], options)
                raise GradcheckError(text)


def check_missing_tangents(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    vectors = _vectors([inputs[i] for i in places])
    for factor in (0, 1) if any(len(u) > 1 for u in vectors) else (0,):
        moving = {
            i: u[min(factor, len(u) - 1)].to(inputs[i].dtype).reshape(inputs[i].shape)
            for i, u in zip(places, vectors, strict=True)
        }
        for i in places:
            zeros = _j.push_forward(func, inputs, {**moving, i: 0})
            absent = _j.push_forward(func, inputs, {**moving, i: None})
            for k, ((_, a), (_, b)) in enumerate(zip(zeros, absent, strict=True)):
                if a is not None and b is not None and not _j.close(a, b, 1e-5, 1e-8):
                    text = ("Mismatch in tangent values for output with index: ", k, " when input: ", inputs[i])
                    raise GradcheckError(*text, " has an undefined tangent value. ", " Got: ", a, " but expected: ", b)


def check_multiplied(outputs: list[Any], wanted: list[Any], masked: bool) -> None:
    """A zero gradient of the outputs must give zero gradients of the inputs."""
    from shim_torch.autograd import grad

    zeros = [torch.zeros(tuple(o.shape), dtype=o.dtype, device=o.device) for o in outputs]
    for g, t in zip(grad(outputs, wanted, zeros, allow_unused=True, retain_graph=True), wanted, strict=True):
        if g is None:
            continue
        if g.layout != t.layout:
            raise GradcheckError(f"grad is incorrect layout (got {g.layout}, expected {t.layout})")
        moved = not _j.close(g, torch.zeros_like(g), 1e-5, 1e-8) if masked else bool((g != 0).any().item())
        if moved:
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != t.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != t.device:
            raise GradcheckError("grad is incorrect device")
        if g.shape != t.shape:
            raise GradcheckError("grad is incorrect size")


def _without_gradient(outputs: list[Any]) -> list[Any]:
    """The outputs, through a function whose backward gives nothing."""
    from shim_torch.autograd.function import Function

    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            return tuple(x.detach() for x in xs)

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            return tuple(None for _ in gs)

    return list(_j.as_tuple(Nothing.apply(*outputs)))


def check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Any]) -> None:
    """Gradients that never arrive, of all outputs or of one, count as zeros."""
    outputs = [o for _, o in required(_j.float_outputs(func(*inputs)))]
    _check_undefined_support(_without_gradient(outputs), wanted)
    for k in range(len(outputs) if len(outputs) > 1 else 0):
        again = [o for _, o in required(_j.float_outputs(func(*inputs)))]
        again[k] = _without_gradient([again[k]])[0]
        _check_undefined_support(again, wanted)


def _check_undefined_support(outputs: list[Any], wanted: list[Any]) -> None:
    from shim_torch.autograd import grad

    zeros = [torch.zeros(tuple(o.shape), dtype=o.dtype, device=o.device) for o in outputs]
    try:
        grads = grad(outputs, wanted, zeros, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        _warn_of_undefined()
        raise GradcheckError(
            'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
            'gradients" in "tools/autograd/derivatives.yaml"'
        ) from error
    if any(g is not None and bool((g != 0).any().item()) for g in grads):
        _warn_of_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
            '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
        )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
        'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to '
        "disable the feature",
        stacklevel=3,
    )
