"""Jacobians by differences and by backward passes, for ``gradcheck``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from native import _core

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
