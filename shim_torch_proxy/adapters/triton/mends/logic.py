"""Python's own operators in a kernel: ``and``, ``or`` and ``not`` of blocks, and ``.value`` of constants."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _logic(interpreter: ModuleType, patch: Patch) -> None:
    """Each element is decided, as the compiler does (stock: a block counts as true, so ``a and b`` is ``b``)."""
    tl, transformer = interpreter.tl, interpreter.ASTTransformer
    semantic = interpreter.interpreter_semantic

    def block(value: Any) -> bool:  # a combined function's operands are scalars by type, blocks by what they hold
        return value.type.is_block() or value.handle.data.size > 1

    def truth(value: Any) -> Any:
        return value if value.dtype == tl.int1 else semantic.not_equal(value, semantic.to_tensor(0))

    def shim_logical(both: bool, *parts: Callable[[], Any]) -> Any:
        found, value = None, both
        for part in parts:
            value = part()
            if not isinstance(value, tl.tensor):
                if bool(value) is not both:
                    return value
            elif found is not None and (block(value) or block(found)):
                found = (semantic.and_ if both else semantic.or_)(truth(found), truth(value))
            else:
                found = value
                if not block(value) and bool(value) is not both:
                    break
        return value if found is None else found

    def shim_not(value: Any) -> Any:
        if isinstance(value, tl.tensor) and block(value):
            return semantic.equal(value, semantic.to_tensor(0))
        return not value

    def visit_BoolOp(self: Any, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        if any(
            isinstance(n, ast.NamedExpr) for n in ast.walk(node)
        ):  # it names something for the kernel, not for a part
            return node
        both = ast.Constant(isinstance(node.op, ast.And))
        return ast.copy_location(_call("shim_logical", both, *map(_later, node.values)), node)

    def visit_UnaryOp(self: Any, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_call("shim_not", node.operand), node) if isinstance(node.op, ast.Not) else node

    patch.set(
        interpreter, "shim_logical", shim_logical
    )  # Triton copies its interpreter's names into the kernel's globals
    patch.set(interpreter, "shim_not", shim_not)
    patch.set(transformer, "visit_BoolOp", visit_BoolOp)
    patch.set(transformer, "visit_UnaryOp", visit_UnaryOp)


def _constants(interpreter: ModuleType, patch: Patch) -> None:
    """``DTYPE.value`` of a constexpr argument, ``x.to(…)`` of a number: plain values in the interpreter."""
    plain, tl = (int, float, str, tuple, type(None)), interpreter.tl

    def shim_value(owner: Any) -> Any:
        return owner if isinstance(owner, (*plain, tl.dtype)) and not hasattr(owner, "value") else owner.value

    def shim_scalar(owner: Any) -> Any:
        return interpreter.interpreter_semantic.to_tensor(owner) if type(owner) in (bool, int, float) else owner

    def visit_Attribute(self: Any, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "to":
            node.value = _call("shim_scalar", node.value)
        if node.attr != "value" or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call("shim_value", node.value), node)

    patch.set(interpreter, "shim_scalar", shim_scalar)

    patch.set(interpreter, "shim_value", shim_value)
    patch.set(interpreter.ASTTransformer, "visit_Attribute", visit_Attribute)


def _nothing(interpreter: ModuleType, patch: Patch) -> None:
    """``x is None`` of a constant None, as an element of a tuple is, looks at what the constant holds."""
    transformer, tl = interpreter.ASTTransformer, interpreter.tl
    stock = getattr(transformer, "visit_Compare", transformer.generic_visit)

    def shim_held(value: Any) -> Any:
        return value.value if isinstance(value, tl.constexpr) else value

    def visit_Compare(self: Any, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            node.left = _call("shim_held", node.left)
        return stock(self, node)

    patch.set(interpreter, "shim_held", shim_held)
    patch.set(transformer, "visit_Compare", visit_Compare)


def _assigned(interpreter: ModuleType, patch: Patch) -> None:
    """What is assigned is rewritten too."""
    stock = interpreter.ASTTransformer.visit_Assign

    def visit_Assign(self: Any, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        return stock(self, node)

    patch.set(interpreter.ASTTransformer, "visit_Assign", visit_Assign)


_MODULE = "triton.runtime.interpreter"
MENDS = (
    Mend("logical operators", "and, or and not of blocks are decided for each element", _MODULE, _logic),
    Mend("assignments", "their values are rewritten as other expressions are", _MODULE, _assigned, until=(3, 9)),
    Mend("constants", "a constexpr argument has .value, a number .to", _MODULE, _constants),
    Mend("is None", "of a constant that holds None", _MODULE, _nothing),
)
