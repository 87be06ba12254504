"""What the core recorded of operators and backward nodes, as events of a profile; traces of events."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

from shim_torch.autograd.profiler_util import EventList, FunctionEvent

_EVALUATE = "autograd::engine::evaluate_function: "


def operator_events(rows: list[Any], shapes: bool, flops: bool) -> list[FunctionEvent]:
    """The events of the core's rows; of a node two, as PyTorch has them: the engine's step, and the node within it."""
    found = []
    for name, start, end, thread, sequence, backward, counts, tensors, result in rows:
        sizes = _sizes(counts, iter(tensors))
        more: dict[str, Any] = {"sequence_nr": sequence, "fwd_thread": thread if backward else 0}
        if shapes:
            more["input_shapes"] = sizes
        if backward:
            found.append(FunctionEvent(0, _EVALUATE + name, thread, start / 1e3, end / 1e3, **more))
            more["scope"] = 1
        elif flops:
            more["flops"] = operations(name, sizes, list(result[0])) if result else 0
        found.append(FunctionEvent(0, name, thread, start / 1e3, end / 1e3, **more))
    return found


def _sizes(counts: Any, tensors: Iterator[Any]) -> list[Any]:
    """Of each argument: a tensor's sizes (its count is -1), those of each in a list, nothing of what is no tensor."""
    return [list(next(tensors)) if n < 0 else [list(next(tensors)) for _ in range(n)] for n in counts]


def operations(name: str, sizes: list[Any], result: list[int]) -> int:
    """How many operations on numbers a call takes: products and convolutions, sums and products of elements; else 0."""
    each = math.prod(result)
    base = name.removeprefix("aten::").rstrip("_")
    if base in ("add", "mul"):
        return each
    if base in ("mm", "bmm", "matmul") and sizes[0]:
        return 2 * each * int(sizes[0][-1])
    if base in ("addmm", "baddbmm") and len(sizes) > 1:
        return 2 * each * int(sizes[1][-1])
    if base == "linear" and sizes[1]:
        return 2 * each * int(sizes[1][-1])
    if base in ("conv1d", "conv2d", "conv3d") and len(sizes[1]) > 2:
        return 2 * each * math.prod(sizes[1][1:])
    return 0


def write_trace(path: str, events: EventList, metadata: dict[str, Any]) -> None:
    """A trace for chrome://tracing and Perfetto, with what the program wrote of it at its top."""
    process = os.getpid()
    rows = []
    for e in events:
        about: dict[str, Any] = {}
        if e.sequence_nr >= 0:
            about["Sequence number"] = e.sequence_nr
        if e.input_shapes is not None:
            about["Input Dims"] = e.input_shapes
        rows.append(
            {
                "ph": "X",
                "cat": "user_annotation" if e.is_user_annotation else "cpu_op",
                "name": e.name,
                "pid": process,
                "tid": e.thread,
                "ts": e.time_range.start,
                "dur": e.time_range.elapsed_us(),
                "args": about,
            }
        )
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 1, **metadata, "displayTimeUnit": "ms", "traceEvents": rows}, f)
