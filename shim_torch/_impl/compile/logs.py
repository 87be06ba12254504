"""What ``TORCH_LOGS`` and ``torch._logging.set_logs`` ask of compiled functions: breaks, other ways, programs, and what calls are compared by."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from shim_torch._impl.native import _core

_SWITCHES = "shim_torch._logging._internal"
_ASKED = "TORCH_LOGS" in os.environ
KINDS = {
    "graph_breaks": "torch._dynamo.symbolic_convert",
    "recompiles": "torch._dynamo.guards",
    "guards": "torch._dynamo.guards",
    "graph_code": "torch._dynamo.output_graph",
    "output_code": "torch._inductor.codecache",
}


def _on() -> dict[str, Any]:
    """The loggers that are switched on, by kind."""
    switches = importlib.import_module(_SWITCHES) if _ASKED else sys.modules.get(_SWITCHES)
    if switches is None or not switches.log_state.artifact_names & KINDS.keys():
        return {}
    return {
        kind: switches.getArtifactLogger(module, kind)
        for kind, module in KINDS.items()
        if switches.log_state.is_artifact_enabled(kind)
    }


def place(function: Any) -> tuple[str, str, int]:
    """A function's name, its file and its first line."""
    code = getattr(getattr(function, "forward", function), "__code__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return (name, code.co_filename, code.co_firstlineno) if code else (name, "", 0)


def _tensor(told: Any) -> str:
    _, slot, sizes, strides, offset, dtype, device, *_ = told
    return f"t{slot}: {dtype} {tuple(sizes)} strides {tuple(strides)} offset {offset} on {device}"


def _argument(told: Any) -> str:
    if isinstance(told, list):
        return f"[{', '.join(map(_argument, told))}]"
    if told is None:
        return "None"
    return _tensor(told) if told[0] == "tensor" else "any number" if told[0] == "number" else repr(told[1])


def _ways(trees: Any, whole: bool) -> str:
    """The ways through a function: their operators, and with ``whole`` what calls are compared by."""
    lines = []
    for number, way in enumerate(_core.trace_steps(trees)):
        lines.append(f"way {number}")
        for name, arguments, results, file, line in way:
            given = ", ".join(_argument(a) if whole else _short(a) for a in arguments)
            made = ", ".join(f"t{r[1]}" for r in results)
            lines.append(f"    {f'{made} = ' if made else ''}{name}({given})  # {file}:{line}")
    return "\n".join(lines)


def _short(told: Any) -> str:
    if isinstance(told, list):
        return f"[{', '.join(map(_short, told))}]"
    return f"t{told[1]}" if told and told[0] == "tensor" else _argument(told)


def note(compiled: Any, info: dict[str, Any], first: bool) -> None:
    """Writes what is asked for of a call. ``first``: nothing was known of the function before."""
    on = _on()
    if not on:
        return
    name, file, line = place(compiled.function)
    if "graph_breaks" in on:
        for reason, at, number, _ in info["breaks"]:
            on["graph_breaks"].debug("Graph break in user code at %s:%d\nGraph Break Reason: %s", at, number, reason)
    if "recompiles" in on and info["learned"] and not first:
        on["recompiles"].debug(
            "Recompiling function %s in %s:%d\n    triggered by the following guard failure(s):\n"
            "    - %d operators are on no way through it that was known",
            *(name, file, line, info["learned"]),
        )
    if info["learned"] or info["resized"]:
        for kind in on.keys() & {"guards", "graph_code"}:
            on[kind].debug("%s\n%s", f"{name} {file}:{line}", _ways(compiled.trees, kind == "guards"))
    if "output_code" in on:
        _note_source(compiled, on["output_code"])


def _note_source(compiled: Any, logger: Any) -> None:
    text = compiled.source
    if text and text != compiled.source_noted:
        compiled.source_noted = text
        logger.debug("Output code:\n%s", text)
