"""L-BFGS, with Wolfe's line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.optim.checks import check_rate
from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch.autograd.grad_mode import enable_grad, no_grad
from shim_torch.optim.optimizer import Optimizer


class _Point(NamedTuple):
    """A step length, and what the function is there: value, gradient, slope along the direction."""

    t: Any
    f: float
    g: Any
    slope: Any


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through both points and slopes is smallest, within the bounds."""
    if a.t > b.t:
        a, b = b, a
    low, high = bounds if bounds is not None else (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(best, low), high)


class _WolfeSearch:
    """A step that goes down far enough and flattens the slope enough (the strong Wolfe conditions)."""

    def __init__(self, evaluate: Callable[[Any], tuple[float, Any]], direction: Any, start: _Point, most: int) -> None:
        self.evaluate, self.direction, self.start, self.most = evaluate, direction, start, most
        self.c1, self.c2, self.smallest = 1e-4, 0.9, 1e-9
        self.rounds = self.evaluations = 0

    def at(self, t: Any) -> _Point:
        value, gradient = self.evaluate(t)
        self.evaluations += 1
        return _Point(t, value, gradient.clone(), gradient.dot(self.direction))

    def too_high(self, p: _Point) -> bool:
        return bool(p.f > self.start.f + self.c1 * p.t * self.start.slope)

    def flat(self, p: _Point) -> bool:
        return bool(abs(p.slope) <= -self.c2 * self.start.slope)

    def run(self, t: Any) -> _Point:
        """The point found."""
        bracket = self.bracket(t)
        return bracket[0] if len(bracket) == 1 else self.zoom(bracket)

    def bracket(self, t: Any) -> list[_Point]:
        """Two points with a good one between them, or the good one."""
        before, now = self.start, self.at(t)
        while self.rounds < self.most:
            if self.too_high(now) or (self.rounds > 1 and now.f >= before.f):
                return [before, now]
            if self.flat(now):
                return [now]
            if now.slope >= 0:
                return [before, now]
            further = _cubic_minimum(before, now, (now.t + 0.01 * (now.t - before.t), now.t * 10))
            before, now = now, self.at(further)
            self.rounds += 1
        return [self.start, now]

    def zoom(self, ends: list[_Point]) -> _Point:
        """Narrows the bracket."""
        stuck = False
        reach = self.direction.abs().max()
        low, high = (0, 1) if ends[0].f <= ends[1].f else (1, 0)
        while self.rounds < self.most and abs(ends[1].t - ends[0].t) * reach >= self.smallest:
            t, stuck = self.trial(ends, stuck)
            now = self.at(t)
            self.rounds += 1
            if self.too_high(now) or now.f >= ends[low].f:
                ends[high] = now
                low, high = (0, 1) if ends[0].f <= ends[1].f else (1, 0)
                continue
            done = self.flat(now)
            if not done and now.slope * (ends[high].t - ends[low].t) >= 0:
                ends[high] = ends[low]
            ends[low] = now
            if done:
                break
        return ends[low]

    @staticmethod
    def trial(ends: list[_Point], stuck: bool) -> tuple[Any, bool]:
        """The next step to try; a tenth of the bracket away from its ends, where it came close to them twice."""
        t = _cubic_minimum(ends[0], ends[1])
        least, most = min(e.t for e in ends), max(e.t for e in ends)
        margin = 0.1 * (most - least)
        if min(most - t, t - least) >= margin:
            return t, False
        if not (stuck or t >= most or t <= least):
            return t, True
        return (most - margin if abs(t - most) < abs(t - least) else least + margin), False


class LBFGS(Optimizer):
    """L-BFGS (torch.optim.LBFGS): one group of parameters; ``step`` needs a closure, which it calls several times.

    line_search_fn: None (steps of length lr) or "strong_wolfe".
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = dict(
            lr=lr,
            max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=history_size,
            line_search_fn=line_search_fn,
        )
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gather_flat_grad(self) -> Any:
        import shim_torch as torch

        def flat(p: Any) -> Any:
            g = p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
            return torch.view_as_real(g).reshape(-1) if g.is_complex() else g

        return torch.cat([flat(p) for p in self._params])

    def _add_grad(self, step_size: Any, update: Any) -> None:
        import shim_torch as torch

        reals = [torch.view_as_real(p) if p.is_complex() else p for p in self._params]
        for real, part in zip(reals, update.split([r.numel() for r in reals]), strict=True):
            real.add_(part.view_as(real), alpha=float(step_size))

    def _direction(self, gradient: Any, state: dict[str, Any], history: int) -> Any:
        """The approximate inverse Hessian times minus the gradient, from the last changes of both."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        change, step = gradient.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        product = change.dot(step)
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if product > 1e-10:
            if len(changes) == history:
                for kept in (changes, steps, ro):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / product)
            state["H_diag"] = product / change.dot(change)
        al = state.setdefault("al", [None] * history)
        q = gradient.neg()
        for i in reversed(range(len(changes))):
            al[i] = steps[i].dot(q) * ro[i]
            q.add_(changes[i], alpha=-float(al[i]))
        r = q * state["H_diag"]
        for i in range(len(changes)):
            r.add_(steps[i], alpha=float(al[i] - changes[i].dot(r) * ro[i]))
        return r

    @no_grad()
    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """One step: up to ``max_iter`` iterations. Gives the loss it began with."""
        descent = _Descent(self, enable_grad()(closure))
        first = descent.measure()
        left = 0 if descent.flat() else self.param_groups[0]["max_iter"]
        while left and descent.should_continue(last=left == 1):
            left -= 1
        return first


class _Descent:
    """One call of LBFGS's ``step``: loss and gradient where the parameters stand, and how often they were computed."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any]) -> None:
        self.optimizer, self.closure = optimizer, closure
        self.group, self.state = optimizer.param_groups[0], optimizer.state[optimizer._params[0]]
        self.evaluations = 0
        for count in ("func_evals", "n_iter"):
            self.state.setdefault(count, 0)

    def count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def measure(self) -> Any:
        """Calls the closure; gives its loss."""
        loss = self.closure()
        self.loss, self.gradient = float(loss), self.optimizer._gather_flat_grad()
        self.count(1)
        return loss

    def flat(self) -> bool:
        return bool(self.gradient.abs().max() <= self.group["tolerance_grad"])

    def length(self) -> Any:
        """The step's length along the direction, before any search; the first direction has the gradient's length."""
        lr = self.group["lr"]
        lr = lr.item() if isinstance(lr, _core.TensorBase) else lr
        return min(1.0, 1.0 / self.gradient.abs().sum()) * lr if self.state["n_iter"] == 1 else lr

    def should_continue(self, last: bool) -> bool:
        """One iteration: whether there may be more after it. The ``last`` one needs no gradient where it ends."""
        state, least = self.state, self.group["tolerance_change"]
        state["n_iter"] += 1
        d = state["d"] = self.optimizer._direction(self.gradient, state, self.group["history_size"])
        before = state["prev_loss"] = self.loss
        state["prev_flat_grad"], state["t"] = self.gradient.clone(), self.length()
        slope = self.gradient.dot(d)
        if slope > -least:
            return False
        if self.group["line_search_fn"] is not None:
            self.search(d, slope)
        self.optimizer._add_grad(state["t"], d)
        if self.group["line_search_fn"] is None and not last:
            self.measure()
        if self.evaluations >= self.group["max_eval"] or self.flat():
            return False
        return not (d.mul(state["t"]).abs().max() <= least or abs(self.loss - before) < least)

    def search(self, d: Any, slope: Any) -> None:
        """Finds a length that fulfils Wolfe's conditions, and loss and gradient there."""
        if self.group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self.optimizer._params]

        def evaluate(step: Any) -> tuple[float, Any]:
            self.optimizer._add_grad(step, d)
            value = float(self.closure())
            found = self.optimizer._gather_flat_grad()
            for p, old in zip(self.optimizer._params, start, strict=True):
                p.copy_(old)
            return value, found

        here = _Point(0, self.loss, self.gradient.clone(), slope)
        search = _WolfeSearch(evaluate, d, here, self.group["max_eval"] - self.evaluations)
        found = search.run(self.state["t"])
        self.loss, self.gradient, self.state["t"] = found.f, found.g, found.t
        self.count(search.evaluations)


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """Where the cubic through two points with these values and slopes (tensors) is smallest, within the bounds."""
    return _cubic_minimum(_Point(x1, f1, None, g1), _Point(x2, f2, None, g2), bounds)


def _strong_wolfe(
    obj_func: Any, x: Any, t: Any, d: Any, f: Any, g: Any, gtd: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """The line search: ``obj_func(x, t, d)`` gives value and flat gradient at x + t · d; f, g, gtd are those at x.

    Returns the value, gradient and step found, and how often ``obj_func`` was called.
    """
    search = _WolfeSearch(lambda step: obj_func(x, step, d), d, _Point(0, f, g.clone(), gtd), max_ls)
    search.c1, search.c2, search.smallest = c1, c2, tolerance_change
    found = search.run(t)
    return found.f, found.g, found.t, search.evaluations


__getattr__ = _module_getattr("torch.optim.lbfgs")
