"""Kernels as objects: what libraries ask of a ``JITFunction``, an interpreted kernel answers as well.

Libraries look for the ``JITFunction`` under their decorators with ``isinstance``, read its parameters and its source
(FlagGems), and make new kernels of changed sources (triton_kernels).
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

_ASKED = frozenset(
    """__globals__ __qualname__ _fn_name cache_key constexprs debug def_file_col_number def_file_line_number
    do_not_specialize do_not_specialize_on_alignment file_name get_capture_scope hash is_gluon kernel launch_metadata
    module noinline params parse raw_src repr signature src starting_line_number used_global_vals version""".split()
)


def _compiled(kernel: Any) -> Any:
    """The ``JITFunction`` of the same Python function, made when something of it is first asked for."""
    if "_compiled" not in vars(kernel):
        kind = importlib.import_module("triton.runtime.jit").JITFunction
        known = inspect.signature(kind.__init__).parameters
        made = object.__new__(kind)  # a call of the class gives an interpreted one
        made.__init__(kernel.fn, **{k: v for k, v in kernel.kwargs.items() if k in known})
        vars(kernel)["_compiled"] = made
    return vars(kernel)["_compiled"]


def _from_source(kernel: Any, source: str) -> Any:
    """The rewritten function of a source that replaced the function's own, by whatever name it has there."""
    rewriter, compiled = kernel.rewriter, _compiled(kernel)
    rewriter.filename = kernel.fn.__code__.co_filename
    rewriter.def_file_lineno = getattr(compiled, "def_file_line_number", compiled.starting_line_number)
    tree = rewriter._transform_ast(source)
    tree.body[0].name = kernel.fn.__name__
    return rewriter._compile_and_exec(tree)


def _attributes(interpreter: ModuleType, patch: Patch) -> None:
    stock = interpreter.InterpretedFunction

    class InterpretedFunction(stock):  # type: ignore[misc,valid-type]
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            return importlib.import_module("triton.runtime.jit").JITFunction

        @property
        def __name__(self) -> str:
            return str(self.fn.__name__)

        @__name__.setter
        def __name__(self, name: str) -> None:
            self.fn.__name__ = name

        def __getattr__(self, name: str) -> Any:
            if name in _ASKED and "fn" in vars(self):
                try:
                    return getattr(_compiled(self), name)
                except ValueError:  # a function without a source
                    pass
            raise AttributeError(f"'InterpretedFunction' object has no attribute '{name}'")

        def _unsafe_update_src(self, new_src: str) -> None:
            _compiled(self)._unsafe_update_src(new_src)
            self._source = new_src
            self.rewritten_fn.pop(self.fn, None)

        def rewrite(self) -> Any:
            source = vars(self).get("_source")
            if source is None:
                return super().rewrite()
            if self.fn not in self.rewritten_fn:
                self.rewritten_fn[self.fn] = _from_source(self, source)
            return self.rewritten_fn[self.fn]

    InterpretedFunction.__module__, InterpretedFunction.__qualname__ = stock.__module__, stock.__qualname__
    patch.set(interpreter, "InterpretedFunction", InterpretedFunction)


def _made_directly(jit: ModuleType, patch: Patch) -> None:
    """A call of the class is what ``triton.jit`` does: the compiled kind would look for a GPU at its first launch."""
    stock, applies = jit.JITFunction, [True]
    parameters = inspect.signature(stock.__init__)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is not stock or not applies[0] or not jit.knobs.runtime.interpret:
            return object.__new__(cls)
        given = parameters.bind(None, *args, **kwargs)
        given.apply_defaults()
        _, function, *_ = given.args
        rest = {k: v for k, v in given.arguments.items() if k in list(parameters.parameters)[2:]}
        return importlib.import_module("triton.runtime.interpreter").InterpretedFunction(function, **rest)

    stock.__new__ = staticmethod(new)  # stays: a class that had one and lost it takes no arguments any more
    patch.undone(lambda: applies.__setitem__(0, False))


def _members(core: ModuleType, patch: Patch) -> None:
    """A library function that is a tensor's method too gets the tensor, though it is an object and not a function."""
    stock = core._tensor_member_fn

    def member(function: Any) -> Any:
        made = stock(function)
        if vars(core.tensor).get(function.__name__) is function:
            setattr(core.tensor, function.__name__, lambda *args, **kwargs: function(*args, **kwargs))
        return made

    patch.set(core, "_tensor_member_fn", member)


MENDS = (
    Mend(
        "kernel objects",
        "have the attributes of a JITFunction and are instances",
        "triton.runtime.interpreter",
        _attributes,
        since=(3, 6),
    ),
    Mend(
        "kernels of the class",
        "JITFunction(function) makes an interpreted kernel, as triton.jit does",
        "triton.runtime.jit",
        _made_directly,
        since=(3, 6),
    ),
    Mend("methods", "library functions as methods of tensors", "triton.language.core", _members),
)
