"""What ``torch.compile`` is told: backend, mode and options, looked at as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.compile.errors import BackendCompilerFailed, InvalidBackend

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
FILTER = "guard_filter_fn"  # the one option that is none of Inductor's: which guards it keeps. We have none of Python's to leave out
GRAPHS = ("triton.cudagraphs",)  # the options that turn on CUDA graphs
BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor")  # by name; any callable is one too
registered: dict[str, Callable[..., Any]] = {}  # by torch._dynamo.register_backend


@dataclass(frozen=True)
class Settings:
    """Of one call of ``torch.compile``."""

    backend: str | Callable[..., Any]
    mode: str | None
    options: tuple[tuple[str, Any], ...]
    fullgraph: bool
    dynamic: bool | None
    recompile_limit: int | None

    @property
    def resizes(self) -> bool:
        """Whether other sizes are no way of their own."""
        return self.dynamic is not False

    @property
    def graphs(self) -> bool:
        """Whether programs on CUDA run as graphs."""
        options = {name.replace("-", "_"): value for name, value in self.options}
        by_mode = self.mode in ("reduce-overhead", "max-autotune")
        return self.backend == "cudagraphs" or bool(options.get(GRAPHS[0], by_mode))


default_backend: Any = "inductor"  # what torch.compiler.set_default_backend() was given


def given(
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Settings:
    """The settings that the arguments of ``torch.compile`` are. Errors: see ``checked``; NotImplementedError for the last two."""
    if isolate_recompiles or shapes_spec is not None:
        what = "isolate_recompiles" if isolate_recompiles else "shapes_spec"
        raise NotImplementedError(f"torch.compile({what}=) is not supported by shim-torch: leave it out")
    return checked(backend, mode, options, fullgraph, dynamic, recompile_limit)


def checked(
    backend: Any, mode: Any, options: Any, fullgraph: Any, dynamic: Any, recompile_limit: Any = None
) -> Settings:
    """The settings. Errors: PyTorch's, of a backend, mode or option that there is not, and of values of another type."""
    if backend is None:
        backend = default_backend
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not isinstance(fullgraph, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(fullgraph)}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"torch.compile(): dynamic must be a bool or None, not {type(dynamic).__name__}")
    if recompile_limit is not None and (not isinstance(recompile_limit, int) or recompile_limit < 1):
        raise ValueError(f"torch.compile(): recompile_limit must be a positive int, not {recompile_limit!r}")
    if isinstance(backend, str):
        backend = registered.get(backend, backend)
    if isinstance(backend, str):
        if backend not in BACKENDS:
            raise InvalidBackend(backend)
    elif not callable(backend):
        raise BackendCompilerFailed(backend, TypeError(f"'{type(backend).__name__}' object is not callable"))
    if backend == "inductor":
        if mode is not None and mode not in MODES:
            raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
        _check_options(options or {})
    return Settings(backend, mode, tuple((options or {}).items()), fullgraph, dynamic, recompile_limit)


def _check_options(options: dict[str, Any]) -> None:
    from shim_torch._inductor import config

    known: dict[str, Any] = config.get_config_copy()  # type: ignore[attr-defined]
    for name, value in options.items():
        key = name.replace("-", "_")
        if name == FILTER:
            continue
        if key not in known:
            raise RuntimeError(f"Unexpected optimization option {name}, known options are {list(known)}")
        has = known[key]
        if has is not None and type(value) is not type(has) and not callable(value):
            raise RuntimeError(
                f"Unexpected type of attr {name}, got {type(value).__name__} should be {type(has).__name__}"
            )
