"""Checkpoints with ``debug=True``: the operators of both passes are logged, and shown when the passes differ."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.utils.recompute import CheckpointError
from shim_torch.utils._python_dispatch import TorchDispatchMode
from shim_torch.utils._pytree import tree_leaves, tree_map

_RULE = "+" + "~" * 78 + "+\n"


class _Log(TorchDispatchMode):
    """Writes a line ``$3: f32[2, 2] = torch.ops.aten.sin.default($1)`` for each operator, and where it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.places: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # a tensor's number is its own while the log lives

    def _name(self, x: Any) -> Any:
        if not isinstance(x, _core.TensorBase):
            return x
        if id(x) not in self._numbers:
            self._numbers[id(x)] = len(self._numbers)
            self._alive.append(x)
        return _Shown(f"${self._numbers[id(x)]}")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = [repr(tree_map(self._name, a)) for a in args]
        given += [f"{k}={tree_map(self._name, v)!r}" for k, v in (kwargs or {}).items()]
        made = [
            f"{self._name(t)!r}: {_short(t)}{list(t.shape)}"
            for t in tree_leaves(result)
            if isinstance(t, _core.TensorBase)
        ]
        self.lines.append(f"{', '.join(made)} = torch.ops.{func}({', '.join(given)})")
        self.places.append("".join(f"{f.filename}:{f.lineno}:{f.name}\n" for f in traceback.extract_stack()[:-1]))
        return result


class _Shown(str):
    def __repr__(self) -> str:
        return str(self)


def _short(tensor: Any) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    for long, short in (
        ("bfloat", "bf"),
        ("complex", "c"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "i"),
        ("bool", "b8"),
    ):
        name = name.replace(long, short)
    return name


def _traces(label: str, log: _Log) -> str:
    total = len(log.lines)
    return "".join(
        f"{line}   ({i + 1} of {total} in {label})\n\n{place}\n\n"
        for i, (line, place) in enumerate(zip(log.lines, log.places, strict=True))
    )


_GUIDANCE = """
+------------------------------------------------------------------------------+
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
--------------------------------------------------------------------------------
"""


def _boxed(text: str) -> str:
    return f"{_RULE}|{text.center(78)}|\n+{'-' * 78}+\n"


def debug_contexts() -> tuple[Callable[[], Any], Callable[[CheckpointError], None]]:
    """A ``context_fn`` that logs both passes, and what to raise in place of an error between them."""
    logs = (_Log(), _Log())

    @contextlib.contextmanager
    def logged(index: int) -> Iterator[None]:
        with logs[index]:
            yield

    def fail(error: CheckpointError) -> None:
        first, second = logs
        newline = "\n"
        raise CheckpointError(
            " An error happened while unpacking tensors; dumping logs of latest computation\n"
            "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
            "Scroll all the way down for guidance on how to navigate these logs.\n\n"
            f"{_boxed('1. Stack traces of the operators that ran in the original forward')}\n{_traces('original', first)}\n"
            f"{_boxed('2. Stack traces of the operators that ran during recomputation')}\n{_traces('recompute', second)}\n"
            f"{_boxed('3. Log of operators in the original forward and recomputation')}"
            "(Scroll up to correlate stack traces with each operation listed below. This\n"
            " helps identify their source in the code.)\n\n"
            'IMPORTANT: Differences in "detach" calls between the original forward and the\n'
            "           recomputation are expected. They are introduced by the checkpointing\n"
            "           mechanism and can be ignored.\n\n"
            f"Operations executed during the original forward:\n\n{newline.join(first.lines)}\n\n"
            f"Operations executed during recomputation:\n\n{newline.join(second.lines)}\n{_GUIDANCE}"
        ) from error

    return lambda: (logged(0), logged(1)), fail
