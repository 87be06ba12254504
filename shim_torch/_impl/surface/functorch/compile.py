"""``functorch.compile``: graphs of forward and backward for compilers of one's own; PyTorch's own compilers are not here."""

from __future__ import annotations

from typing import Any

from shim_torch._functorch import config
from shim_torch._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
    make_boxed_compiler,
    make_boxed_func,
)
from shim_torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "config",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
    "print_compile",
]


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


_NAMES = """debug_compile draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name get_graph_being_compiled
memory_efficient_fusion minifier nnc_jit pythonkey_decompose ts_compile""".split()
for _name in _NAMES:
    globals()[_name] = _unsupported(_name)
default_decompositions: set[Any] = set()
