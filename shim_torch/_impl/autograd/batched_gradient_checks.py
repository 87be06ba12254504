"""Gradients of batches compared with those one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd import jacobians as _j
from shim_torch._impl.surface.errors import GradcheckError
from shim_torch._impl.table.calls import torch

_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."
_BATCHED_FORWARD = "gradcheck failed while testing batched gradient computation with forward-mode AD."


def check_batched(output: Any, wanted: list[Any], k: int) -> None:
    """Batched gradients must be those of the single seeds."""
    from shim_torch.autograd import grad

    seeds = torch.stack([torch.randn_like(output) for _ in range(2)])
    single = [grad(output, wanted, s, retain_graph=True, allow_unused=True) for s in seeds]
    try:
        batched = grad(output, wanted, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED}") from error
    for j, found in enumerate(batched):
        if found is not None:
            _check_same(k, j, found, [s[j] for s in single], _BATCHED)


def _check_same(k: int, j: int, found: Any, single: list[Any], text: str) -> None:
    expected = torch.stack([torch.zeros_like(found[0]) if s is None else s for s in single])
    if not _j.close(found, expected, 1e-5, 1e-8):
        raise GradcheckError(f"For output {k} and input {j}:\n\n{text}\n\nGot:\n{found}\n\nExpected:\n{expected}")


def check_batched_forward(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Tangents in a batch must give the batch of their results."""
    from shim_torch._impl.tensor.predicates import is_tensor
    from shim_torch._vmap_internals import _vmap  # under it a Function needs no setup_context

    for i, x in enumerate(inputs):
        if not is_tensor(x) or not x.requires_grad or not _j.is_differentiable(x):
            continue

        def pushed(tangent: Any, i: int = i) -> tuple[Any, ...]:
            constants: dict[int, Any] = dict.fromkeys(range(len(inputs)))
            found = _j.push_forward(func, inputs, {**constants, i: tangent})
            return tuple(v.new_zeros(()).expand(v.shape) if t is None else t for v, t in found)

        tangents = [torch.randn_like(x) for _ in range(2)]
        single = [pushed(t) for t in tangents]
        try:
            batched = _vmap(pushed)(torch.stack(tangents))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED_FORWARD}") from error
        for k, found in enumerate(batched):
            _check_same(k, k, found, [s[k] for s in single], _BATCHED_FORWARD)
