"""``torch._logging._internal``: which of PyTorch's loggers are on, by ``TORCH_LOGS`` or :func:`set_logs`.

``TORCH_LOGS="+autograd,dynamo"`` sets loggers by their short names or module names to INFO, with ``+`` to DEBUG and with ``-``
to ERROR. Of the kinds of messages that only a compiler writes, compiled functions write ``graph_breaks``, ``recompiles``, ``guards``,
``graph_code`` and ``output_code`` (_impl/compile/logs.py); the others can be switched on, and nothing writes them.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import re
from collections.abc import Callable, ItemsView, Iterable
from dataclasses import dataclass, field
from typing import Any

LOG_ENV_VAR, LOG_OUT_ENV_VAR = "TORCH_LOGS", "TORCH_LOGS_OUT"
DEFAULT_LOG_LEVEL = logging.WARNING
trace_log = logging.getLogger("torch.__trace")

_SYMBOLIC = [f"torch.fx.experimental.{n}" for n in ("symbolic_shapes", "sym_node", "recording")]
_ALIASES: dict[str, list[str]] = {
    "aot": ["torch._functorch.aot_autograd", "torch._functorch._aot_autograd"],
    "autograd": ["torch.autograd"],
    "c10d": ["torch.distributed.distributed_c10d", "torch.distributed.rendezvous"],
    "ddp": ["torch.nn.parallel.distributed", "torch._dynamo.backends.distributed"],
    "distributed": ["torch.distributed", "torch._dynamo.backends.distributed", "torch.nn.parallel.distributed"],
    "dtensor": ["torch.distributed._tensor", "torch.distributed.tensor"],
    "dynamic": _SYMBOLIC,
    "dynamo": ["torch._dynamo", *_SYMBOLIC],
    "export": ["torch._dynamo", "torch.export", "torch.export.dynamic_shapes", *_SYMBOLIC],
    "fake_tensor": ["torch._subclasses.fake_tensor"],
    "fsdp": ["torch.distributed.fsdp", "torch.distributed._composable.fsdp"],
    "inductor": ["torch._inductor", "torch._inductor.cudagraph_trees"],
    "onnx": ["torch.onnx"],
    "torch": ["torch"],
}
_ARTIFACTS = frozenset(
    """aot_graphs aot_joint_graph autotuning benchmarking bytecode cache caching compiled_autograd
    compiled_autograd_verbose compute_dependencies cudagraph_static_inputs cudagraphs ddp_graphs fusion graph
    graph_breaks graph_code graph_code_verbose graph_region_expansion graph_sizes guards hierarchical_compile
    incremental inductor_metrics ir_post_fusion ir_pre_fusion kernel_code loop_ordering loop_tiling
    node_runtime_estimation onnx_diagnostics output_code overlap perf_hints post_grad_graphs pre_grad_graphs
    recompiles recompiles_verbose schedule side_effects sym_node trace_bytecode trace_call trace_source
    verbose_guards""".split()
)


class LogRegistry:
    """The loggers that have short names, and the kinds of messages that can be switched on."""

    def __init__(self) -> None:
        self.log_alias_to_log_qnames = {alias: list(names) for alias, names in _ALIASES.items()}
        self.artifact_names = set(_ARTIFACTS)
        self.artifact_log_qnames: set[str] = set()

    def is_log(self, alias: str) -> bool:
        """Whether ``alias`` is a registered name of loggers."""
        return alias in self.log_alias_to_log_qnames

    def is_artifact(self, name: str) -> bool:
        """Whether ``name`` is a registered artifact."""
        return name in self.artifact_names

    def register_log(self, alias: str, log_qnames: str | Iterable[str]) -> None:
        """Registers a short name for one or several loggers."""
        self.log_alias_to_log_qnames[alias] = [log_qnames] if isinstance(log_qnames, str) else list(log_qnames)

    def get_log_qnames(self) -> set[str]:
        """The full names of all registered loggers."""
        return {name for names in self.log_alias_to_log_qnames.values() for name in names}

    def get_artifact_log_qnames(self) -> set[str]:
        """The full names of the artifacts' loggers."""
        return set(self.artifact_log_qnames)


@dataclass
class LogState:
    """The levels that were asked for, by logger, and the kinds of messages that are on."""

    log_qname_to_level: dict[str, int] = field(default_factory=dict)
    artifact_names: set[str] = field(default_factory=set)

    def enable_log(self, log_qnames: str | Iterable[str], log_level: int) -> None:
        """Sets the level of one or several loggers."""
        for name in [log_qnames] if isinstance(log_qnames, str) else log_qnames:
            self.log_qname_to_level[name] = log_level

    def enable_artifact(self, artifact_name: str) -> None:
        """Switches an artifact on."""
        self.artifact_names.add(artifact_name)

    def is_artifact_enabled(self, name: str) -> bool:
        """Whether an artifact is on."""
        return name in self.artifact_names

    def get_log_level_pairs(self) -> ItemsView[str, int]:
        """(logger's name, level) of all that were enabled."""
        return self.log_qname_to_level.items()

    def clear(self) -> None:
        """Switches everything off."""
        self.log_qname_to_level.clear()
        self.artifact_names.clear()


log_registry, log_state = LogRegistry(), LogState()
_ours: set[logging.Handler] = set()


def _get_log_state() -> LogState:
    return log_state


def _set_log_state(state: LogState) -> None:
    global log_state
    log_state = state


_SETTING = re.compile(r"(?P<sign>[+-]?)(?P<name>\w[\w.]*)")
_LEVEL_OF_SIGN = {"+": logging.DEBUG, "": logging.INFO, "-": logging.ERROR}
_EVERYTHING = "all"  # the name of the logger "torch" in settings


def _parse_log_settings(settings: str) -> LogState:
    """The state that ``TORCH_LOGS`` describes. Errors: ValueError for what is no logger and no kind of message."""
    state = LogState()
    for item in re.split(r",\s*", settings) if settings else ():
        found = _SETTING.fullmatch(item)
        if found is None or not _switch_on(state, _full_name(found["name"]), _LEVEL_OF_SIGN[found["sign"]]):
            valid = {_EVERYTHING, *log_registry.log_alias_to_log_qnames, *log_registry.artifact_names}
            raise ValueError(
                f"\nInvalid log settings: {settings}, must be a comma separated list of fully\n"
                "qualified module names, registered log names or registered artifact names.\n"
                f"Valid settings:\n{', '.join(sorted(valid))}\n"
            )
    return state


def _full_name(name: str) -> str:
    return "torch" if name == _EVERYTHING else name


def _switch_on(state: LogState, name: str, level: int) -> bool:
    """Sets the loggers of a short name or of a module to a level, or a kind of message on; False for other names."""
    if log_registry.is_artifact(name):
        state.enable_artifact(name)
        return True
    if not log_registry.is_log(name):
        if not _is_module(name):
            return False
        log_registry.register_log(name, name)
    state.enable_log(log_registry.log_alias_to_log_qnames[name], level)
    return True


def _is_module(name: str) -> bool:
    try:
        return bool(name) and importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class TorchLogsFormatter(logging.Formatter):
    """``W1121 20:15:00.123456 42 file.py:7] message``, every line with its head."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in PyTorch's form: level, date, process, place, message."""
        head = (
            f"{'V' if record.levelno == logging.DEBUG else record.levelname[:1]}{self.formatTime(record, '%m%d %H:%M:%S')}"
            f".{int(record.msecs * 1000):06d} {record.process} {record.pathname}:{record.lineno}] "
        )
        _, found, kind = record.name.rpartition(".__")
        head += f"[__{kind}] " if found else ""
        lines = record.getMessage().split("\n")
        if record.exc_info:
            lines += self.formatException(record.exc_info).split("\n")
        return "\n".join(head + line for line in lines)


def _add_handler(logger: logging.Logger, handler: logging.Handler) -> None:
    handler.setFormatter(TorchLogsFormatter())
    handler.setLevel(logging.DEBUG)
    _ours.add(handler)
    logger.addHandler(handler)


def _reset_logs() -> None:
    for name in log_registry.get_log_qnames() | log_registry.get_artifact_log_qnames():
        logger = logging.getLogger(name)
        for handler in [h for h in logger.handlers if h in _ours]:
            logger.removeHandler(handler)
            _ours.discard(handler)
        logger.setLevel(DEFAULT_LOG_LEVEL if name == "torch" else logging.NOTSET)
        logger.propagate = True


def _init_logs(log_file_name: str | None = None) -> None:
    """Sets levels and handlers anew: those asked for, then what ``TORCH_LOGS`` says."""
    _reset_logs()
    if LOG_ENV_VAR in os.environ:
        _set_log_state(_parse_log_settings(os.environ[LOG_ENV_VAR]))
    artifacts = log_registry.get_artifact_log_qnames()
    on = {name for name in artifacts if log_state.is_artifact_enabled(name.rpartition(".__")[2])}
    levels = dict.fromkeys(artifacts, logging.NOTSET) | log_state.log_qname_to_level | dict.fromkeys(on, logging.DEBUG)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    path = os.environ.get(LOG_OUT_ENV_VAR) or log_file_name
    for logger in map(logging.getLogger, log_registry.get_log_qnames()):
        _add_handler(logger, logging.StreamHandler())
        if path is not None:
            _add_handler(logger, logging.FileHandler(path))
        logger.propagate = False  # each has a handler of its own: a message is printed once


def set_logs(*, modules: dict[str, int] | None = None, **levels: Any) -> None:
    """Levels of loggers by their short names (``autograd=logging.DEBUG``) or, in ``modules``, by module names; True
    switches a kind of message on; None says nothing. ``TORCH_LOGS`` wins: with it set, nothing is changed.

    Errors: TypeError for an unknown short name; ValueError for a module that is not there or what is no level.
    """
    for name in levels:
        if not (name == _EVERYTHING or log_registry.is_log(name) or log_registry.is_artifact(name)):
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
    if LOG_ENV_VAR in os.environ:
        logging.getLogger(__name__).warning(
            "Using TORCH_LOGS environment variable for log settings, ignoring call to set_logs"
        )
        return
    log_state.clear()
    wanted = {_full_name(name): value for name, value in levels.items()} | (modules or {})
    for name, value in wanted.items():
        _need_setting(name, value)
        off = value is None or value is False
        if not off and not _switch_on(log_state, name, value):
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
    _init_logs()


def _need_setting(name: str, value: Any) -> None:
    """Errors: ValueError for a kind of message that is not switched on or off, or a short name's level that logging lacks."""
    if value is None:
        return
    if log_registry.is_artifact(name) and not isinstance(value, bool):
        raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
    levels = logging._levelToName
    if log_registry.is_log(name) and (isinstance(value, bool) or value not in levels):
        valid = ",".join(map(str, levels))
        raise ValueError(f"Unrecognized log level for log {name}: {value}, valid level values are: {valid}")


@functools.lru_cache(None)
def warning_once(logger: Any, *args: Any, **kwargs: Any) -> None:
    """``logger.warning``, once for each text."""
    logger.warning(*args, **kwargs)


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """A logger of its own for one kind of message."""
    name = f"{module_qname}.__{artifact_name}"
    if name not in log_registry.artifact_log_qnames:
        log_registry.artifact_log_qnames.add(name)
        if log_state.is_artifact_enabled(artifact_name):
            logging.getLogger(name).setLevel(logging.DEBUG)
    return logging.getLogger(name)


def trace_structured(name: str, metadata_fn: Callable[[], Any] = dict, **_: Any) -> None:
    """Notes for PyTorch's compile traces: there are none."""


class LazyString:
    """A text that is made when it is printed."""

    def __init__(self, func: Callable[..., str], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return self.func(*self.args, **self.kwargs)


_init_logs()
