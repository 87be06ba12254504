"""``torch._inductor``: PyTorch's code generator, which is not here; its settings and small tools that libraries use."""

from __future__ import annotations

from typing import Any

__all__ = ["compile", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]


def compile(gm: Any, example_inputs: Any, options: Any = None) -> Any:
    """Compiling a graph: NotImplementedError."""
    raise NotImplementedError("torch._inductor.compile is not supported by shim-torch: there is no code generator")


def cudagraph_mark_step_begin() -> None:
    """A new step begins; nothing is captured automatically."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The options of each mode of torch.compile: none has an effect."""
    return (
        {}
        if mode is not None
        else {"default": {}, "reduce-overhead": {}, "max-autotune-no-cudagraphs": {}, "max-autotune": {}}
    )


def list_options() -> list[str]:
    """The settings of ``torch._inductor.config``."""
    from shim_torch._inductor import config

    return sorted(n for n in vars(config) if not n.startswith("_"))


def __getattr__(name: str) -> Any:
    if name in ("config", "utils", "lowering", "pattern_matcher", "custom_graph_pass", "exc", "runtime"):
        from importlib import import_module

        return import_module(f"shim_torch._inductor.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch._inductor", name)
