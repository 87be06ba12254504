"""Calls of compiled functions, and what is counted of them."""

from __future__ import annotations

import functools
import importlib
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from shim_torch._impl.compile import deferral as deferral
from shim_torch._impl.compile import logs
from shim_torch._impl.compile.settings import GRAPHS, Settings
from shim_torch._impl.native import _core


class _Counts(Counter[Any]):
    """The core keeps what it counts of calls of which there is nothing else to tell."""

    def __getitem__(self, key: Any) -> int:
        settle()
        return super().__getitem__(key)

    def __iter__(self) -> Any:
        settle()
        return super().__iter__()

    def keys(self) -> Any:
        """All that was counted until now: dict() asks for them."""
        settle()
        return super().keys()

    def __contains__(self, key: Any) -> bool:
        settle()
        return super().__contains__(key)


# What torch_proxy_status()["compile"] says: calls, operators deferred, learned and run at once, runs of what was deferred.
counts, reasons, graphs = _Counts(), _Counts(), _Counts()
# reasons: of (operator or function, why it ran at once); graphs: of how programs ran that may be CUDA graphs: "captured",
# "replayed", "plain", or why without one
breaks: Counter[tuple[str, str]] = Counter()  # (reason, "file:line"): how often


def settle() -> None:
    """Takes over what the core has counted."""
    for counter, more in zip((counts, reasons, graphs), _core.trace_totals(), strict=True):
        Counter.update(counter, dict(more))


STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Compiled:
    """A function and what is known of it: the ways through it."""

    def __init__(
        self, function: Callable[..., Any], settings: Settings, seen: list[dict[str, Any]] | None = None
    ) -> None:
        self.function = function
        self.settings = settings
        self.seen = seen  # what is to be told of each call, for explain()
        self.source_noted = ""  # by logs.py
        self.caller = _core.trace_caller(function, self._call_otherwise, self._note)
        self._forget()

    def _forget(self) -> None:
        together = self.settings.backend not in ("eager", "aot_eager")
        backend = self.settings.backend if callable(self.settings.backend) else None
        if backend is not None:  # what makes its graphs stands on torch.fx, which stands on this
            lowering = importlib.import_module("shim_torch._impl.compile.backends")
            backend = lowering.Backend(backend, self.settings.resizes)
        graphs = together and self.settings.graphs
        limit = self.settings.recompile_limit or _limit()
        self.trees = _core.trace_trees(limit, together, graphs, self.settings.resizes, backend)
        told_each = self.seen is not None
        _core.trace_set_trees(self.caller, None if told_each else self.trees, self.settings.fullgraph)
        self.called = False

    @property
    def source(self) -> str:
        """The programs that what is deferred runs as, a line for each kernel and call."""
        return "\n".join(_core.trace_sources(self.trees))

    def __reduce__(self) -> Any:
        return (Compiled, (self.function, self.settings))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result. Within another compiled function its operators are that one's."""
        return self.caller(*args, **kwargs)

    def _call_otherwise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _core.trace_active():
            return self.function(*args, **kwargs)
        why = why_not()
        if why:
            counts["calls run as they are"] += 1
            reasons[getattr(self.function, "__qualname__", type(self.function).__qualname__), why] += 1
            return self.function(*args, **kwargs)
        if not _core.trace_is_current(self.caller):
            self._forget()
        whole = self.settings.fullgraph
        watched = whole or self.seen is not None
        learns = stance != "eager_on_recompile"
        return _core.trace_call(
            self.trees, self.function, args, kwargs, watched, whole, learns, self._refusal(), self._note
        )

    def _refusal(self) -> str | None:
        """What an operator that is on no known way is refused with; None: it is not."""
        if stance != "fail_on_recompile":
            return None
        name, file, line = logs.place(self.function)
        return (
            f"Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '{file}', "
            f"function name: '{name}', line number: {line}"
        )

    def _note(self, info: dict[str, Any]) -> None:
        first, self.called = not self.called, True
        logs.note(self, info, first)
        _note_for_dynamo(info, first)
        names = ("deferred", "learned", "resized", "at_once", "runs", "programs", "backwards")
        counts.update({"calls": 1} | {name: info[name] for name in names})
        reasons.update(dict(info["reasons"]))
        breaks.update([(reason, f"{file}:{line}") for reason, file, line, _ in info["breaks"]])
        if self.seen is not None:
            self.seen.append(info)


def _note_for_dynamo(info: dict[str, Any], first: bool) -> None:
    """Counts in torch._dynamo.utils.counters, where somebody has it."""
    utils = sys.modules.get("shim_torch._dynamo.utils")
    if utils is None or not (info["learned"] or info["breaks"]):
        return
    counters = utils.counters
    for reason, *_ in info["breaks"]:
        counters["graph_break"][reason] += 1
    if info["learned"]:
        counters["stats"]["calls_captured"] += info["learned"]
        counters["stats"]["unique_graphs"] += len(info["breaks"]) + 1
    counters["frames"]["total"] += first
    counters["frames"]["ok"] += first


def _limit() -> int:
    """How many ways through a function are known, if it does not say so itself."""
    config = sys.modules.get("shim_torch._dynamo.config")
    older = int(getattr(config, "cache_size_limit", 8))  # the same setting under its older name
    return older if older != 8 else int(getattr(config, "recompile_limit", 8))


def why_not() -> str | None:
    """Why nothing is deferred now; None: operators may be."""
    if stance not in STANCES:
        raise RuntimeError(
            f"invalid torch.compile stance 'DynamoStance(stance={stance!r}, skip_guard_eval_unsafe=False, backend=None)'"
        )
    if stance == "force_eager":
        return 'torch.compiler.set_stance("force_eager")'
    if not _core.trace_possible():
        return "another thread is within a compiled function"
    return None


def note_settings(settings: Settings) -> None:
    """Counts what of the settings makes no difference."""
    if settings.mode in ("lite", "max-autotune-no-cudagraphs"):
        reasons["torch.compile", f"mode={settings.mode!r} runs as the default"] += 1
    for name, _ in settings.options:
        if name.replace("-", "_") in GRAPHS:
            continue
        reasons["torch.compile", f"the option {name} makes no difference"] += 1


stance: Any = "default"  # what torch.compiler.set_stance() was given


def take_stance(name: Any) -> None:
    """How compiled functions run from here on."""
    global stance
    stance = name
    _core.trace_take_stance(name == "default")


reset = _core.trace_forget  # what was learned of all functions


def wrap(function: Callable[..., Any], settings: Settings) -> Callable[..., Any]:
    """A function that calls ``function`` compiled."""
    note_settings(settings)
    compiled = Compiled(function, settings)

    call = compiled.caller

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    vars(wrapper).update(
        _torchdynamo_inline=function,
        _torchdynamo_orig_callable=function,
        _is_torch_compile=True,
        _shim_compiled=compiled,
    )
    return _core.trace_entry(wrapper)  # whose calls need not run its code


def paused(function: Callable[..., Any], deferred: bool = True) -> Callable[..., Any]:
    """A function whose operators stay as they are, also within a compiled one; without ``deferred`` they run when they are called."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if deferred and not _core.trace_active():
            return function(*args, **kwargs)
        was = _core.trace_pause(deferred)
        try:
            return function(*args, **kwargs)
        finally:
            _core.trace_resume(was)

    return wrapper


def status() -> dict[str, Any]:
    """For ``torch_proxy_status()``."""
    settle()
    return {**counts, "graphs": dict(graphs), "at_once_because": dict(reasons), "breaks": dict(breaks)}
