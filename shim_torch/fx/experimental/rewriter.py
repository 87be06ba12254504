"""``torch.fx.experimental.rewriter``: tracing of functions whose source is rewritten first, so that asserts stay."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx._symbolic_trace import Tracer
from shim_torch.fx.graph import Graph
from shim_torch.nn.modules.module import Module

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Writes ``assert`` as calls of ``torch._assert``, and annotated assignments as calls of ``annotate``."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function of the rewritten source, with the globals and the closure of ``fn``."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        head = tree.body[0]
        if isinstance(head, (ast.FunctionDef, ast.AsyncFunctionDef)):
            head.decorator_list = []
        code = compile(ast.fix_missing_locations(self.visit(tree)), "", "exec")
        space: dict[str, Any] = copy.copy(fn.__globals__)
        before = set(space)
        exec(code, space)
        made = [v for k, v in space.items() if k not in before and isinstance(v, FunctionType)]
        found = made[0] if made else space[fn.__name__]
        if not fn.__closure__ and found.__globals__ is space:
            found = FunctionType(found.__code__, fn.__globals__, found.__name__, found.__defaults__)
            found.__kwdefaults__ = fn.__kwdefaults__
        functools.update_wrapper(found, fn, updated=())
        del vars(found)["__wrapped__"]  # what is traced is the rewritten one
        return found

    def visit_Assert(self, node: ast.Assert) -> Any:
        """``assert test, text`` -> ``torch._assert(test, text)``."""
        call = cast(ast.Expr, ast.parse("torch._assert()", mode="exec").body[0])
        cast(ast.Call, call.value).args = [node.test, node.msg or ast.Constant("")]
        return ast.copy_location(call, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``x: T = value`` -> ``x = annotate(value, T)``."""
        call = ast.Call(ast.Name("annotate", ast.Load()), [cast(ast.expr, node.value), node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _rewrite(fn: Module | Callable[..., Any]) -> Module | Callable[..., Any]:
    return _rewritten(fn) if isinstance(fn, Module) else AST_Rewriter().rewrite(cast(FunctionType, fn))


def _rewritten(m: Module) -> Module:
    """The same module, with the same state, of a class whose forward is rewritten; its parts likewise."""

    class RewrittenModule(Module):
        def __init__(self, orig: Module) -> None:
            super().__init__()
            for name, value in vars(orig).items():
                vars(self)[name] = copy.copy(_rewritten(value) if isinstance(value, Module) else value)

    RewrittenModule.forward = AST_Rewriter().rewrite(cast(FunctionType, type(m).forward))  # type: ignore[method-assign]
    return RewrittenModule(m)


class RewritingTracer(Tracer):
    """Traces what the rewritten source does."""

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        return super().trace(_rewrite(root), concrete_args)


__getattr__ = _asked_of(__name__)
