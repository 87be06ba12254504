"""Optimizers that look at parameters as matrices, Adafactor and Muon; and SparseAdam."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.checks import check
from shim_torch._impl.optim.groups import with_gradients
from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import Each
from shim_torch._impl.table.calls import torch
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.optim.optimizer import Optimizer, closure_loss

DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315  # Newton and Schulz's iteration in Muon
DEFAULT_NS_STEPS, EPS = 5, 1e-7


def _require(ok: bool, text: str) -> None:
    if not ok:
        raise ValueError(text)


def _check_rate(lr: Any) -> None:
    _require(not isinstance(lr, _core.TensorBase) or lr.numel() == 1, "Tensor lr must be 1-element")
    _require(0.0 <= lr, f"Learning rate should be >= 0 but is: {lr}")


class Adafactor(Each):
    """Adafactor (torch.optim.Adafactor; Shazeer and Stern, 2018): factored second moments."""

    _later_options = {"foreach": None}  # it is not differentiable

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _check_rate(lr)
        _require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        _require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        _require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        _require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        _require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = dict(
            lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize
        )
        super().__init__(params, defaults)

    def _check_param(self, p: Any, group: dict[str, Any]) -> None:
        if p.grad.is_sparse:
            raise RuntimeError("Adafactor does not support sparse gradients")
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if p.grad.dim() > 1:
            rows, columns = list(p.grad.shape), list(p.grad.shape)
            rows[-1] = columns[-2] = 1
            state["row_var"], state["col_var"] = p.grad.new_zeros(rows), p.grad.new_zeros(columns)
        else:
            state["variance"] = p.grad.new_zeros(p.grad.shape)

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: float, step: float) -> None:
        from shim_torch._impl.tensor.type_info import finfo

        smallest, scale = group["eps"]
        smallest = finfo(p.dtype).eps if smallest is None else smallest
        new = step ** group["beta2_decay"]
        size = max(scale, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if g.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(g.norm(dim=-1, keepdim=True).square_().div_(g.size(-1)), new)
            columns.lerp_(g.norm(dim=-2, keepdim=True).square_().div_(g.size(-2)), new)
            estimate = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=smallest))
        else:
            state["variance"].lerp_(g * g, new)
            estimate = state["variance"].clone()
        update = estimate.clamp_(min=smallest * smallest).rsqrt_().mul_(g)
        clip = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        p.add_(update, alpha=-size / clip)


def _orthogonalized(g: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """The matrix with its singular values near 1 (orthogonalised), by a Newton-Schulz iteration in bfloat16."""
    _require(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    _require(g.dim() == 2, "Input tensor gradient must be a 2D matrix")
    _require(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = g.size(0) > g.size(1)
    x = g.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _rate_of_shape(lr: float, adjust_lr_fn: str | None, param_shape: Any) -> float:
    """The learning rate for a matrix of that shape; ``adjust_lr_fn`` is None or "original", or "match_rms_adamw"."""
    rows, columns = param_shape[:2]
    if adjust_lr_fn is None or adjust_lr_fn == "original":
        return lr * math.sqrt(max(1, rows / columns))
    return lr * 0.2 * math.sqrt(max(rows, columns)) if adjust_lr_fn == "match_rms_adamw" else lr


class Muon(Optimizer):
    """Muon (torch.optim.Muon; Jordan and others, 2024): steps along the orthogonalised momentum. Matrices only."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C),
        eps: float = EPS,
        ns_steps: int = DEFAULT_NS_STEPS,
        adjust_lr_fn: str | None = None,
    ) -> None:
        _check_rate(lr)
        _require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        _require(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        known = (None, "original", "match_rms_adamw")
        _require(adjust_lr_fn in known, f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = dict(
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            nesterov=nesterov,
            ns_coefficients=ns_coefficients,
            eps=eps,
            ns_steps=ns_steps,
            adjust_lr_fn=adjust_lr_fn,
        )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                text = f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                _require(p.dim() == 2, text)

    @no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step; ``closure``, if given, computes the loss, which is returned."""
        loss = closure_loss(closure)
        for p, group in with_gradients(self.param_groups):
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = p.grad.new_zeros(p.grad.shape)
            self._move(p, p.grad, state["momentum_buffer"], group)
        return loss

    def _move(self, p: Any, g: Any, mean: Any, group: dict[str, Any]) -> None:
        lr = float(group["lr"])
        mean.lerp_(g, 1 - group["momentum"])
        update = g.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        update = _orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-_rate_of_shape(lr, group["adjust_lr_fn"], p.shape))


class SparseAdam(Optimizer):
    """Adam for sparse gradients (torch.optim.SparseAdam): only entries in the gradient update their moments."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, _core.TensorBase) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check("learning rate", 0.0 < lr, lr)
        check("epsilon value", 0.0 < eps, eps)
        check("beta parameter at index 0", 0.0 <= betas[0] < 1.0, betas[0])
        check("beta parameter at index 1", 0.0 <= betas[1] < 1.0, betas[1])
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        for kind, wrong, text in (
            ("Sparse", lambda p: p.layout != _core.strided, "requires dense parameter tensors"),
            ("Complex", lambda p: p.is_complex(), "does not support complex parameters"),
        ):
            groups = enumerate(self.param_groups)
            places = [[i, k] for i, group in groups for k, p in enumerate(group["params"]) if wrong(p)]
            if places:
                raise ValueError(f"{kind} params at indices {places}: SparseAdam {text}")

    def step(self, closure: Any = None) -> Any:
        """One step over the rows that gradients have; ``closure``, if given, computes the loss, which is returned."""
        loss = closure_loss(closure)
        moving = list(with_gradients(self.param_groups))
        if not all(p.grad.is_sparse for p, _ in moving):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        with no_grad():
            for p, group in moving:
                self._move(p, -p.grad if group["maximize"] else p.grad, group)
        return loss

    def _move(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"] = p.new_zeros(p.shape)
            state["exp_avg_sq"] = p.new_zeros(p.shape)
        state["step"] += 1
        g = g.coalesce()
        values = g._values()
        if not values.numel():
            return
        from shim_torch._impl.sparse.construct import sparse_coo_tensor

        def at_entries(x: Any) -> Any:
            return sparse_coo_tensor(g._indices(), x, g.shape, is_coalesced=True)

        beta1, beta2 = group["betas"]
        old = state["exp_avg"].sparse_mask(g)._values()
        change = values.sub(old).mul_(1 - beta1)
        state["exp_avg"].add_(at_entries(change))
        old_square = state["exp_avg_sq"].sparse_mask(g)._values()
        change_square = values.pow(2).sub_(old_square).mul_(1 - beta2)
        state["exp_avg_sq"].add_(at_entries(change_square))
        mean, deviation = change.add_(old), change_square.add_(old_square).sqrt_().add_(group["eps"])
        step = state["step"]
        size = float(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p.add_(at_entries(-size * (mean / deviation)))


_adjust_lr, _zeropower_via_newtonschulz = _rate_of_shape, _orthogonalized  # PyTorch's names
__getattr__ = _module_getattr("torch.optim.sparse_adam", "sparse_adam", "adafactor", "muon")
