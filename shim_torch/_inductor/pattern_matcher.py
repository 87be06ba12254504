"""``torch._inductor.pattern_matcher``: patterns in graphs. They can be written down; no graph is matched against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class PatternExpr:
    """A part of a pattern."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class Arg(PatternExpr):
    """Anything."""


class Ignored(PatternExpr):
    """Anything, and it is not passed on."""


class KeywordArg(PatternExpr):
    """Anything, passed on by name."""


class CallFunction(PatternExpr):
    """A call of an operator."""


class CallFunctionVarArgs(CallFunction):
    """A call with any arguments."""


class MultiOutputPattern(PatternExpr):
    """Several results."""


class Match:
    """A place that a pattern fits; there are none."""


class PatternMatcherPass:
    """A list of patterns and what to do where they fit."""

    def __init__(self, pass_name: str | None = None, subsystem: str | None = None) -> None:
        self.pass_name = pass_name
        self.patterns: list[Any] = []

    def apply(self, gm: Any) -> int:
        """Raises NotImplementedError: patterns are not looked for in graphs."""
        raise NotImplementedError(
            "torch._inductor.pattern_matcher.PatternMatcherPass.apply is not supported by shim-torch: there are no graphs"
        )


def register_lowering_pattern(
    pattern: Any, extra_check: Any = None, *, pass_dict: Any = None, prepend: bool = False
) -> Callable[[Any], Any]:
    """A decorator: notes a pattern with its replacement and gives the function back."""

    def decorate(handler: Any) -> Any:
        if isinstance(pass_dict, PatternMatcherPass):
            pass_dict.patterns.append((pattern, extra_check, handler))
        return handler

    return decorate


register_graph_pattern = register_lowering_pattern


def register_replacement(*_: Any, **__: Any) -> bool:
    """Replacing a traced pattern: NotImplementedError."""
    raise NotImplementedError("torch._inductor.pattern_matcher.register_replacement is not supported by shim-torch")


def fwd_only(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError: patterns are not traced."""
    raise NotImplementedError("torch._inductor.pattern_matcher.fwd_only is not supported by shim-torch")


joint_fwd_bwd = fwd_only
