"""Which operators of a compiled function are deferred, by what their records say. The core asks once an operator."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType
from typing import Any

from shim_torch._impl.compile.errors import Unsupported
from shim_torch._impl.native import _core

CHECKED = "it may refuse what its tensors hold"


def _says(record: Any, name: str) -> Any:
    """What the record's module, or the family that it is in, says of its operators."""
    module: ModuleType | None = sys.modules.get(record.body.__module__)
    family = sys.modules.get(record.body.__module__.rpartition(".")[0])
    return getattr(module, name, getattr(family, name, None))


def reason_against(record: Any) -> str | None:
    """Why calls of the operator run at once; None: they may be deferred.

    A deferred operator must give a shape that its arguments' shapes tell, draw no numbers, and not fail once it is
    deferred: its error would come from another line. An index, class or chance out of range is an error where it runs,
    which tells the operator's line ("ranges").
    """
    traits = record.traits
    if traits.get("dynamic_shape"):
        return "the shape of its result depends on what its tensors hold"
    if traits.get("batching") == "random" or "generator" in record.arguments or _says(record, "DRAWS"):
        return "it draws random numbers"
    if "seed" in record.arguments and "dropout" not in record.arguments:
        return "it draws random numbers"
    values = traits.get("values", _says(record, "VALUES"))
    return CHECKED if values == "checked" else None


def condition(record: Any) -> str:
    """Words on the operator's calls.

    What one may fail for: "divides" for a zero among integers, "bounds" unless it is given two that differ. Whether it may be
    deferred before it ran once: of "floats", "integers" (and bools), or "any" tensors.
    """
    values = record.traits.get("values")
    by_element = "floats" if record.pointwise and (record.grad or record.fused) else ""
    words = values if values in ("divides", "bounds") else "", record.traits.get("foreseen", by_element)
    return " ".join(word for word in words if word)


def _unsupported(reason: str, file: str, line: int) -> None:
    text = linecache.getline(file, line).strip()
    where = f'File "{file}", line {line}' + (f", code: {text}" if text else "")
    raise Unsupported(
        f"Graph break in a function compiled with fullgraph=True: {reason}\n  {where}\n"
        "  Hint: move what reads values out of the compiled function, or compile without fullgraph=True."
    )


def _names_read(function: Any) -> Any:
    from shim_torch._impl.compile import straight

    return straight.reads(function)


_core.set_trace_hooks(reason_against, condition, _unsupported, _names_read)
