"""What the calls of an operator run that no native kernel takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.table.formats import following
from shim_torch._impl.table.guards import guarded
from shim_torch._impl.table.record import Record
from shim_torch._impl.table.run import make_run


def run_of(record: Record) -> Callable[..., Any]:
    """The record's body, with what its options say of dtypes and memory formats around it: bound arguments in, results out."""
    run = make_run(record) if record.kind == "kernel" else record.body
    if record.follows:
        run = following(record, run)
    return guarded(record, run)
