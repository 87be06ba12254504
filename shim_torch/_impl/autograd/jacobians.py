"""Jacobians for ``gradcheck``: by differences, by backward and by forward mode; whole, or along random vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.errors import GradcheckError
from shim_torch._impl.table.calls import torch

Tensor = _core.Tensor
Function = Callable[..., Any]


def as_tuple(x: Any) -> tuple[Any, ...]:
    """A list or tuple as a tuple; anything else as a tuple of one."""
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def is_differentiable(x: Any) -> bool:
    """Whether ``x`` is a tensor of floats or complex numbers."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def flat_inputs(inputs: Iterable[Any]) -> list[Any]:
    """The tensors that require gradients, those in lists too."""
    found: list[Any] = []
    for x in inputs:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found.extend(t for t in x if isinstance(t, Tensor))
    return [t for t in found if t.requires_grad]


def float_outputs(result: Any) -> list[Any]:
    """The differentiable ones among a function's outputs."""
    return [o for o in as_tuple(result) if is_differentiable(o)]


def indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All indices into an array of ``shape``, the last dim fastest."""
    return itertools.product(*map(range, shape))


def parts(out: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """A complex output is checked by its imaginary and its real part."""
    if not out.is_complex():
        return [("", lambda o: o)]
    return [
        ("imaginary", lambda o: torch.view_as_real(o.resolve_conj()).select(-1, 1)),
        ("real", lambda o: torch.view_as_real(o.resolve_conj()).select(-1, 0)),
    ]


def split(g: Any) -> tuple[Any, Any]:
    """Real and imaginary part, flat."""
    pairs = torch.view_as_real(g.resolve_conj()).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Whether |a - b| <= atol + rtol |b| everywhere; empty tensors are close."""
    if a.numel() == 0:
        return True
    dtype = _core.promote_types(a.dtype, b.dtype)
    return bool(torch.allclose(a.to(dtype), b.to(device=a.device, dtype=dtype), rtol=rtol, atol=atol, equal_nan=True))


# --- differences


def _values(func: Function, inputs: tuple[Any, ...]) -> list[Any]:
    return [o.detach().clone() for o in float_outputs(func(*inputs))]


def _slopes(above: list[Any], below: list[Any], eps: float) -> list[Any]:
    for a, b in zip(above, below, strict=True):
        for what, x, y in (("shape", b.shape, a.shape), ("dtype", b.dtype, a.dtype)):
            if x != y:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but got: "
                    f"{what}s {x} and {y}."
                )
    return [((a - b) / (2 * eps)).reshape(-1) for a, b in zip(above, below, strict=True)]


def difference_along(func: Function, inputs: tuple[Any, ...], x: Any, direction: Any, eps: float) -> list[Any]:
    """For each output, flattened: its central difference as ``x`` moves along ``direction``."""
    data = x.data
    original = data.clone()
    step = (direction * eps).reshape(original.shape).to(original.dtype)
    try:
        data.copy_(original - step)
        below = _values(func, inputs)
        data.copy_(original + step)
        above = _values(func, inputs)
    finally:
        data.copy_(original)
    return _slopes(above, below, eps)


def difference_jacobians(
    func: Function, inputs: tuple[Any, ...], x: Any, eps: float, factors: tuple[complex, ...]
) -> list[list[Any]]:
    """For each output and each of ``factors`` (1 moves the real, 1j the imaginary part): (x.numel(), output.numel())."""
    data = x.data
    columns: list[list[list[Any]]] = []
    for index in indices(tuple(x.shape)):
        original = data[index].item()
        found = []
        for factor in factors:
            data[index] = original - eps * factor
            below = _values(func, inputs)
            data[index] = original + eps * factor
            above = _values(func, inputs)
            data[index] = original
            found.append(_slopes(above, below, eps))
        columns.append(found)
    if not columns:
        return [[torch.zeros((0, o.numel()), dtype=o.dtype) for _ in factors] for o in _values(func, inputs)]
    return [[torch.stack([c[f][k] for c in columns]) for f in range(len(factors))] for k in range(len(columns[0][0]))]


def numerical_jacobians(func: Function, inputs: tuple[Any, ...], x: Any, eps: float) -> list[Callable[[Any], Any]]:
    """For each output a function of its part (see parts): the Jacobian; of a complex x, d/dRe + i d/dIm."""
    found = difference_jacobians(func, inputs, x, eps, (1, 1j) if x.is_complex() else (1,))

    def of_output(jacobians: list[Any]) -> Callable[[Any], Any]:
        def of_part(part: Any) -> Any:
            return part(jacobians[0]) + 1j * part(jacobians[1]) if len(jacobians) > 1 else part(jacobians[0])

        return of_part

    return [of_output(f) for f in found]


# --- backward mode


def pull_back(piece: Any, wanted: list[Any], seed: Any) -> tuple[Any, ...]:
    """The gradients of ``piece`` by the ``wanted`` inputs, weighted by ``seed``; the graph is kept."""
    from shim_torch.autograd import grad

    return grad(piece, wanted, seed, retain_graph=True, allow_unused=True)


def _row(g: Any, x: Any, seen: dict[str, bool]) -> Any:
    if g is None:
        return torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
    if g.shape != x.shape:
        seen["size"] = True
        return torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
    if g.dtype != x.dtype:
        seen["type"] = True
    g = g.detach()
    return (g if g.layout is _core.strided else g.to_dense()).clone().reshape(-1).to(x.dtype)


def _seeds(piece: Any, seed: Any) -> Iterable[Any]:
    if seed is not None:
        yield seed.reshape(piece.shape).to(piece.dtype)
        return
    for index in indices(tuple(piece.shape)):
        unit = torch.zeros(tuple(piece.shape), dtype=piece.dtype, device=piece.device)
        unit[index] = 1
        yield unit


def backward_jacobians(piece: Any, wanted: list[Any], options: dict[str, Any], seed: Any = None) -> list[Any]:
    """For each input (x.numel(), n): one column an element of ``piece``, or the one of ``seed``. Computed twice:
    GradcheckError where the two differ, or where a gradient is not like its input."""
    seen: dict[str, bool] = {}
    runs = []
    for _ in range(2):
        rows: list[list[Any]] = [[] for _ in wanted]
        for s in _seeds(piece, seed):
            for i, (g, x) in enumerate(zip(pull_back(piece, wanted, s), wanted, strict=True)):
                rows[i].append(_row(g, x, seen))
        runs.append(
            [
                torch.stack(r, 1) if r else torch.zeros((x.numel(), 0), dtype=x.dtype, device=x.device)
                for r, x in zip(rows, wanted, strict=True)
            ]
        )
    if seen.get("type") and options["check_grad_dtypes"]:
        raise GradcheckError("Gradient has dtype mismatch")
    if seen.get("size"):
        raise GradcheckError("Analytical gradient has incorrect size")
    for a, b in zip(*runs, strict=True):
        if a.numel() and not bool(((a - b).abs().max() <= options["nondet_tol"]).item()) and not bool(a.isnan().any()):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient.The tolerance for "
                f"nondeterminism was {options['nondet_tol']}."
            )
    return runs[0]


# --- forward mode


def _dual_inputs(inputs: tuple[Any, ...], tangents: dict[int, Any]) -> list[Any]:
    """The inputs, detached, as dual tensors: with the tangent of their position, or zeros if they require grad."""
    from shim_torch.autograd.forward_ad import make_dual

    found = []
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            found.append(x)
            continue
        tangent = tangents.get(i, 0)
        if tangent is None:
            found.append(x.detach())
        else:
            zeros = torch.zeros_like(x.detach())
            given = tangent if isinstance(tangent, Tensor) else zeros
            if given._is_view():  # a function's own jvp is to see a tangent that is none, as its input
                given = given.clone()
            found.append(make_dual(x.detach(), given))
    return found


def push_forward(func: Function, inputs: tuple[Any, ...], tangents: dict[int, Any]) -> list[tuple[Any, Any]]:
    """(value, tangent or None) of each output; an input whose tangent is None is a constant."""
    from shim_torch.autograd.forward_ad import dual_level, unpack_dual

    with dual_level():
        found = [unpack_dual(o) for o in float_outputs(func(*_dual_inputs(inputs, tangents)))]
        return [(v.detach(), None if t is None else t.detach()) for v, t in found]


def forward_along(
    func: Function, inputs: tuple[Any, ...], position: int, direction: Any, options: dict[str, Any]
) -> list[Any]:
    """The tangents of the outputs, flat, where the input at ``position`` moves along ``direction``."""
    x = inputs[position]
    tangent = direction.reshape(x.shape).to(x.dtype)
    found = []
    for value, t in push_forward(func, inputs, {position: tangent}):
        if t is not None and options["check_grad_dtypes"] and t.is_complex() != value.is_complex():
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        found.append((torch.zeros_like(value) if t is None else t).reshape(-1))
    return found


def forward_jacobians(
    func: Function, inputs: tuple[Any, ...], position: int, factor: complex, options: dict[str, Any]
) -> list[Any]:
    """For each output (x.numel(), output.numel()): its tangents along each element of the input."""
    x = inputs[position]
    rows = []
    for index in indices(tuple(x.shape)):
        unit = torch.zeros(tuple(x.shape), dtype=x.dtype, device=x.device)
        unit[index] = factor
        rows.append(forward_along(func, inputs, position, unit, options))
    if not rows:
        return [torch.zeros((0, o.numel()), dtype=o.dtype) for o in _values(func, inputs)]
    return [torch.stack([r[k] for r in rows]) for k in range(len(rows[0]))]
