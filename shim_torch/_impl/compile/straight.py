"""Functions whose results depend on nothing but their arguments, and on what stands under the names that they read.

Calls of such a function need not run its Python again (native/src/trace/whole.h). Its instructions are looked at one by one,
whatever their order: each must be one that stores nothing but locals, and what it may call must be an operator, a
function like this one, or one of a few built-in ones. What stands under the names that it reads must stand there at later calls.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn import calls as _calls

_PLAIN = set(
    "RESUME NOP PUSH_NULL POP_TOP COPY SWAP DUP_TOP DUP_TOP_TWO ROT_TWO ROT_THREE ROT_FOUR ROT_N LOAD_CONST LOAD_GLOBAL "
    "LOAD_ATTR LOAD_METHOD LOAD_FAST STORE_FAST LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST "
    "STORE_FAST_STORE_FAST PRECALL CALL KW_NAMES CALL_KW CALL_FUNCTION CALL_FUNCTION_KW CALL_METHOD RETURN_VALUE "
    "RETURN_CONST BUILD_TUPLE BUILD_LIST BUILD_SLICE LIST_APPEND LIST_EXTEND LIST_TO_TUPLE UNPACK_SEQUENCE GET_ITER FOR_ITER "
    "COPY_FREE_VARS LOAD_DEREF LOAD_ASSERTION_ERROR RAISE_VARARGS END_FOR POP_ITER TO_BOOL COMPARE_OP IS_OP CONTAINS_OP JUMP_FORWARD JUMP_BACKWARD JUMP_ABSOLUTE JUMP_IF_FALSE_OR_POP "
    "JUMP_IF_TRUE_OR_POP".split()
)
_FAMILIES = ("BINARY_", "UNARY_", "INPLACE_", "POP_JUMP_")
_UNSEEN = ("EXTENDED_ARG", "CACHE")
_GEOMETRY = {"shape", "dtype", "device", "ndim", "T", "mT", "H", "mH", "size", "dim", "numel", "is_cuda", "layout"}
_BUILT_IN = (len, range, int, float, bool, min, max, abs, tuple, list, enumerate, zip, isinstance)
_INTERNAL = (
    _calls._overridden,
    _calls._overridden_one,
    _calls._override,
)  # where no mode is on, exact tensors override nothing
_OPERATORS = (type(_core.function("aten::relu", "torch")), type(vars(_core.Tensor)["relu"]), _core.OperatorCall)
_VALUES = (int, float, bool, str, type(None), _core.dtype, _core.device)
_OF_PLAIN = ("OPTIMIZED", "NEWLOCALS", "NESTED", "NOFREE")
_FLAGS = sum(flag for flag, name in dis.COMPILER_FLAG_NAMES.items() if name in _OF_PLAIN)
_FLAGS |= 0xFF << 17 | 0x4000000  # of future imports, and for a docstring
_MOST_READS = 64
_MISSING = object()


def _may_read_of_tensors(name: str) -> bool:
    if name in _GEOMETRY:
        return True
    found = next((vars(t)[name] for t in _core.Tensor.__mro__ if name in vars(t)), None)
    return type(found) in _OPERATORS


def _may_read_of_values(name: str) -> bool:
    """Of an argument, or of what a call gave: a tensor, a number or a size, or the object that has all operators."""
    of_tensors = any(name in vars(t) for t in _core.Tensor.__mro__)
    return _may_read_of_tensors(name) if of_tensors else type(getattr(_calls.operators, name, None)) in _OPERATORS


class _Looking:
    def __init__(self, function: FunctionType) -> None:
        self.reads: list[tuple[Any, ...]] = []
        self.functions = [function]

    def may_use(self, value: Any) -> bool:
        if any(value is known for known in (*_INTERNAL, *_BUILT_IN, _calls.operators)):
            return True
        if type(value) is FunctionType and not vars(value):
            if value not in self.functions:
                self.functions.append(value)
            return True
        return type(value) in _OPERATORS or type(value) in _VALUES or type(value) is _core.Tensor

    def global_read(self, function: FunctionType, name: str) -> Any:
        """What stands under the name; later calls must find it there."""
        of, outer = function.__globals__, function.__builtins__  # type: ignore[attr-defined]
        if name not in of:
            self.reads.append((of, name))
            of = outer
        value = of.get(name, _MISSING)
        self.reads.append((of, name, value))
        return value

    def outer_read(self, function: FunctionType, name: str) -> Any:
        """The same of a variable of the function around it."""
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            value = cell.cell_contents
        except ValueError:  # nothing yet
            value = _MISSING
        self.reads.append((cell, value))
        return value

    def may_read(self, value: Any, rest: Iterator[Any]) -> bool:
        """What a name stands for, and as long as that is a module what is read of it."""
        while type(value) is ModuleType:
            attribute = next(rest)
            if attribute.opname not in ("LOAD_ATTR", "LOAD_METHOD") or attribute.argval not in vars(value):
                return False
            self.reads.append((vars(value), attribute.argval, vars(value)[attribute.argval]))
            value = vars(value)[attribute.argval]
        return self.may_use(value)

    def may_run(self, function: FunctionType) -> bool:
        code: CodeType = function.__code__
        by_name = function.__kwdefaults__ or {}
        defaults = (*(function.__defaults__ or ()), *by_name.values())
        if (
            code.co_cellvars
            or code.co_flags & ~_FLAGS
            or getattr(code, "co_exceptiontable", None)
            or not all(type(d) in _VALUES for d in defaults)
        ):
            return False
        self.reads.append((function, code, function.__defaults__, function.__kwdefaults__))
        self.reads.extend((by_name, name, value) for name, value in by_name.items())  # which may be written to
        instructions = (i for i in dis.get_instructions(code) if i.opname not in _UNSEEN)
        for i in instructions:
            if i.opname not in _PLAIN and not i.opname.startswith(_FAMILIES):
                return False
            read = {"LOAD_GLOBAL": self.global_read, "LOAD_DEREF": self.outer_read}.get(i.opname)
            if read and not self.may_read(read(function, i.argval), instructions):
                return False
            if i.opname in ("LOAD_ATTR", "LOAD_METHOD") and not _may_read_of_values(i.argval):
                return False
            if i.opname == "LOAD_CONST" and isinstance(i.argval, CodeType):
                return False
        return True


def reads(function: Any) -> tuple[tuple[Any, ...], ...] | None:
    """What the function reads beside its arguments, as the core compares it; None: it may read or write more. Tensors among
    it are the same objects, whose values are read at each call.

    (dict, name, value): that stands there; (dict, name): nothing does; (cell, value): it holds that; (function, code,
    defaults, defaults by name).
    """
    if type(function) is not FunctionType:
        return None
    looking = _Looking(function)
    for each in looking.functions:  # which become more
        if not looking.may_run(each) or len(looking.reads) > _MOST_READS:
            return None
    return tuple(looking.reads)
