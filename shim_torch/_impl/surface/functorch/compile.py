"""``functorch.compile``: ahead-of-time compilation. The compilers that do nothing are here; compiling is not supported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._functorch import config

__all__ = ["config", "make_boxed_compiler", "make_boxed_func", "nop", "print_compile"]


def make_boxed_func(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` as a function of one list of arguments."""

    def boxed(args: Any) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions take one list of arguments."""

    def boxed(fx_g: Any, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))

    return boxed


def nop(fx_g: Any, _: Any) -> Any:
    """The compiler that runs the graph as it is."""
    return fx_g


def print_compile(fx_g: Any, _: Any) -> Any:
    """The compiler that prints the graph's code and runs it as it is."""
    print(fx_g.code)
    return fx_g


def _unsupported(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"functorch.compile.{name} is not supported by shim-torch; trace with torch.fx.experimental.proxy_tensor.make_fx"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


_NAMES = """aot_function aot_module aot_module_simplified compiled_function compiled_module debug_compile default_partition
draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name get_graph_being_compiled memory_efficient_fusion
min_cut_rematerialization_partition minifier nnc_jit pythonkey_decompose ts_compile""".split()
for _name in _NAMES:
    globals()[_name] = _unsupported(_name)
default_decompositions: set[Any] = set()
