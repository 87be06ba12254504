"""``torch._dynamo.explain(function)(…)``: one call, watched, and what it says of breaks and operators."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from traceback import FrameSummary
from typing import Any

from shim_torch._impl.compile.calls import Compiled
from shim_torch._impl.compile.settings import checked
from shim_torch._impl.native import _core


@dataclass
class GraphCompileReason:
    """Why a graph ended, and the user's line."""

    reason: str
    user_stack: list[FrameSummary]
    graph_break: bool = True


@dataclass
class ExplainOutput:
    """What a call did.

    ``graphs``: what a backend's function is given, a GraphModule each; ``ops_per_graph``: their operators. A graph ends at a
    break, and where an operator that is not deferred reads what is; those are in ``at_once``, with the reason and how often.
    """

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    at_once: dict[tuple[str, str], int]
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for i, b in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {i}:", f"    Reason: {b.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in b.user_stack]
        lines.append("Ops per Graph:")
        for i, names in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {i}:", *(f"    {name}" for name in names)]
        if self.at_once:
            lines.append("Run at once:")
            lines += [f"  {name}: {why} ({times})" for (name, why), times in self.at_once.items()]
        return "\n".join(lines) + "\n"


def explain(f: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """A function of ``f``'s arguments that calls it once and says what graphs it is made of, and where values were read."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        if not _core.trace_possible():
            raise RuntimeError("torch._dynamo.explain(): another thread is within a compiled function")
        given = getattr(f, "_shim_compiled", None)
        graphs: list[Any] = []

        def kept(module: Any, inputs: Any) -> Any:
            graphs.append(module)
            return module.forward

        seen: list[dict[str, Any]] = []
        Compiled(given.function if given else f, checked(kept, None, None, False, None), seen)(*args, **kwargs)
        info = seen[0]
        of = importlib.import_module("shim_torch._impl.compile.backends").operators_of
        operators = [of(g) for g in graphs]
        reasons = [
            GraphCompileReason(reason, [FrameSummary(file, line, None)])  # type: ignore[arg-type]
            for reason, file, line, _ in info["breaks"]
        ]
        at_once = dict(info["reasons"])
        if info["learned"]:  # of these a backend would be given nothing
            at_once["operators", "what they give is not known before they ran"] = info["learned"]
        count = sum(map(len, operators))
        return ExplainOutput(graphs, len(graphs), len(reasons), reasons, count, operators, at_once)

    return inner
