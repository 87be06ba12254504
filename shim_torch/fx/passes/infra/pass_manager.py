"""``torch.fx.passes.infra.pass_manager``: passes run one after another, in an order that their constraints allow."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from shim_torch.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]
logger = logging.getLogger("torch.fx.passes.infra.pass_manager")


def _name(fn: Any) -> str:
    return str((fn if inspect.isfunction(fn) else type(fn)).__name__)


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Callable[..., PassResult | None] | None:
    """A pass that gives a :class:`PassResult`: what changes a module in place and gives None is taken to have changed it."""
    if fn is None:
        return None
    wrapped = functools.update_wrapper(lambda gm: _result(gm, fn(gm)), fn)
    wrapped.__name__ = _name(fn)
    return wrapped


def _result(gm: Any, given: Any) -> PassResult | None:
    # anything else is no result of a pass, which PassManager then says
    return PassResult(gm, True) if given is None else given if isinstance(given, PassResult) else None


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]) -> Callable[..., bool]:
    """A constraint on (a, b), a before b: it does not hold where a is ``that`` and b is ``this``."""
    return lambda a, b: not (a is that and b is this)


def _validate_pass_schedule_constraint(constraint: Callable[..., bool], passes: list[Any]) -> None:
    for i, a in enumerate(passes):
        for distance, b in enumerate(passes[i + 1 :]):
            if not constraint(a, b):
                raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} "
                                   f"at index {distance} in pass list.")  # fmt: skip


def _topological_sort_passes(passes: list[Any], constraints: list[Callable[..., bool]]) -> list[Any]:
    """The passes in an order that every constraint allows. Errors: RuntimeError where there is none."""
    if not constraints:
        return passes
    left, done = list(passes), []
    while left:
        # One that no other left has to come before.
        free = next((p for p in left if all(c(p, q) for c in constraints for q in left if q is not p)), None)
        if free is None:
            raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
        left.remove(free)
        done.append(free)
    return done


class PassManager:
    """Runs passes up to ``steps`` times over, until none changes the module."""

    def __init__(
        self,
        passes: list[Any] | None = None,
        constraints: list[Callable[..., bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Any) -> None:
        """Adds a pass as the last."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Adds a rule that the order of the passes has to follow."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Errors: RuntimeError where the order breaks a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes in an order that the constraints allow. Errors: RuntimeError where there is none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Sets what looks at the module after each pass; a function of one argument. Errors: TypeError for another."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Any) -> None:
        """Looks at the module; nothing unless overridden."""

    def __call__(self, module: Any) -> PassResult:
        """Errors: Exception of whatever a pass or the check after it raises, naming the passes run before."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        result, rounds = PassResult(module, True), list[bool]()
        while result.modified and len(rounds) < self.steps:
            result = self._round(result.graph_module)
            rounds.append(result.modified)
        return PassResult(result.graph_module, any(rounds))

    def _round(self, module: Any) -> PassResult:
        """Every pass once."""
        results = [PassResult(module, False)]
        for number in range(len(self.passes)):
            results.append(self._run(number, results[-1].graph_module))
        return PassResult(results[-1].graph_module, any(result.modified for result in results))

    def _run(self, number: int, module: Any) -> PassResult:
        fn = self.passes[number]
        logger.debug("Running pass '%s'", _name(fn))
        try:
            result: PassResult = fn(module)
            if not hasattr(result, "graph_module"):
                text = f"The result of the pass {_name(fn)} should be type PassResult.Please wrap it with pass_result_wrapper()"
                raise TypeError(text)
            if self.run_checks_after_each_pass:
                self.check(result.graph_module)
        except Exception as error:
            before = [_name(p) for p in self.passes[:number]]
            raise Exception(
                f"An error occurred when running the '{_name(fn)}' pass after the following passes: {before}"
            ) from error
        return result
