"""The loop that the optimizers here share: every parameter that has a gradient, one at a time."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim import tensor_lists as _together
from shim_torch._impl.optim.checks import check, check_rate
from shim_torch._impl.optim.helpers import _device_dtype_check_for_fused, _get_scalar_dtype
from shim_torch._impl.optim.local_parts import lists_of_parts
from shim_torch._impl.table.calls import torch
from shim_torch.autograd.grad_mode import set_grad_enabled
from shim_torch.optim.optimizer import Optimizer, closure_loss

TensorBase = _core.TensorBase
_ON_DEVICE = ("cuda", "xpu", "hpu", "privateuseone", "xla")  # where a captured graph may hold a whole step
_LATER_OPTIONS = dict(
    foreach=None,
    maximize=False,
    capturable=False,
    differentiable=False,
    fused=None,
    amsgrad=False,
    nesterov=False,
    decoupled_weight_decay=False,
    momentum=0,
    centered=False,
)  # what groups of older files lack


class Each(Optimizer):
    """An optimizer that updates one parameter at a time; its state counts the parameter's steps."""

    _together = False  # whether _update works on lists of tensors (Together)
    _counts = True  # whether the state has a "step"
    _later_options = _LATER_OPTIONS
    _sparse_refusal = "{name} does not support sparse gradients"

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                if name in self.defaults:
                    group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p)
                if own and "step" in own and not isinstance(own["step"], TensorBase):
                    own["step"] = _count(p, group, float(own["step"]))

    def _check_common(self, lr: Any, weight_decay: float, eps: float | None = None, betas: Any = None) -> None:
        check_rate(lr)
        if eps is not None:
            check("epsilon value", 0.0 <= eps, eps)
        if betas is not None:
            check("beta parameter at index 0", 0.0 <= betas[0] < 1.0, betas[0])
            check("beta parameter at index 1", 0.0 <= betas[1] < 1.0, betas[1])
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)

    def step(self, closure: Any = None) -> Any:
        """One step of every parameter with a gradient; ``closure``, if given, computes the loss, which is returned."""
        if "capturable" in self.defaults:
            self._accelerator_graph_capture_health_check()
        loss = closure_loss(closure)
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                if not self._move_at_once(group["params"], group):
                    self._move_each(group)
        return loss

    def _move_each(self, group: dict[str, Any]) -> None:
        moving = [p for p in group["params"] if p.grad is not None]
        for p in moving:
            self._check_param(p, group)
        alike = _of_each_kind(moving)
        for together in alike:
            if len(alike) > 1 and self._move_at_once(together, group):
                continue
            if together[0].is_cuda and not group.get("differentiable") and self._move_together(together, group):
                continue
            for p in together:
                self._move(p, -p.grad if group["maximize"] else p.grad, group)

    def _move_at_once(self, params: list[Any], group: dict[str, Any]) -> bool:
        """Updates the parameters with gradients by one operator; False, with nothing done, where there is none for them."""
        names = None if group.get("differentiable") else self._operator_states(params, group)
        if names is None:
            return False
        lists = _core.step_lists(params, self.state, names)
        if lists is not None and len(lists) == 1:
            for p in lists[0]:
                self._begin_state(p, self.state[p], group)
            lists = _core.step_lists(params, self.state, names)
        if lists is None:
            lists = lists_of_parts(params, self.state, names)
        if lists is None or len(lists) == 1:
            return False
        if lists[0]:
            self._operator_step(lists, group)
        return True

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        """Which tensors of the states the operator that makes the whole step takes; None where there is none."""
        return None

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        """The step of parameters, given with their gradients and the tensors of their states that were named."""
        raise NotImplementedError

    def _move_together(self, moving: list[Any], group: dict[str, Any]) -> bool:
        """Updates a group's CUDA parameters in few launches; False, with nothing done, where no kernel fits."""
        return self._together and _together.update(self, moving, group)

    def _check_param(self, p: Any, group: dict[str, Any]) -> None:
        if p.grad.is_sparse and self._sparse_refusal:
            raise RuntimeError(self._sparse_refusal.format(name=type(self).__name__))
        if group.get("fused"):
            _device_dtype_check_for_fused(p)
        if group.get("capturable") and p.device.type not in _ON_DEVICE:
            raise AssertionError(
                f"If capturable=True, params and state_steps must be on supported devices: {list(_ON_DEVICE)}."
            )

    def _move(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state = self.state[p]
        complex_ = p.is_complex()
        if not state:
            self._begin_state(p, state, group)
        differentiable = group.get("differentiable")
        if differentiable and getattr(state["step"], "requires_grad", False):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        # As tensors they can be captured by a graph and have gradients; as numbers they cost less. The count is read before it is written
        # to: in a compiled function what was just written is yet to be computed.
        lr, step = group["lr"], state["step"]
        if not (group.get("capturable") or differentiable):
            lr, step = float(lr), float(step) + 1
        state["step"] += 1
        if complex_:
            self._update_complex(p, g, state, group, lr, step)
        else:
            self._update(p, g, state, group, lr, step)

    def _begin_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        complex_ = p.is_complex()
        state["step"] = _count(p, group, 0.0)
        self._begin_complex(p, state, group) if complex_ else self._begin(p, state, group)

    def _begin_complex(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """State with the shape of a complex parameter is complex too."""
        from shim_torch._impl.tensor.predicates import is_tensor

        real = torch.view_as_real(p.detach())
        self._begin(real, state, group)
        for name, value in state.items():
            if is_tensor(value) and value.shape == real.shape:
                state[name] = torch.view_as_complex(value)

    def _update_complex(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        """Updates real and imaginary parts as separate real values."""
        from shim_torch._impl.tensor.predicates import is_tensor

        def real(x: Any) -> Any:
            return torch.view_as_real(x) if is_tensor(x) and x.is_complex() else x

        seen = {name: real(value) for name, value in state.items()}
        before = dict(seen)
        self._update(real(p), real(g), seen, group, lr, step)
        for name, value in seen.items():
            if value is not before.get(name):
                whole = isinstance(value, TensorBase) and value.dim() == p.dim() + 1
                state[name] = torch.view_as_complex(value) if whole else value

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        """The update of one parameter; ``lr`` and ``step`` are numbers or tensors of one element."""
        raise NotImplementedError


def _of_each_kind(moving: list[Any]) -> list[list[Any]]:
    """Parameters grouped by where they are and by dtype: a kernel's lists lie on one GPU, and are of one dtype."""
    if not moving or not moving[0].is_cuda:
        return [moving] if moving else []
    groups: dict[Any, list[Any]] = {}
    for p in moving:
        groups.setdefault((p.device, p.dtype), []).append(p)
    return list(groups.values())


def _count(p: Any, group: dict[str, Any], value: float) -> Any:
    """A step count: on the CPU, or on the parameter's device where a captured graph advances it."""
    device = p.device if group.get("capturable") or group.get("fused") else None
    return _core.empty_tensor((), _get_scalar_dtype(bool(group.get("fused"))), device).fill_(value)


def zeros_like(p: Any) -> Any:
    """A state tensor: zeros like the parameter, in its memory format."""
    return torch.zeros_like(p.detach())
